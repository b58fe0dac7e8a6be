# python.py - the Python kernel: Python's side of the protocol in sandbox/interpreter/kernel_wire.h.
#
# The loader (python_loader.py) runs this text, or the code that the build has compiled it to, in its
# own namespace and then executes
#
#     try:
#         for code in start_kernel(): end_code(eval(*code))
#     except: on_error(); raise
#     finally: on_exit()
#
# start_kernel() returns only in a process that is to run the user's code, with pieces of code and
# their namespace. A process serves fresh runs (FRESH and RUN are python_fresh.py and python_run.py);
# or it becomes one fresh run, with "once = True" in front of this text (ONCE is python_once.py); or,
# with "session = True", it runs the cells of one session (SESSION is python_session.py). This file
# and its continuation python_displays.py have what all need. The other parts, in the folder notebook,
# are compiled or loaded by part() when they are first used. Python 3.7 and later.
import io
import os
import sys
import _signal

home = os.getcwd()
first_main = sys.modules['__main__']
first_sigint = _signal.getsignal(_signal.SIGINT)
imports = None  # the ImportWatch of a process that runs code
screen = None  # its session, or its fresh run: shows values
# What earlier runs assigned at their top level, for a hint. The server tells the names that it knows.
former_names = set(globals().get('former', '').split())

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
    if kept:
        return kept.pop(0)  # the loader has read it in front of the text of the kernel
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
        fields = decode_fields(body)
        take = fields.__next__
        text = lambda: os.fsdecode(take())
        self.is_cell = take() == b'cell'
        self.name, self.cwd, self.code = text(), text(), take()
        self.has_stdin, self.stdin = take() != b'0', take()
        self.pixels, self.bytes = int(take()), int(take())
        self.args = [text() for _ in range(int(take()))]
        self.env = [text() for _ in range(int(take()))]
        self.data_limit = int(next(fields, 0))


def send_ready():
    write_all(3, encode_frame(b'r', '%d.%d.%d' % sys.version_info[:3]))


def wait_until_read(ioctl, sleep, fd=3, request=0x5411):
    """Waits until the agent has read all that was written to its socket (TIOCOUTQ of ioctl_tty(2)),
    for about 0.3 seconds at most, and returns whether it has. The agent sends the output that waits
    in the pipes before it reads a display, and what is printed after this wait comes behind the
    display."""
    try:
        for turn in range(300):
            if ioctl(fd, request, bytes(4)) == bytes(4):
                return True
            sleep(0.00005 if turn < 20 else 0.001)
    except OSError:
        pass  # the filter of system calls refuses the ioctl
    return False


class Output(io.FileIO):
    """The pipe of stdout or stderr. The agent cannot tell which of two pipes was written to first, so
    a write to the one waits until the agent has read the other (FIONREAD). That is done for few
    changes between the two, because an answer shows no more of them in their order, and not any more
    after a wait that took long: then the client does not read. The wait belongs to the lookup of
    write(), so that the traceback of a write that fails has no line of this class."""
    last, left, wait_with = None, 0, None
    choose_write = None  # of python_late.py, if other cells may write as well

    @property
    def write(self, bind=io.FileIO.write.__get__, wait=wait_until_read):
        shared = self.__class__
        if shared.last is not self:
            other, shared.last = shared.last, self
            if other is not None and shared.left > 0:
                shared.left -= 1
                if not wait(*shared.wait_with, other.fd, 0x541b):
                    shared.left = 0
        write = shared.choose_write and shared.choose_write(self)
        return write or bind(self, shared)  # Python 3.12 and later crash without the class

    def flush(self):
        if self.choose_write is not None:
            part('LATE')['flush_held'](self)
        super().flush()

    @classmethod
    def begin(cls, changes=64):
        cls.last, cls.left = None, changes


Output.__name__ = '_io.FileIO'  # which repr() shows in Python 3.13 and later


def order_streams(ioctl, sleep):
    """Makes stdout and stderr streams of Output, as far as they are unbuffered."""
    Output.wait_with = ioctl, sleep
    for name, fd in ('stdout', 1), ('stderr', 2):
        stream = getattr(sys, name)
        if type(getattr(stream, 'buffer', None)) is not io.FileIO:
            continue
        pipe = Output(fd, 'wb', closefd=False)
        pipe.name, pipe.fd = '<%s>' % name, fd
        stream = io.TextIOWrapper(pipe, stream.encoding, stream.errors, '\n', stream.line_buffering,
                                  stream.write_through)
        stream.mode = 'w'
        setattr(sys, name, stream)
        setattr(sys, '__%s__' % name, stream)
    Output.begin()


def write_whole_lines(*unused):
    """Lets stdout and stderr keep what is printed until the line ends, as on a terminal. print() writes
    its arguments and the end of the line one by one, so unbuffered lines of several threads or
    processes would be mixed."""
    for stream in sys.__stdout__, sys.__stderr__:
        try:
            if stream.write_through:
                stream.reconfigure(write_through=False, line_buffering=True)
        except (AttributeError, ValueError, OSError):
            pass  # it is None, closed, detached or of another class: the code has replaced it
    builtins = sys.modules['builtins']
    if builtins.print is plain_print:
        builtins.print = print_whole


