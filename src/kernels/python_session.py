# python_session.py - sessions: cells run one after the other in one namespace. Part of python.py,
# executed in the same namespace.
import ast
import atexit
import builtins
import linecache
import tokenize
import traceback
import _thread

SHOWN_MAX = 64  # values of one cell
ERROR_BYTES = 64 * 1024
IS_COROUTINE = 0x80  # inspect.CO_COROUTINE
AWAIT = getattr(ast, 'PyCF_ALLOW_TOP_LEVEL_AWAIT', 0)


class CellDisplay:
    """Sends what a cell displays to the server at once. Only the session's process may do so,
    and only during a cell: forked children, and threads that outlive their cell, print
    instead."""

    def __init__(self):
        self.home, self.pid = home, os.getpid()
        self.pixels = self.bytes = self.left = 0
        self.is_open = False
        self.lock = _thread.allocate_lock()
        self.thread = _thread.get_ident()

    def open(self, run):
        self.pixels, self.bytes, self.left = run.pixels, run.bytes, SHOWN_MAX
        self.is_open = True

    def is_ours(self):
        return self.is_open and os.getpid() == self.pid

    def emit(self, mime, text='', path=''):
        if not self.is_ours():
            print(text or path)
            return
        shown = encode_frame(b'v', mime, text, path)
        sigint = _signal.getsignal(_signal.SIGINT)
        if _thread.get_ident() == self.thread and sigint is not None:
            self.emit_whole(shown, sigint)
        else:
            self.emit_frame(shown)

    def emit_whole(self, shown, sigint):
        """Holds SIGINT back while a frame is written: a KeyboardInterrupt in the middle of one
        would end the session. A signal that came before is raised by the first signal()."""
        held = []
        _signal.signal(_signal.SIGINT, lambda *about: held.append(about))
        try:
            self.emit_frame(shown)
        finally:
            _signal.signal(_signal.SIGINT, sigint)
        if held and callable(sigint):
            sigint(*held[0])
        elif held and sigint == _signal.SIG_DFL:
            os.kill(self.pid, _signal.SIGINT)

    def emit_frame(self, shown):
        with self.lock:
            self.left -= 1
            if self.left >= 0:
                write_all(3, shown)
            elif self.left == -1:
                note = 'More values were left out: at most %d of a cell are shown.' % SHOWN_MAX
                write_all(3, encode_frame(b'v', 'text/plain', note, ''))

    def close(self, *frames):
        with self.lock:
            self.is_open = False
            write_all(3, b''.join(frames))


