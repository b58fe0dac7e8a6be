# python_run.py - the process of a fresh run: compiles the code, and shows the value of its last
# expression. Part of python.py, executed in the same namespace, in the zygote or in a process that
# runs code once.
ONLY_AST, ALLOW_AWAIT = 0x400, 0x2000  # ast.PyCF_ONLY_AST, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
TREE_BYTES = 4096  # for longer code compile_text() is faster
NAMES_MAX, NAMES_BYTES = 200, 4096
IN_MEMORY = '/dev/shm/'


def prepare_process():
    """Removes what `python3 main.py` does not show its code. Python 3.13 and later import linecache
    for -c, to keep its lines; for a file they do not. Lines of output are written at once, in order
    with what other programs print."""
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    if sys.version_info >= (3, 13) and next(reversed(sys.modules)) == 'linecache':
        del sys.modules['linecache']
    sys.path_importer_cache.pop(home, None)
    order_streams(import_hidden('fcntl').ioctl, import_hidden('time').sleep)
    if hasattr(sys.stdout, 'reconfigure'):
        sys.stdout.reconfigure(line_buffering=True)


WARM_UP = "import a\ndef f(b, *c):\n    return [b for b in c if 'd' % b]\nf(1)\n"


def become_run(report, compile_short):
    """Waits for RUN. Returns the code to execute and its namespace. The report is told where the code
    is saved and which names it assigns."""
    kind, body = receive_frame()
    if kind != b'R':
        os._exit(1)
    run = Run(body)
    report.open()
    codes = None
    try:
        path = write_code(os.path.join(home, run.name), run.code, report)
        try:
            compile_code = compile_short if len(run.code) <= TREE_BYTES else compile_text
            codes, names = compile_code(run.code, path)
            report.tell_names(' '.join(names).encode()[:NAMES_BYTES])
        except Exception:
            pass  # the code is compiled again below
        set_data_limit(run.data_limit)
        add_user_site()
        apply_env(run.env)
        replace_stdin(run.stdin if run.has_stdin else None)
        if run.cwd:
            os.chdir(run.cwd)
    except (OSError, ValueError) as error:
        # SystemExit with a text prints it to stderr and exits with 1.
        raise SystemExit('belljar: cannot start: %s' % error) from None
    finally:
        report.close()
    sys.argv = [path] + run.args
    if hasattr(sys, 'orig_argv'):
        sys.orig_argv = sys.orig_argv[:1] + sys.argv
    namespace = new_main(path).__dict__
    watch_imports(FreshRun(run, path, report.displays(run, os.path.dirname(path))))
    _signal.signal(_signal.SIGINT, first_sigint)
    return [(code, namespace) for code in codes or compile_other(run.code, path)]


def compile_tree(code, path, flags=0):
    """Compiles a program in up to two pieces: the second one is the last expression, whose value is
    shown. Also returns the names that the program assigns. The module ast is not imported, because
    a bare interpreter has not imported it."""
    tree = compile(code, path, 'exec', flags | ONLY_AST, True)
    names = [name for statement in tree.body for name in assigned_names(statement)]
    last = None
    if (tree.body and type(tree.body[-1]).__name__ == 'Expr' and not ends_in_semicolon(code) and
            not is_write(tree.body[-1].value)):
        last = compile('0', path, 'eval', ONLY_AST, True)
        last.body = tree.body.pop().value
    codes = [compile(tree, path, 'exec', flags, True)] if tree.body or last is None else []
    if last is not None:
        codes.append(compile(last, path, 'eval', flags, True))
    return codes, names


def is_write(expression):
    """Whether the expression is a call such as sys.stdout.write(), whose value is useless."""
    node = getattr(expression, 'func', None)
    while hasattr(node, 'value'):
        node = node.value
    return hasattr(expression, 'func') and node is not expression.func and (
        getattr(node, 'id', '') == 'sys' and expression.func.attr == 'write')


def compile_text(code, path):
    """As compile_tree(), but searches the text for the last expression, because objects of a syntax
    tree take time. If the text in front of a line compiles, and the text from that line on is an
    expression, then so is the program's last statement."""
    text = code.decode()
    if any(c in text for c in ('\r', '\0', '\f', '\\\n')) or 'coding' in text[:500]:
        return compile_tree(code, path)
    last, lines = None, text.split('\n')
    for at in range(len(lines) - 1, max(len(lines) - 50, -1), -1):
        if not lines[at] or lines[at][0] in ' \t#)]}':
            continue
        if lines[at].startswith('sys.std'):
            break
        try:
            last = compile_plain('\n' * at + '\n'.join(lines[at:]), path, eval)
            codes = [compile_plain('\n'.join(lines[:at]) + '\n', path), last]
            break
        except SyntaxError:
            last = None
        if lines[at][0] not in '"\'':
            break
    if last is None and len(code) <= TREE_BYTES:
        return compile_tree(code, path)
    if last is None or ends_in_semicolon(text):
        codes = [compile(code, path, 'exec', 0, True)]
    return codes, stored_names(codes[0])