def print_whole(*values, sep=' ', end='\n', file=None, flush=False):
    """print() while stdout and stderr keep unfinished lines: a text that does not end its line is
    flushed, so that it is not lost if the program is killed."""
    stream = sys.stdout if file is None else file
    if isinstance(end, str) and end[-1:] != '\n' and (stream is sys.__stdout__ or
                                                      stream is sys.__stderr__):
        flush = True
    plain_print(*values, sep=sep, end=end, file=file, flush=flush)


plain_print = print
# Other processes find the function by these names.
print_whole.__name__ = print_whole.__qualname__ = 'print'
print_whole.__module__, print_whole.__doc__ = 'builtins', print.__doc__


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


def add_user_site():
    """Adds the directory into which packages are installed, where Python itself does: in front of
    the system's. Python looks for it once, when it starts, and the first installation makes it. If
    the image's Python is that of a virtual environment, Python leaves the user's directory out.
    Sandboxes of earlier versions have packages in ~/.local/lib: packages_python.py makes other
    programs look there."""
    site = sys.modules.get('site')
    path = getattr(site, 'USER_SITE', None)
    is_wanted = path and (site.ENABLE_USER_SITE or sys.prefix != sys.base_prefix)
    for place in (path, path.replace('/.local/venv/', '/.local/', 1)) if is_wanted else ():
        if place in sys.path or not os.path.isdir(place) or os.listdir(place) == ['venv.pth']:
            continue
        count = len(sys.path)
        site.addsitedir(place)
        added = sys.path[count:]
        del sys.path[count:]
        system = site.getsitepackages()
        at = next((i for i, entry in enumerate(sys.path) if entry in system), count)
        sys.path[at:at] = added


def set_data_limit(limit):
    """Sets the soft limit for data, if the memory limit has changed since this process started."""
    resource = import_hidden('resource') if limit else None
    if resource is not None:
        try:
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
        except (OSError, ValueError):
            pass  # without cgroups the limit cannot be raised


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


# --- parts that are executed when they are first used ---


def compiled(text):
    """The code of a part: text, or marshal data from scripts/compile-kernel.py."""
    if isinstance(text, bytes):
        return sys.modules['marshal'].loads(text)
    return compile(text, '<belljar>', 'exec')


def part(name, parts={}):
    """The namespace of a part of the kernel. The standard library's modules that it needs must not
    be files of the same name in the user's directory."""
    if name not in parts:
        path = sys.path[:]
        sys.path[:] = filter(None, path)
        try:
            space = {'__name__': 'belljar', 'part': part, 'screen': screen, 'pictures': imports,
                     'display': display, 'get_ipython': get_ipython, 'PLAIN': PLAIN,
                     'write_whole_lines': write_whole_lines}
            exec(compiled(globals()[name]), space)
            parts[name] = space
        finally:
            sys.path[:] = path
    return parts[name]


# --- called by the loader ---


def start_kernel():
    if 'session' not in globals():
        exec(compiled(RUN), globals())
        is_once = 'once' in globals()
        exec(compiled(ONCE if is_once else FRESH), globals())
        return become_only_run() if is_once else serve_runs()
    sys.path[:] = filter(None, sys.path)  # SESSION must not import the user's traceback.py
    exec(compiled(SESSION), globals())
    sys.path.insert(0, '')
    return serve_cells()


def without_kernel(traceback):
    """The traceback without the kernel's frames."""
    first = at = skip_kernel(traceback)
    while at is not None:
        at.tb_next = at = skip_kernel(at.tb_next)
    return first


def skip_kernel(traceback):
    while traceback is not None and traceback.tb_frame.f_globals is globals():
        traceback = traceback.tb_next
    return traceback


def on_error():
    """Removes the kernel's frames from the traceback that is printed next, by sys.excepthook as
    usual."""
    theirs = getattr(sys, 'excepthook', None) or sys.__excepthook__

    def hook(kind, value, traceback):
        sys.excepthook = theirs
        value.__traceback__ = sys.last_traceback = traceback = without_kernel(traceback)
        theirs(kind, value, traceback)
        if kind is NameError:
            hint_at_session(value)

    sys.excepthook = hook


def hint_at_session(error):
    """Says why a name is missing that an earlier run has assigned. The tools say how to keep names
    (run_hint.c): not every profile can."""
    name = (str(error).split("'") + [''])[1]
    if name in former_names:
        print("note: an earlier run set '%s', but each run starts anew" % name, file=sys.stderr)


def on_exit():
    """Shows the figures that the code left open, however it ended. A forked child shows none: they
    are its parent's."""
    globals().pop('code', None)  # the loader's variable refers to the namespace of the code
    if imports is not None and imports.pid == os.getpid():
        try:
            imports.show_open()
        except Exception:
            pass
