# python.py - Python's side of the conversation in sandbox/interpreter/kernel_wire.h, for 3.7 and later.
#
# The loader (python_loader.py) runs this text in its own namespace and then says
#
#     try: exec(*start())      start() returns where code is to be run, and only there
#     except: failed(); raise
#     finally: over()
#
# A process serves either fresh runs (FRESH is python_fresh.py) or, with "session = True" in front
# of this text, the cells of one session (SESSION is python_session.py). Here is what both need.
# RICH is python_rich.py, for pictures. Each is compiled only where it is used.
import io
import os
import sys
import _signal

home = os.getcwd()
first_main = sys.modules['__main__']
first_sigint = _signal.getsignal(_signal.SIGINT)
pictures = None  # what watches for matplotlib.pyplot, in a process that runs code

# --- the wire ---


def receive_bytes(count):
    """So many, and not one more: another process may be about to read what follows."""
    parts = []
    while count:
        part = os.read(3, min(count, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        count -= len(part)
    return b''.join(parts)


def receive():
    header = receive_bytes(5)
    return header[:1], receive_bytes(int.from_bytes(header[1:], 'little'))


def write_all(fd, data):
    data = memoryview(data)
    while data:
        data = data[os.write(fd, data):]


def frame(kind, *values):
    """Values are bytes, text or numbers."""
    body = b''
    for value in values:
        if not isinstance(value, bytes):
            value = str(value).encode('utf-8', 'backslashreplace')
        body += len(value).to_bytes(4, 'little') + value
    return kind + len(body).to_bytes(4, 'little') + body


def fields(body):
    at = 0
    while at < len(body):
        size = int.from_bytes(body[at:at + 4], 'little')
        at += 4 + size
        if at > len(body):
            raise ValueError('a field is cut off')
        yield body[at - size:at]


class Run:
    """RUN, decoded."""

    def __init__(self, body):
        take = fields(body).__next__
        text = lambda: os.fsdecode(take())
        self.is_cell = take() == b'cell'
        self.name, self.cwd, self.code = text(), text(), take()
        self.has_stdin, self.stdin = take() != b'0', take()
        self.pixels, self.bytes = int(take()), int(take())
        self.args = [text() for _ in range(int(take()))]
        self.env = [text() for _ in range(int(take()))]


def ready():
    write_all(3, frame(b'r', '%d.%d.%d' % sys.version_info[:3]))


def answer_mark(nonce, out=1, err=2):
    """Behind all output. The code may have set how the descriptors behave."""
    for fd in 0, out, err:
        try:
            os.set_blocking(fd, True)
        except OSError:
            pass
    write_all(out, nonce)
    write_all(err, nonce)


def borrow(name):
    """A module, without a trace of its import, and not one of the user's."""
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


# --- what a run brings along ---


def apply_env(env):
    for entry in env:
        name, _, value = entry.partition('=')
        os.environ[name] = value
        if name == 'TZ':
            borrow('time').tzset()


def replace_stdin(data):
    """Descriptor 0 and the object over it, as a new interpreter makes it."""
    if data is None:
        fd = os.open('/dev/null', os.O_RDONLY | os.O_CLOEXEC)
    else:
        fd = nameless_file()
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


def nameless_file():
    if hasattr(os, 'memfd_create'):
        return os.memfd_create('stdin')
    return os.open(home, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o600)


def new_main(path):
    """__main__ as it is before the first line of a file, or of a dialogue if path is None."""
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


class Watch:
    """Waits on sys.meta_path for matplotlib.pyplot, leaves, and gives it another show()."""

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
                self.follow(spec.loader)
                return spec
        return None

    def follow(self, loader):
        def exec_module(module):
            del loader.exec_module
            loader.exec_module(module)
            self.pyplot = module
            module.show = lambda *args, **options: self.show_open()

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass  # not every loader can be changed: then figures are not seen

    def show_open(self):
        if self.pyplot is not None:
            rich('show_open_figures')(self.pyplot, self.out)


def watch_pictures(out):
    global pictures
    pictures = Watch(out)
    sys.meta_path.insert(0, pictures)


def rich(name, namespace={}):
    """A function of python_rich.py, which is compiled when the first one is needed."""
    if not namespace:
        exec(compile(RICH, '<belljar>', 'exec'), namespace)
    return namespace[name]


# --- for the loader ---


def start():
    if 'session' not in globals():
        exec(compile(FRESH, '<belljar>', 'exec'), globals())
        return wait_for_runs()
    sys.path[:] = filter(None, sys.path)  # a traceback.py of the user's is not for us
    exec(compile(SESSION, '<belljar>', 'exec'), globals())
    sys.path.insert(0, '')
    return serve_cells()


def failed():
    """Tracebacks begin where the user's code does. Whoever prints them is asked as usual."""
    theirs = getattr(sys, 'excepthook', None) or sys.__excepthook__

    def hook(kind, value, traceback):
        sys.excepthook = theirs
        while traceback is not None and traceback.tb_frame.f_globals is globals():
            traceback = traceback.tb_next
        value.__traceback__ = sys.last_traceback = traceback
        theirs(kind, value, traceback)

    sys.excepthook = hook


def over():
    """The code has ended, in whatever way; its figures may still be open."""
    if pictures is not None and pictures.pid == os.getpid():
        try:
            pictures.show_open()
        except Exception:
            pass