class Session:
    def __init__(self):
        self.main = new_main(None)
        self.out = CellDisplay()
        self.pid = os.getpid()
        self.streams = os.dup(1), os.dup(2)  # for marks: cells may redirect 1 and 2
        self.resource = import_hidden('resource')
        self.sigint = first_sigint
        self.loop = None
        self.cell_env = []  # variables of this cell only: name, value, former value
        self.had_stdin = False
        self.future = 0  # compiler flags of what cells imported from __future__
        self.status = None  # exit code, once a cell has called exit()
        self.main.display = self.display
        sys.displayhook = self.show_value
        watch_pyplot(self.out)

    def serve(self):
        while True:
            kind, body = receive_frame()
            if kind == b'R':
                self.run(Run(body))
            elif kind == b'M':
                write_mark(body, *self.streams)
                if self.status is not None:
                    raise SystemExit(self.status)
            else:
                os._exit(1)

    def run(self, run):
        before = self.resource.getrusage(self.resource.RUSAGE_SELF)
        self.out.open(run)
        error = self.run_interruptible(lambda: self.execute(run))
        self.ignore_sigint()
        if os.getpid() != self.pid:
            self.leave_child(error, run.name)
        if isinstance(error, SystemExit):
            self.status = exit_status(error)
        later = self.run_interruptible(self.finish_output)
        self.ignore_sigint()
        self.restore_env()
        failure, code = b'', self.status or 0
        if self.status is None and (error or later) is not None:
            failure, code = encode_frame(b'e', *describe_error(error or later, run.name)), 1
        error = later = None  # their frames keep objects alive that the user has deleted
        self.out.close(failure, encode_frame(b'x', code, 0, int(self.status is not None),
                                   *self.usage(before)))

    def run_interruptible(self, function):
        """Runs the user's code, which SIGINT interrupts. Returns the exception that it raised,
        or None."""
        try:
            _signal.signal(_signal.SIGINT, self.sigint)
            function()
        except BaseException as error:
            return error
        return None

    def ignore_sigint(self):
        """Ignores SIGINT outside of the user's code. A pending one is raised by signal() itself,
        hence the loop."""
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
        self.set_env(run.env)
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

    def set_env(self, env):
        for entry in env:
            name, _, value = entry.partition('=')
            self.cell_env.append((name, value, os.environ.get(name)))
            apply_env([entry])

    def restore_env(self):
        """Restores the variables of the cell, unless the cell itself has set them to something
        else."""
        try:
            while self.cell_env:
                name, value, was = self.cell_env.pop()
                if os.environ.get(name) != value:
                    continue
                if was is not None:
                    apply_env([name + '=' + was])
                    continue
                del os.environ[name]
                if name == 'TZ':
                    import_hidden('time').tzset()
        except Exception:
            self.cell_env = []  # the cell has replaced os.environ

    def compile(self, text, name):
        """Compiles the cell without its last expression, and that expression; either may be
        None."""
        lines = [line + '\n' for line in text.splitlines()]
        linecache.cache[name] = len(text), None, lines, name
        flags = AWAIT | self.future
        tree = compile(text, name, 'exec', flags | ast.PyCF_ONLY_AST, True)
        body = last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not ends_in_semicolon(text):
            last = ast.Expression(tree.body.pop().value)
        if tree.body:
            body = compile(tree, name, 'exec', flags, True)
            # co_flags has other flags too, such as that of a coroutine.
            self.future |= body.co_flags & FUTURE
        if last is not None:
            last = compile(last, name, 'eval', AWAIT | self.future, True)
        return body, last

    def evaluate(self, code):
        value = eval(code, self.main.__dict__)
        return self.run_coroutine(value) if code.co_flags & IS_COROUTINE else value

    def run_coroutine(self, coroutine):
        """Runs a cell with await at its top level. All cells share one event loop, which runs
        only while a cell awaits."""
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
                task.exception()  # marks it as seen, or asyncio would warn when it is freed
            raise

    def finish_output(self):
        """Shows open figures and flushes output, which belong to the cell; runs exit handlers after
        exit()."""
        pictures.show_open()
        flush_streams()
        if self.status is not None:
            atexit._run_exitfuncs()
            flush_streams()

    def leave_child(self, error, name):
        """A forked child returned from the cell. It must exit here, and not serve the session."""
        if isinstance(error, SystemExit):
            raise error
        if error is not None:
            print(describe_error(error, name)[2], end='', file=sys.stderr)
        raise SystemExit(0 if error is None else 1)

    def display(self, *values):
        """Shows each of the values as a picture, a table or text."""
        for value in values:
            rich_function('show')(value, self.out, pictures.pyplot)

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
    return flags & ~0x10  # CO_NESTED is set for every nested function


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


def flush_streams():
    for stream in sys.stdout, sys.stderr:
        try:
            stream.flush()
        except Exception:
            pass


def exit_status(error):
    """The exit code as the interpreter defines it; a text goes to stderr."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xff
    print(error.code, file=sys.stderr)
    return 1


def describe_error(error, name):
    """Name, message and traceback of an exception. The traceback begins in the cell."""
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
    return type(error).__name__, cut_text(message), cut_text(text)


def cut_text(text):
    if len(text) <= ERROR_BYTES // 4:
        return text
    half = ERROR_BYTES // 8
    return '%s\n... %d characters left out ...\n%s' % (text[:half], len(text) - 2 * half,
                                                      text[-half:])


def serve_cells():
    os.set_inheritable(3, False)
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    session = Session()
    send_ready()
    session.serve()