def compile_plain(text, path, execute=exec):
    """As compile(), whose first call makes the classes of syntax trees, for a tenth of Python's start,
    while exec() and eval() need none: a trace function takes their code before its first line runs.
    A warning is an error, because it would not name the path."""
    warnings, codes, tracer = sys.modules['_warnings'], [], sys.gettrace()
    if not hasattr(warnings, '_filters_mutated') or sys.version_info < (3, 8):
        return compile(text, path, execute.__name__, 0, True)

    def stop(frame, event, arg):
        codes.append(frame.f_code)
        raise EOFError

    warnings.filters.insert(0, ('error', None, Warning, None, 0))
    warnings._filters_mutated()
    sys.settrace(stop)
    try:
        execute(text, {})
    except EOFError:
        return rename_code(codes[0], path)
    finally:
        sys.settrace(tracer)
        del warnings.filters[0]
        warnings._filters_mutated()


def rename_code(code, path):
    consts = [rename_code(each, path) if type(each) is type(code) else each
              for each in code.co_consts]
    return code.replace(co_filename=path, co_consts=tuple(consts))


STORE_NAME = compile_plain('a=0', '').co_code[4 if sys.version_info >= (3, 11) else 2]


def stored_names(code):
    """The names that the code of a module assigns. An instruction has two bytes, and its argument
    more of them if there are more than 256 names."""
    used = {number for kind, number in zip(code.co_code[::2], code.co_code[1::2])
            if kind == STORE_NAME}
    return [name for number, name in enumerate(code.co_names[:NAMES_MAX])
            if number in used and len(code.co_names) <= 256]


def assigned_names(statement):
    if hasattr(statement, 'name'):
        yield statement.name
    for each in getattr(statement, 'names', ()):
        if hasattr(each, 'name'):
            yield each.asname or each.name.partition('.')[0]
    for target in getattr(statement, 'targets', ()) or [getattr(statement, 'target', None)]:
        for each in getattr(target, 'elts', [target]):
            if hasattr(each, 'id'):
                yield each.id


def ends_in_semicolon(code):
    """Whether the last line ends in a semicolon, perhaps with a comment behind it."""
    text = code if isinstance(code, str) else code.decode('utf-8', 'replace')
    line = text.rstrip().rpartition('\n')[2]
    if ';' not in line:
        return False
    if line.endswith(';'):
        return True
    before, sign, comment = line.rpartition('#')
    return bool(sign) and before.rstrip().endswith(';') and not set(comment) & set('\'"')


def compile_other(code, path):
    """Compiles what compile_tree() could not compile: a program that is nested too deeply for a
    tree, IPython's syntax, or await outside of a function. Otherwise raises Python's error."""
    try:
        return [compile(code, path, 'exec', 0, True)]
    except (SyntaxError, ValueError) as error:
        failure = error
    try:
        text = part('SYNTAX')['translate'](code.decode('utf-8-sig'))
        flags = ALLOW_AWAIT if 'await' in text or 'async' in text else 0
        codes = compile_tree(text, path, flags)[0]
        screen.is_async = bool(flags)
        return codes
    except (SyntaxError, ValueError):
        raise failure from None


def write_code(directory, code, report):
    """Saves the code in a new directory and returns its path. The server chooses a directory in
    memory (IN_MEMORY); if that has no room, or is missing in the image, the code goes to /tmp."""
    try:
        path = write_main(directory, code)
    except OSError:
        if not directory.startswith(IN_MEMORY):
            raise
        directory = '/tmp/' + directory[len(IN_MEMORY):]
        path = write_main(directory, code)
    report.tell_directory(directory)
    return path


def write_main(directory, code):
    os.mkdir(directory, 0o700)
    path = directory + '/main.py'
    try:
        write_file(path, code)
    except OSError:
        remove_main(directory)
        raise
    return path


def remove_main(directory):
    for remove, path in (os.unlink, directory + '/main.py'), (os.rmdir, directory):
        try:
            remove(path)
        except OSError:
            pass


def write_file(path, data):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        write_all(fd, data)
    finally:
        os.close(fd)


class FreshRun:
    """What shows the values of a fresh run, and runs code for magics."""
    captured = None
    interactivity = 'last_expr'
    number = 1
    is_async = False  # the code awaits outside of a function

    def __init__(self, run, path, out):
        self.out = out
        self.path, self.pid = path, os.getpid()
        self.inputs = ['', run.code.decode('utf-8', 'replace')]
        self.loop = None

    display = staticmethod(display)
    # Only __main__ refers to its namespace, or it would not be cleared when the interpreter exits.
    namespace = property(lambda self: sys.modules['__main__'].__dict__)

    def run_text(self, text, names=None):
        try:
            codes = compile_tree(text, self.path)[0]
        except SyntaxError:
            codes = compile_other(text.encode(), self.path)
        value = None
        for code in codes:
            value = self.run_coroutine(eval(code, self.namespace, names))
        return value

    def forget_outputs(self, *values):
        """A session keeps values, a fresh run has none."""

    def run_coroutine(self, value):
        if not self.is_async or type(value).__name__ != 'coroutine':
            return value
        if self.loop is None:
            import asyncio
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(value)


def end_code(value):
    """Shows the value of the last expression, which `python3 main.py` would drop. A forked child's
    is not shown."""
    value = screen.run_coroutine(value)
    if value is None or os.getpid() != screen.pid:
        return
    if sys.displayhook is sys.__displayhook__:
        show_value(value)
    else:
        sys.displayhook(value)
