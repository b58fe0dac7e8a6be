"""kernel.py - the server's side of src/sandbox/interpreter/kernel_wire.h, for tests of kernels.

The kernel runs below a process that is a subreaper, as the keeper in a sandbox is."""
import ctypes
import os
import pathlib
import runpy
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src/kernels"
IMAGE = SOURCES / "python_image.S"
COMPILE = ROOT / "scripts/compile-kernel.py"
LOADER = SOURCES / "python_loader.py"
PYTHON = os.environ.get("KERNEL_PYTHON", "/usr/bin/python3")
LIMIT_S = float(os.environ.get("KERNEL_LIMIT", 60))
PR_SET_CHILD_SUBREAPER = 36
os.environ["PYTHONUNBUFFERED"] = "1"  # as in every sandbox


def source():
    """The text of the kernel."""
    return runpy.run_path(str(COMPILE))["read_text"](IMAGE).encode()


def compiled(python, once=False, cache={}):
    """The compiled kernel for this Python, as scripts/compile-kernel.py makes it; for a Python in which that fails,
    an empty one, so that the text is used."""
    options = ["--once"] if once else []
    if (python, *options) not in cache:
        with tempfile.NamedTemporaryFile() as out:
            done = subprocess.run([python, "-I", "-B", COMPILE, *options, IMAGE, out.name], stderr=subprocess.DEVNULL)
            cache[python, *options] = bytes(4) if done.returncode else pathlib.Path(out.name).read_bytes()
    return cache[python, *options]


def frame(kind, *values):
    body = b"".join(len(v).to_bytes(4, "little") + v
                    for v in (v if isinstance(v, bytes) else str(v).encode() for v in values))
    return kind + len(body).to_bytes(4, "little") + body


def fields(body):
    found = []
    while body:
        size = int.from_bytes(body[:4], "little")
        assert len(body) >= 4 + size, body
        found.append(body[4:4 + size])
        body = body[4 + size:]
    return found


class Result:
    """The outcome of one RUN."""

    def __init__(self):
        self.streams = {1: b"", 2: b""}
        self.shown = []  # (mime, text, path)
        self.error = None  # (name, message, traceback)
        self.code = self.signal = self.is_exit = None
        self.usage = ()
        self.seconds = None

    out = property(lambda self: self.streams[1].decode())
    err = property(lambda self: self.streams[2].decode())


