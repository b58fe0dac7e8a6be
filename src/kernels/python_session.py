# python_session.py - sessions: cells run one after the other in one namespace. Part of python.py,
# executed in the same namespace.
import ast
import builtins
import fcntl
import linecache
import re
import time
import tokenize
import traceback
import _contextvars
import _thread

ERROR_BYTES = 64 * 1024
IS_COROUTINE = 0x80  # inspect.CO_COROUTINE
AWAIT = getattr(ast, 'PyCF_ALLOW_TOP_LEVEL_AWAIT', 0)
OUTPUTS_MAX = 1000  # values that Out keeps
BARE = 'cat', 'cd', 'cp', 'ls', 'mkdir', 'mv', 'pwd', 'rm', 'rmdir'  # need no %, alone in a cell
INPUT_MAX = 64 * 1024  # characters of a cell that In keeps
PROMPT = re.compile(r'\s*In ?\[\d+\]: ')


class CellDisplay(Displays):
    """Sends what a cell displays to the server at once. Only the session's process may do so,
    and only during a cell: forked children, and threads that outlive their cell, print
    instead."""

    def __init__(self):
        super().__init__()
        self.pid, self.is_open = os.getpid(), False
        self.lock = _thread.allocate_lock()
        self.thread = _thread.get_ident()
        self.wait_with = fcntl.ioctl, time.sleep  # the code may replace them in their modules

    def open(self, run):
        self.pixels, self.bytes, self.left = run.pixels, run.bytes, SHOWN_MAX
        self.is_open, self.is_clear_due, self.saved = True, False, []

    def is_ours(self):
        return self.is_open and os.getpid() == self.pid

    def send_shown(self, mime, text, path, *display_id):
        if self.is_ours():
            super().send_shown(mime, text, path, *display_id)
        else:
            print(text or path)

    def send_clear(self, display_id, wait):
        if self.is_ours():
            super().send_clear(display_id, wait)

    def send(self, shown):
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
            write_all(3, shown)
            wait_until_read(*self.wait_with)

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
        self.cell_env = []  # variables of this cell only: name, value, former value
        self.had_stdin = False
        self.future = 0  # compiler flags of what cells imported from __future__
        self.namespace = self.main.__dict__
        self.name, self.number = '', 0  # of the cell
        self.inputs, self.outputs = [''], {}
        self.last = ''  # the value that is kept as _
        self.captured = None  # a list: values are collected instead of shown
        self.around_cell = None  # a function of %autoreload, called before and after each cell
        self.events = None  # of get_ipython(), if a function is registered there
        self.interactivity = 'last_expr'  # which values of a cell are shown
        self.cell = _contextvars.ContextVar('cell')  # the number of the cell that runs
        self.output_class, self.runs = Output, 0
        builtins.In, builtins.Out = self.inputs, self.outputs
        builtins.exit, builtins.quit = Exit('exit'), Exit('quit')
        sys.displayhook = self.show_value
        order_streams(fcntl.ioctl, time.sleep)
        if hasattr(sys.stdout, 'reconfigure'):
            sys.stdout.reconfigure(line_buffering=True)  # in order with what other programs print
        WATCHED['asyncio'] = 'LOOP', 'replace_functions'
        watch_imports(self)
        self.watch_writers()

    def watch_writers(self):
        """Prepares for output of earlier cells during a later one (python_late.py)."""
        self.tell_late = None  # its function begin(), once there are threads or forked children
        load = lambda: part('LATE')
        for name, function in (('threading', 'watch_threads'),
                               ('concurrent.futures.thread', 'watch_executor')):
            WATCHED[name] = 'LATE', function
            if name in sys.modules:
                load()[function](sys.modules[name])
        os.register_at_fork(before=lambda: load()['share_state'](),
                            after_in_child=lambda: load()['enter_child']())

    def begin_output(self):
        self.runs += 1
        self.cell.set(self.runs)
        if self.tell_late is not None:
            self.tell_late(self.runs)
        Output.begin()

    def serve(self):
        while True:
            kind, body = receive_frame()
            if kind == b'R':
                self.run(Run(body))
            elif kind == b'M':
                if self.tell_late is not None:
                    self.tell_late(0)
                write_mark(body, *self.streams)
                self.run_tasks()
            else:
                os._exit(1)

    def run_tasks(self):
        """Runs the tasks that cells have started until the server sends something."""
        if 'asyncio' not in sys.modules:
            return
        error = self.run_interruptible(lambda: part('LOOP')['run_until_readable'](3))
        self.ignore_sigint()
        if os.getpid() != self.pid:
            self.leave_child(error, self.name)

    def run(self, run):
        self.begin_output()
        before = self.resource.getrusage(self.resource.RUSAGE_SELF)
        self.out.open(run)
        error = self.run_interruptible(lambda: self.execute(run))
        self.ignore_sigint()
        if os.getpid() != self.pid:
            self.leave_child(error, run.name)
        code = 0
        if isinstance(error, SystemExit):  # ends the cell and not the session
            error, code = None, exit_status(error)
        later = self.run_interruptible(self.finish_output)
        self.ignore_sigint()
        self.restore_env()
        failure = b''
        if (error or later) is not None:
            failure, code = encode_frame(b'e', *describe_error(error or later, run.name)), 1
        error = later = None  # their frames keep objects alive that the user has deleted
        self.out.close(failure, encode_frame(b'x', code, 0, 0, *self.usage(before)))

    def run_interruptible(self, function):
        """Runs the user's code, which SIGINT interrupts. Returns the exception that it raised, or
        None. SIGINT behind the end of the code is raised where the next function begins."""
        try:
            return self.catch(function)
        except BaseException as error:
            return error

    def catch(self, function, found=None):
        try:
            _signal.signal(_signal.SIGINT, self.sigint)
            function()
        except BaseException as error:
            found = error
        self.ignore_sigint()
        return found

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
        set_data_limit(run.data_limit)
        self.set_env(run.env)
        if run.has_stdin or self.had_stdin:
            replace_stdin(run.stdin if run.has_stdin else None)
        self.had_stdin = run.has_stdin
        if run.cwd:
            os.chdir(run.cwd)
        if run.args:
            sys.argv[1:] = run.args
        text = run.code.decode('utf-8-sig')
        self.remember_input(text, run.name)
        self.namespace.pop('__warningregistry__', None)  # each cell shows its warnings
        lines = [line + '\n' for line in text.splitlines()]
        linecache.cache[run.name] = len(text), None, lines, run.name
        if 'asyncio' in sys.modules:
            part('LOOP')['replace_functions']()
        if self.around_cell is not None:
            self.around_cell()
        if self.events is not None:
            self.events.tell('pre', text)
        value, is_shown = self.evaluate(text)
        if is_shown:
            sys.displayhook(value)

    def remember_input(self, text, name):
        """Keeps the cell as In[n], _in, _i, _ii and _iii. All of these names are builtins, so that
        a variable of the user with the same name is preferred."""
        digits = name[6:-1] if name.startswith('<cell ') else ''
        self.name, self.number = name, int(digits or self.number + 1)
        before = self.inputs[-3:][::-1]
        for under, old in zip(('_i', '_ii', '_iii'), before):
            setattr(builtins, under, old)
        self.inputs.extend([''] * (self.number - len(self.inputs)))
        del self.inputs[self.number:]
        self.inputs.append(text if len(text) <= INPUT_MAX else '')
        setattr(builtins, '_i%d' % self.number, self.inputs[-1])

    def set_env(self, env):
        add_user_site()
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

    def parse(self, text):
        """The syntax tree of a cell, and its text as Python."""
        words = text.split(None, 1)
        if words and words[0] == 'In' and PROMPT.match(text):  # else Python takes it for a type
            text = part('SYNTAX')['translate'](text)
        if words and words[0] in BARE and words[0] not in self.namespace and (
                '\n' not in text.strip() and words[-1][0] not in '=:([,'):
            text = '%' + text.lstrip()
        make = lambda: compile(text, self.name, 'exec', AWAIT | self.future | ast.PyCF_ONLY_AST,
                               True)
        try:
            return make(), text
        except SyntaxError:
            was, text = text, part('SYNTAX')['translate'](text)
            if text == was:
                raise
        return make(), text

    def compile(self, text):
        """Compiles the cell in pieces: statements, and expressions whose value is shown. Returns
        for each whether it is such an expression, and its code."""
        tree, text = self.parse(text)
        mode = find_interactivity(self)
        is_quiet = mode == 'none' or ends_in_semicolon(text)
        if mode == 'last_expr_or_assign' and tree.body and not is_quiet:
            tree.body += assigned_value(tree.body[-1])
        groups = split_statements(tree.body, mode == 'all', is_quiet)
        codes = []
        for is_shown, body in groups:
            part_tree = (ast.Expression(body[0].value) if is_shown
                         else ast.Module(body, []) if sys.version_info >= (3, 8)
                         else ast.Module(body))
            code = compile(part_tree, self.name, 'eval' if is_shown else 'exec',
                           AWAIT | self.future, True)
            # co_flags has other flags too, such as that of a coroutine.
            self.future |= 0 if is_shown else code.co_flags & FUTURE
            codes.append((is_shown, code))
        return codes

    def evaluate(self, text, names=None):
        """Runs code, with the variables of a function if `names` has them. Returns the value of its
        last expression, and whether that is to be shown."""
        value, is_shown = None, False
        for is_next_shown, code in self.compile(text):
            if is_shown:
                sys.displayhook(value)
            is_shown = is_next_shown
            value = eval(code, self.namespace, names)
            if code.co_flags & IS_COROUTINE:
                value = part('LOOP')['run_coroutine'](value)
        return value, is_shown

    def run_text(self, text, names=None):
        """Runs code for a magic."""
        value, is_shown = self.evaluate(text, names)
        return value if is_shown else None

    def finish_output(self):
        """Shows open figures, lets new tasks begin and flushes output: all of that belongs to the
        cell."""
        imports.show_open()
        if self.around_cell is not None:
            self.around_cell()
        if 'asyncio' in sys.modules:
            part('LOOP')['run_once']()
        if self.events is not None:
            self.events.tell('post', self.inputs[-1])
        flush_streams()

    def leave_child(self, error, name):
        """A forked child returned from the cell. It must exit here, and not serve the session."""
        if isinstance(error, SystemExit):
            raise error
        if error is not None:
            print(describe_error(error, name)[2], end='', file=sys.stderr)
        raise SystemExit(0 if error is None else 1)

    display = staticmethod(display)

    def show_value(self, value):
        """sys.displayhook: shows a value and keeps it as Out[n], _n, _, __ and ___."""
        if value is None:
            return
        if value is not self.outputs:
            self.outputs[self.number] = value
            setattr(builtins, '_%d' % self.number, value)
            self.keep_last(value)
            if len(self.outputs) > OUTPUTS_MAX:
                oldest = next(iter(self.outputs))
                del self.outputs[oldest]
                builtins.__dict__.pop('_%d' % oldest, None)
        show_value(value)

    def keep_last(self, value):
        """Keeps a value as _, unless code has set builtins._, as gettext.install() does."""
        if getattr(builtins, '_', self.last) is not self.last:
            return
        for under in '__', '_':
            setattr(builtins, under + '_', getattr(builtins, under, ''))
        builtins._ = self.last = value

    def forget_outputs(self, *values):
        """Removes the values that are kept as Out[n] and _, all or only those given."""
        is_gone = lambda value: not values or any(value is each for each in values)
        for number, value in list(self.outputs.items()):
            if is_gone(value):
                del self.outputs[number]
                builtins.__dict__.pop('_%d' % number, None)
        for under in '__', '___':
            if is_gone(getattr(builtins, under, '')):
                setattr(builtins, under, '')
        if getattr(builtins, '_', self.last) is self.last and is_gone(self.last):
            builtins._ = self.last = ''

    def usage(self, before):
        now = self.resource.getrusage(self.resource.RUSAGE_SELF)
        return (int((now.ru_utime - before.ru_utime) * 1e6),
                int((now.ru_stime - before.ru_stime) * 1e6), now.ru_maxrss)


