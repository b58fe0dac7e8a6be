# python_session.py - cells: one after the other, in one namespace. Part of python.py, run in the
# same namespace as that.
import ast
import atexit
import builtins
import linecache
import tokenize
import traceback
import _thread

MOST_SHOWN = 64
ERROR_BYTES = 64 * 1024
IS_COROUTINE = 0x80  # inspect.CO_COROUTINE
AWAIT = getattr(ast, 'PyCF_ALLOW_TOP_LEVEL_AWAIT', 0)


class CellOut:
    """Where a cell says what it shows, as it happens. Only this process may, and only during a
    cell: a child of it and a thread that goes on print instead."""

    def __init__(self):
        self.home, self.pid = home, os.getpid()
        self.pixels = self.bytes = self.left = 0
        self.is_open = False
        self.lock = _thread.allocate_lock()
        self.thread = _thread.get_ident()

    def open(self, run):
        self.pixels, self.bytes, self.left = run.pixels, run.bytes, MOST_SHOWN
        self.is_open = True

    def is_ours(self):
        return self.is_open and os.getpid() == self.pid

    def emit(self, mime, text='', path=''):
        if not self.is_ours():
            print(text or path)
            return
        told = frame(b'v', mime, text, path)
        sigint = _signal.getsignal(_signal.SIGINT)
        if _thread.get_ident() == self.thread and sigint is not None:
            self.emit_whole(told, sigint)
        else:
            self.emit_frame(told)

    def emit_whole(self, told, sigint):
        """Half a frame would be the end of the session: an interrupt comes before it or after.
        What has come already is raised by the first signal()."""
        held = []
        _signal.signal(_signal.SIGINT, lambda *about: held.append(about))
        try:
            self.emit_frame(told)
        finally:
            _signal.signal(_signal.SIGINT, sigint)
        if held and callable(sigint):
            sigint(*held[0])
        elif held and sigint == _signal.SIG_DFL:
            os.kill(self.pid, _signal.SIGINT)

    def emit_frame(self, told):
        with self.lock:
            self.left -= 1
            if self.left >= 0:
                write_all(3, told)
            elif self.left == -1:
                write_all(3, frame(b'v', 'text/plain', 'More was left out: %d values of a cell '
                                   'are shown.' % MOST_SHOWN, ''))

    def close(self, *frames):
        with self.lock:
            self.is_open = False
            write_all(3, b''.join(frames))