class Kernel:
    def __init__(self, session=False, python=PYTHON, env=None, files=None, argv=None, boot=None, code=None,
                 once=None, former="", home=None):
        """once: the arguments of send() for a kernel that becomes this run."""
        self.home = home or pathlib.Path(tempfile.mkdtemp(prefix="kernel-test-"))
        self.owns_home = home is None
        self.is_session = session
        self.early = {1: b"", 2: b""}
        for name, text in (files or {}).items():
            (self.home / name).write_text(text)
        self.socket, theirs = socket.socketpair()
        self.pipes = {}
        writers = {}
        for fd in 1, 2:
            self.pipes[fd], writers[fd] = os.pipe()
        told, tell = os.pipe()
        self.keeper = os.fork()
        if self.keeper == 0:
            try:
                os.chdir(self.home)
                self.keep(argv or [python, "-c", LOADER.read_text()], env, theirs.fileno(), writers, tell)
            finally:
                os._exit(99)
        theirs.close()
        for fd in writers[1], writers[2], tell:
            os.close(fd)
        self.pid = int(os.read(told, 20))
        os.close(told)
        self.count = 0
        self.buffer = b""
        if boot is None:
            code = compiled(python, once) if code is None else code
            line = b"session = True" if session else b"once = True" if once else b""
            boot = (b"former = '%s';" % former.encode() if former else b"") + line + b"\n" + code
        self.send_boot(boot)
        if once:
            self.send(**once)
        early = Result()
        early.streams = self.early
        kind, body = self.receive(early)
        if kind == b"t":
            self.send_boot(source())
            kind, body = self.receive(early)
        assert kind == b"r", kind
        self.version = fields(body)[0].decode()

    def send_boot(self, boot):
        self.socket.sendall(b"B" + len(boot).to_bytes(4, "little") + boot)

    @staticmethod
    def keep(argv, env, channel, writers, tell):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        child = os.fork()
        if child == 0:
            os.setsid()
            for number in signal.SIGPIPE, signal.SIGINT:  # a shell ignores them for a job in the background
                signal.signal(number, signal.SIG_DFL)
            wanted = {0: os.open("/dev/null", os.O_RDONLY), 1: writers[1], 2: writers[2], 3: channel}
            wanted = {to: os.dup(fd) for to, fd in wanted.items()}
            high = {to: os.dup2(fd, 200 + to) for to, fd in wanted.items()}
            for to, fd in high.items():
                os.dup2(fd, to, inheritable=True)
            os.closerange(4, 300)
            os.execve(argv[0], argv, dict(os.environ, MPLBACKEND="Agg", **(env or {})))
        os.write(tell, b"%d" % child)
        os.closerange(0, 300)
        while True:
            pid, status = os.wait()
            if pid == child:
                os._exit(os.WTERMSIG(status) + 128 if os.WIFSIGNALED(status)
                         else os.WEXITSTATUS(status))

    def receive(self, result, until=None):
        """Returns the next frame; with `until`, reads output until both streams end in it."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            if len(self.buffer) >= 5 and until is None:
                end = 5 + int.from_bytes(self.buffer[1:5], "little")
                if len(self.buffer) >= end:
                    head, self.buffer = self.buffer[:end], self.buffer[end:]
                    return head[:1], head[5:]
            if until is not None and self.take_mark(result, until):
                return None
            readable, _, _ = select.select([self.socket, *self.pipes.values()], [], [],
                                           deadline - time.monotonic())
            assert readable, ("nothing more came", result.streams, result.error)
            self.read_pipes(result, readable)
            if self.socket not in readable:
                continue
            part = self.socket.recv(65536)
            self.buffer += part
            if part:
                continue
            # A kernel that exits writes its last output before the socket closes, but this select()
            # may have looked at the pipes before that: read them once more before judging.
            while self.read_pipes(result, select.select(self.pipes.values(), [], [], 0)[0]):
                pass
            if until is None or not self.take_mark(result, until):
                raise EOFError(result.streams)
            return None

    def read_pipes(self, result, readable):
        """Adds what the readable pipes hold to the result. Returns the number of bytes read."""
        count = 0
        for fd, pipe in self.pipes.items():
            if pipe in readable:
                part = os.read(pipe, 65536)
                result.streams[fd] += part
                count += len(part)
        return count

    def take_mark(self, result, mark):
        """Whether both streams have the mark. What is behind it was printed between two runs, and
        is kept for the next one."""
        if not all(mark in stream for stream in result.streams.values()):
            return False
        for fd in result.streams:
            result.streams[fd], _, self.early[fd] = result.streams[fd].partition(mark)
        return True

    def send(self, code, cwd="", stdin=None, args=(), env=(), pixels=4000000, bytes=1000000,
             name=None, is_cell=None):
        self.count += 1
        is_cell = self.is_session if is_cell is None else is_cell
        if name is None:
            name = "<cell %d>" % self.count if is_cell else str(self.home / ("run-%d" % self.count))
        self.name = name
        self.sent = time.perf_counter()
        self.socket.sendall(frame(
            b"R", "cell" if is_cell else "fresh", name, cwd, code, "0" if stdin is None else "1",
            stdin or b"", pixels, bytes, len(args), *args, len(env), *env))

    def await_line(self):
        """Waits until the code has printed a line, and drops that line."""
        line = b""
        while not line.endswith(b"\n"):
            assert select.select([self.pipes[1]], [], [], LIMIT_S)[0], line
            line += os.read(self.pipes[1], 1)

    def finish(self, mark=True):
        result = Result()
        result.streams, self.early = self.early, {1: b"", 2: b""}
        while result.code is None:
            kind, body = self.receive(result)
            parts = [p.decode() for p in fields(body)]
            if kind == b"v":
                result.shown.append(tuple(parts))
            elif kind == b"c":
                result.shown.append(("clear", *parts))
            elif kind == b"l":
                result.left, = parts
            elif kind == b"e":
                result.error = tuple(parts)
            else:
                assert kind == b"x" and len(parts) == 6, (kind, parts)
                result.code, result.signal, result.is_exit = map(int, parts[:3])
                result.usage = tuple(map(int, parts[3:]))
        result.seconds = time.perf_counter() - self.sent
        if mark:
            nonce = os.urandom(12).hex().encode()
            self.socket.sendall(b"M" + len(nonce).to_bytes(4, "little") + nonce)
            self.receive(result, until=nonce)
        return result

    def run(self, code, mark=True, **options):
        self.send(code, **options)
        return self.finish(mark)

    def cell(self, code, **options):
        return self.run(code, is_cell=True, **options)

    def end(self):
        """Closes the socket, which ends the kernel. Returns its exit code."""
        self.socket.close()
        for pipe in self.pipes.values():
            os.close(pipe)
        _, status = os.waitpid(self.keeper, 0)
        if self.owns_home:
            shutil.rmtree(self.home, ignore_errors=True)
        return os.WEXITSTATUS(status)


class OnceKernel:
    """Runs each piece of code in an interpreter of its own, which becomes the run. Its exit is the end of the run."""

    def __init__(self, **options):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="kernel-test-"))
        self.options = options  # of each Kernel
        self.count = 0
        self.former = ""

    def run(self, code, name=None, **options):
        self.count += 1
        self.name = name or str(self.home / ("run-%d" % self.count))
        kernel = Kernel(once=dict(code=code, name=self.name, **options), former=self.former, home=self.home,
                        **self.options)
        self.pid = kernel.pid
        result = Result()
        result.streams = kernel.early
        self.receive_all(kernel, result)
        status = kernel.end()
        result.code, result.signal = (0, status - 128) if status > 128 else (status, 0)
        if name is None:
            shutil.rmtree(self.name, ignore_errors=True)  # the server does that
        return result

    def receive_all(self, kernel, result):
        open_pipes, is_open = dict(kernel.pipes), True
        while open_pipes or is_open:
            readable = select.select([*open_pipes.values(), *[kernel.socket] * is_open], [], [], LIMIT_S)[0]
            assert readable, result.streams
            for fd, pipe in list(open_pipes.items()):
                part = os.read(pipe, 65536) if pipe in readable else None
                result.streams[fd] += part or b""
                if part == b"":
                    del open_pipes[fd]
            if kernel.socket in readable:
                part = kernel.socket.recv(65536)
                is_open, kernel.buffer = bool(part), kernel.buffer + part
        while kernel.buffer:
            kind, body = kernel.receive(result)
            parts = [p.decode() for p in fields(body)]
            if kind == b"n":
                self.former = parts[0]
            else:
                result.shown.append(tuple(parts) if kind == b"v" else ("clear", *parts))

    def end(self):
        shutil.rmtree(self.home, ignore_errors=True)
