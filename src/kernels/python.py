# python.py - the Python kernel: Python's side of the protocol in sandbox/interpreter/kernel_wire.h.
#
# The loader (python_loader.py) runs this text in its own namespace and then executes
#
#     try: exec(*start_kernel())
#     except: on_error(); raise
#     finally: on_exit()
#
# start_kernel() returns only in a process that is to run the user's code, with the code and its
# namespace. A process serves either fresh runs (FRESH is python_fresh.py) or, with "session = True"
# in front of this text, the cells of one session (SESSION is python_session.py). This file has what
# both need; RICH is python_rich.py, for pictures and tables. Each part is compiled only where it is
# used, because compiling takes longer than a short run. Python 3.7 and later.
import io
import os
import sys
import _signal

home = os.getcwd()
first_main = sys.modules['__main__']
first_sigint = _signal.getsignal(_signal.SIGINT)
pictures = None  # the PyplotWatch of a process that runs code

# --- frames ---


def receive_bytes(count):
    """Reads exactly `count` bytes. The bytes behind them may be for another process, which reads
    the same socket next."""
    parts = []
    while count:
        part = os.read(3, min(count, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        count -= len(part)
    return b''.join(parts)


def receive_frame():
    header = receive_bytes(5)
    return header[:1], receive_bytes(int.from_bytes(header[1:], 'little'))


def write_all(fd, data):
    data = memoryview(data)
    while data:
        data = data[os.write(fd, data):]


def encode_frame(kind, *values):
    """A frame with one field for each value: bytes, text or a number."""
    body = b''
    for value in values:
        if not isinstance(value, bytes):
            value = str(value).encode('utf-8', 'backslashreplace')
        body += len(value).to_bytes(4, 'little') + value
    return kind + len(body).to_bytes(4, 'little') + body


def decode_fields(body):
    at = 0
    while at < len(body):
        size = int.from_bytes(body[at:at + 4], 'little')
        at += 4 + size
        if at > len(body):
            raise ValueError('a field is cut off')
        yield body[at - size:at]


class Run:
    """The decoded body of a RUN frame."""

    def __init__(self, body):
        take = decode_fields(body).__next__
        text = lambda: os.fsdecode(take())
        self.is_cell = take() == b'cell'
        self.name, self.cwd, self.code = text(), text(), take()
        self.has_stdin, self.stdin = take() != b'0', take()
        self.pixels, self.bytes = int(take()), int(take())
        self.args = [text() for _ in range(int(take()))]
        self.env = [text() for _ in range(int(take()))]


def send_ready():
    write_all(3, encode_frame(b'r', '%d.%d.%d' % sys.version_info[:3]))


def write_mark(nonce, out=1, err=2):
    """Writes the server's mark behind all output. The code may have made the descriptors
    non-blocking, and then a write could be cut short."""
    for fd in 0, out, err:
        try:
            os.set_blocking(fd, True)
        except OSError:
            pass
    write_all(out, nonce)
    write_all(err, nonce)


def import_hidden(name):
    """Imports a module of the standard library without leaving it in sys.modules, and never a
    file of the same name in the user's directory."""
    if name in sys.modules:
        return sys.modules[name]
    path, cached = sys.path[:], set(sys.path_importer_cache)
    sys.path[:] = filter(None, path)
    try:
        return __import__(name)
    except ImportError:
        return None
    finally:
        sys.path[:] = path
        sys.modules.pop(name, None)
        for key in set(sys.path_importer_cache) - cached:
            del sys.path_importer_cache[key]


# --- environment and standard input of a run ---


def apply_env(env):
    for entry in env:
        name, _, value = entry.partition('=')
        os.environ[name] = value
        if name == 'TZ':
            import_hidden('time').tzset()


def replace_stdin(data):
    """Replaces descriptor 0, and sys.stdin over it as a new interpreter makes it."""
    if data is None:
        fd = os.open('/dev/null', os.O_RDONLY | os.O_CLOEXEC)
    else:
        fd = make_unnamed_file()
        write_all(fd, data)
        os.lseek(fd, 0, os.SEEK_SET)
    os.dup2(fd, 0)
    os.close(fd)
    old = sys.__stdin__
    raw = open(0, 'rb', closefd=False)
    raw.raw.name = '<stdin>'
    new = io.TextIOWrapper(raw, old.encoding if old else 'utf-8', old.errors if old else 'strict',
                           '\n')
    new.mode = 'r'
    sys.stdin = sys.__stdin__ = new


def make_unnamed_file():
    if hasattr(os, 'memfd_create'):
        return os.memfd_create('stdin')
    return os.open(home, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o600)


def new_main(path):
    """A module __main__ as it is before the first line of a file; path None: of a session."""
    main = type(sys)('__main__')
    for name in '__loader__', '__annotations__', '__builtins__':
        if name in first_main.__dict__:
            setattr(main, name, getattr(first_main, name))
    if path is not None:
        external = sys.modules['_frozen_importlib_external']
        main.__loader__ = external.SourceFileLoader('__main__', path)
        main.__file__ = path
        main.__cached__ = None
    sys.modules['__main__'] = main
    return main


# --- pictures ---


class PyplotWatch:
    """An import hook that waits for matplotlib.pyplot, replaces its show(), and removes itself."""

    def __init__(self, out):
        self.out = out
        self.pid = os.getpid()
        self.pyplot = None

    def find_spec(self, name, path=None, target=None):
        if name != 'matplotlib.pyplot' or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            find = getattr(finder, 'find_spec', None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                self.wrap_loader(spec.loader)
                return spec
        return None

    def wrap_loader(self, loader):
        def exec_module(module):
            del loader.exec_module
            loader.exec_module(module)
            self.pyplot = module
            module.show = lambda *args, **options: self.show_open()

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass  # a loader whose attributes cannot be set: figures of this process are not shown

    def show_open(self):
        if self.pyplot is not None:
            rich_function('show_open_figures')(self.pyplot, self.out)


def watch_pyplot(out):
    global pictures
    pictures = PyplotWatch(out)
    sys.meta_path.insert(0, pictures)


def rich_function(name, namespace={}):
    """A function of python_rich.py, which is compiled on the first call."""
    if not namespace:
        exec(compile(RICH, '<belljar>', 'exec'), namespace)
    return namespace[name]


# --- called by the loader ---


def start_kernel():
    if 'session' not in globals():
        exec(compile(FRESH, '<belljar>', 'exec'), globals())
        return serve_runs()
    sys.path[:] = filter(None, sys.path)  # SESSION must not import the user's traceback.py
    exec(compile(SESSION, '<belljar>', 'exec'), globals())
    sys.path.insert(0, '')
    return serve_cells()


def on_error():
    """Removes the kernel's frames from the traceback that is printed next, by sys.excepthook as
    usual."""
    theirs = getattr(sys, 'excepthook', None) or sys.__excepthook__

    def hook(kind, value, traceback):
        sys.excepthook = theirs
        while traceback is not None and traceback.tb_frame.f_globals is globals():
            traceback = traceback.tb_next
        value.__traceback__ = sys.last_traceback = traceback
        theirs(kind, value, traceback)

    sys.excepthook = hook


def on_exit():
    """Shows the figures that the code left open, however it ended. A forked child shows none: they
    are its parent's."""
    if pictures is not None and pictures.pid == os.getpid():
        try:
            pictures.show_open()
        except Exception:
            pass