class Exit:
    """exit() and quit() of a session: those of the site module would close stdin as well."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return 'Use %s() to end the cell; the session stays' % self.name

    def __call__(self, code=None):
        raise SystemExit(code)


def find_interactivity(session):
    """Which values a cell shows: get_ipython().ast_node_interactivity, or that which code has set
    in IPython's class."""
    module = sys.modules.get('IPython.core.interactiveshell')
    mode = getattr(module, 'InteractiveShell', Session).__dict__.get('ast_node_interactivity')
    return mode if isinstance(mode, str) else session.interactivity


def split_statements(body, shows_all, is_quiet):
    """Splits statements into pieces: (False, statements) and (True, [an expression to show])."""
    pieces = []
    for at, each in enumerate(body):
        is_shown = (not is_quiet and isinstance(each, ast.Expr) and
                    (shows_all or at == len(body) - 1))
        if is_shown or not pieces or pieces[-1][0]:
            pieces.append((is_shown, [each]))
        else:
            pieces[-1][1].append(each)
    return pieces


def assigned_value(statement):
    """An expression with the variable to which the statement assigns; in a list, which may be
    empty."""
    targets = getattr(statement, 'targets', [getattr(statement, 'target', None)])
    if len(targets) != 1 or not isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        return []
    if not isinstance(targets[0], ast.Name):
        return []
    value = ast.Expr(ast.Name(targets[0].id, ast.Load()))
    return [ast.fix_missing_locations(ast.copy_location(value, statement))]


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
    error.__traceback__ = begin = without_kernel(begin)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, begin
    try:
        whole = traceback.TracebackException(type(error), error, begin)
        whole.stack[:] = [frame for frame in whole.stack if frame.filename != '<belljar>']
        text = ''.join(whole.format())
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