class Session:
    def __init__(self):
        self.main = new_main(None)
        self.out = CellOut()
        self.pid = os.getpid()
        self.streams = os.dup(1), os.dup(2)  # where marks go, whatever cells do to theirs
        self.resource = borrow('resource')
        self.sigint = first_sigint
        self.loop = None
        self.lent = []  # of the environment: name, value, what it was
        self.had_stdin = False
        self.future = 0  # what cells have imported from __future__
        self.status = None  # to end with, when the code asked for it
        self.main.display = self.display
        sys.displayhook = self.show_value
        watch_pictures(self.out)

    def serve(self):
        while True:
            kind, body = receive()
            if kind == b'R':
                self.run(Run(body))
            elif kind == b'M':
                answer_mark(body, *self.streams)
                if self.status is not None:
                    raise SystemExit(self.status)
            else:
                os._exit(1)

    def run(self, run):
        before = self.resource.getrusage(self.resource.RUSAGE_SELF)
        self.out.open(run)
        error = self.attempt(lambda: self.execute(run))
        self.idle()
        if os.getpid() != self.pid:
            self.leave_child(error, run.name)
        if isinstance(error, SystemExit):
            self.status = exit_status(error)
        later = self.attempt(self.tidy)
        self.idle()
        self.take_env_back()
        told, code = b'', self.status or 0
        if self.status is None and (error or later) is not None:
            told, code = frame(b'e', *describe(error or later, run.name)), 1
        error = later = None  # their frames hold what the user may have deleted since
        self.out.close(told, frame(b'x', code, 0, int(self.status is not None),
                                   *self.usage(before)))

    def attempt(self, function):
        """What the user's code raises, None if it does not. It can be interrupted."""
        try:
            _signal.signal(_signal.SIGINT, self.sigint)
            function()
        except BaseException as error:
            return error
        return None

    def idle(self):
        """No signal may reach what is not the user's code. One may be on its way still."""
        while True:
            try:
                handler = _signal.getsignal(_signal.SIGINT)
                _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
            except BaseException:
                continue
            if handler not in (_signal.SIG_IGN, None):
                self.sigint = handler
            return

    def execute(self, run):
        self.lend_env(run.env)
        if run.has_stdin or self.had_stdin:
            replace_stdin(run.stdin if run.has_stdin else None)
        self.had_stdin = run.has_stdin
        if run.cwd:
            os.chdir(run.cwd)
        if run.args:
            sys.argv[1:] = run.args
        body, last = self.compile(run.code.decode('utf-8-sig'), run.name)
        if body is not None:
            self.evaluate(body)
        if last is not None:
            sys.displayhook(self.evaluate(last))

    def lend_env(self, env):
        for entry in env:
            name, _, value = entry.partition('=')
            self.lent.append((name, value, os.environ.get(name)))
            apply_env([entry])

    def take_env_back(self):
        """What the cell itself has set stays."""
        try:
            while self.lent:
                name, value, was = self.lent.pop()
                if os.environ.get(name) != value:
                    continue
                if was is not None:
                    apply_env([name + '=' + was])
                    continue
                del os.environ[name]
                if name == 'TZ':
                    borrow('time').tzset()
        except Exception:
            self.lent = []  # os.environ is no longer what it was

    def compile(self, text, name):
        """The cell without its last expression, and that expression; either may be None."""
        lines = [line + '\n' for line in text.splitlines()]
        linecache.cache[name] = len(text), None, lines, name
        flags = AWAIT | self.future
        tree = compile(text, name, 'exec', flags | ast.PyCF_ONLY_AST, True)
        body = last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not ends_in_semicolon(text):
            last = ast.Expression(tree.body.pop().value)
        if tree.body:
            body = compile(tree, name, 'exec', flags, True)
            # Of the flags above the coroutine's only those of __future__ are meant.
            self.future |= body.co_flags & FUTURE
        if last is not None:
            last = compile(last, name, 'eval', AWAIT | self.future, True)
        return body, last

    def evaluate(self, code):
        value = eval(code, self.main.__dict__)
        return self.drive(value) if code.co_flags & IS_COROUTINE else value

    def drive(self, coroutine):
        """await at the top level: one loop for all cells, which turns while a cell awaits."""
        import asyncio
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(coroutine)
        try:
            return self.loop.run_until_complete(task)
        except BaseException:
            if not task.done():
                task.cancel()
                try:
                    self.loop.run_until_complete(task)
                except asyncio.CancelledError:
                    pass
            elif not task.cancelled():
                task.exception()  # it has been seen: no complaint when it is freed
            raise

    def tidy(self):
        """What belongs to the cell though its last line has been run."""
        pictures.show_open()
        flush()
        if self.status is not None:
            atexit._run_exitfuncs()
            flush()

    def leave_child(self, error, name):
        """A child that the cell has forked came back from it: it is not the session."""
        if isinstance(error, SystemExit):
            raise error
        if error is not None:
            print(describe(error, name)[2], end='', file=sys.stderr)
        raise SystemExit(0 if error is None else 1)

    def display(self, *values):
        """Shows each of the values: a picture, a table, or as text."""
        for value in values:
            rich('show')(value, self.out, pictures.pyplot)

    def show_value(self, value):
        if value is None:
            return
        builtins._ = value
        self.display(value)

    def usage(self, before):
        now = self.resource.getrusage(self.resource.RUSAGE_SELF)
        return (int((now.ru_utime - before.ru_utime) * 1e6),
                int((now.ru_stime - before.ru_stime) * 1e6), now.ru_maxrss)


def future_flags():
    import __future__
    flags = 0
    for name in __future__.all_feature_names:
        flags |= getattr(__future__, name).compiler_flag
    return flags & ~0x10  # CO_NESTED is every inner function's


FUTURE = future_flags()


def ends_in_semicolon(text):
    if ';' not in text:
        return False
    nothing = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
               tokenize.ENDMARKER)
    last = ''
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in nothing:
            last = token.string
    return last == ';'


def flush():
    for stream in sys.stdout, sys.stderr:
        try:
            stream.flush()
        except Exception:
            pass


def exit_status(error):
    """As the interpreter has it: nothing, a number, or a text for stderr."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xff
    print(error.code, file=sys.stderr)
    return 1


def describe(error, name):
    """Name, message and traceback, which begins in the cell."""
    begin = error.__traceback__
    while begin is not None and begin.tb_frame.f_code.co_filename != name:
        begin = begin.tb_next
    error.__traceback__ = begin
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, begin
    try:
        text = ''.join(traceback.format_exception(type(error), error, begin))
    except Exception as why:
        text = '%s (its traceback cannot be shown: %s)\n' % (type(error).__name__, why)
    try:
        message = str(error)
    except Exception:
        message = ''
    return type(error).__name__, cut(message), cut(text)


def cut(text):
    if len(text) <= ERROR_BYTES // 4:
        return text
    half = ERROR_BYTES // 8
    return '%s\n... %d characters left out ...\n%s' % (text[:half], len(text) - 2 * half,
                                                      text[-half:])


def serve_cells():
    os.set_inheritable(3, False)
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    session = Session()
    ready()
    session.serve()
