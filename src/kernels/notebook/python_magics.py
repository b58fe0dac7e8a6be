# python_magics.py - get_ipython(): commands and magics. Part of python.py, executed in a namespace
# of its own. python_syntax.py translates IPython's syntax to calls of this object.
#
# `kernel` runs code and shows values for the shell: kernel.namespace, kernel.run_text(text),
# kernel.display(value), kernel.captured.
import io
import os
import re
import shlex
import subprocess
import sys

ACCEPTED = ('matplotlib', 'config', 'autosave', 'xmode', 'colors', 'automagic', 'autocall', 'gui',
            'autoawait')
PROGRAMS = ('cat', 'cp', 'ls', 'mkdir', 'mv', 'rm', 'rmdir', 'conda', 'mamba', 'uv')
SCRIPTS = {'bash': ['bash'], 'sh': ['sh'], 'perl': ['perl'], 'ruby': ['ruby'],
           'python': [sys.executable], 'python3': [sys.executable]}
MARKUP = {'html': 'text/html', 'markdown': 'text/markdown', 'latex': 'text/latex',
          'svg': 'image/svg+xml'}
INSTEAD = {
    'debug': 'print(), or %tb for the traceback: nobody can type into a debugger',
    'pdb': 'print(), or %tb for the traceback: nobody can type into a debugger',
    'edit': '%%writefile FILE, or a tool that writes files',
    'load': '%run FILE, or print(open(FILE).read())',
    'prun': "import cProfile; cProfile.run('...', sort='cumulative')",
    'lprun': "import cProfile; cProfile.run('...', sort='cumulative')",
    'memit': 'import tracemalloc; tracemalloc.start(); ...; tracemalloc.get_traced_memory()',
    'mprun': 'import tracemalloc; tracemalloc.start(); ...; tracemalloc.get_traced_memory()',
    'store': 'pickle.dump(), to a file',
    'sql': 'the module sqlite3, or pandas.read_sql()',
    'javascript': 'a call with language "javascript"',
    'js': 'a call with language "javascript"',
    'R': 'a call with language "r"',
    'cython': 'a module built with `!cythonize -i FILE.pyx`',
    'pylab': 'import numpy as np; import matplotlib.pyplot as plt',
    'bg': 'threading.Thread(target=...).start()',
}
PIECE = re.compile(r'\$\$|\{\{|\}\}|\{[^{}]+\}|\$[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*')


class UsageError(Exception):
    __module__ = 'builtins'  # a traceback names it without a module


class Lines(list):
    """The lines that a command printed; .s and .n have them as one text."""
    l = list = property(lambda self: self)
    s = spstr = property(lambda self: ' '.join(self))
    n = nlstr = property(lambda self: '\n'.join(self))

    def grep(self, pattern):
        return Lines(line for line in self if re.search(pattern, line))


class Captured:
    """What %%capture has kept."""

    def __init__(self, stdout, stderr, outputs, kernel):
        self.stdout, self.stderr, self.outputs, self.kernel = stdout, stderr, outputs, kernel

    def __str__(self):
        return self.stdout

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for value in self.outputs:
            self.kernel.display(value)

    __call__ = show


def format_time(seconds):
    for unit, scale in (('s', 1), ('ms', 1e3), ('\xb5s', 1e6)):
        if seconds * scale >= 1:
            return '%.3g %s' % (seconds * scale, unit)
    return '%.3g ns' % (seconds * 1e9)


def write_captured(done):
    for stream, data in (sys.stdout, done.stdout), (sys.stderr, done.stderr):
        if data:
            stream.write(data.decode('utf-8', 'replace'))


def run_program(arguments, text=None):
    """Runs a program whose output comes in order with what the cell prints. Returns its exit
    code."""
    sys.stdout.flush()
    sys.stderr.flush()
    is_own = sys.stdout is sys.__stdout__ and sys.stderr is sys.__stderr__
    to = None if is_own else subprocess.PIPE
    done = subprocess.run(arguments, stdout=to, stderr=to,
                          **({} if text is None else {'input': text.encode()}))
    write_captured(done)
    return done.returncode


def shell_arguments(command):
    shell = '/bin/bash' if os.path.exists('/bin/bash') else '/bin/sh'
    return [shell, '-c', command]


def notice_packages():
    """Lets this process import what a program has just installed."""
    import importlib
    import site
    directory = site.getusersitepackages()
    if os.path.isdir(directory) and directory not in sys.path:
        site.addsitedir(directory)
    importlib.invalidate_caches()


class Formatter(dict):
    """The functions that a user has registered for a media type, by class."""

    def for_type(self, kind, function=None):
        before = self.get(kind)
        if function is not None:
            self[kind] = function
        return before

    type_printers = property(lambda self: self)


class DisplayFormatter:
    def __init__(self):
        rich = part('RICH')
        self.formatters = rich['registered']
        for mime in rich['TYPES'] + ['text/plain']:
            self.formatters[mime] = Formatter()


class Shell:
    config = {}
    kernel = None  # IPython's attribute: there is no ipykernel

    def __init__(self, kernel):
        self._kernel = kernel
        self._magics = {}
        self._directory = None  # before the last %cd
        self.user_ns = self.user_global_ns = kernel.namespace

        self.display_formatter = DisplayFormatter()

    execution_count = property(lambda self: self._kernel.number)

    # --- commands ---

    def var_expand(self, text, depth=1):
        """Replaces {expression} and $name by their values; what has none stays as it is."""
        frame = sys._getframe(depth + 1)
        names = dict(self.user_ns)
        if frame.f_code.co_name != '<module>':
            names.update(frame.f_locals)

        def replace(match):
            piece = match.group()
            if piece in ('$$', '{{', '}}'):
                return piece[0]
            name = piece[1:] if piece[0] == '$' else piece[1:-1]
            if piece[0] == '$' and name.partition('.')[0] not in names:
                return piece
            try:
                return str(eval(name, names))
            except Exception:
                return piece

        return PIECE.sub(replace, text) if '{' in text or '$' in text else text

    def system(self, command):
        self._run_command(self.var_expand(command))

    def _run_command(self, command):
        self.user_ns['_exit_code'] = run_program(shell_arguments(command))
        if 'pip' in command:
            notice_packages()

    system_raw = system_piped = system

    def getoutput(self, command, split=True):
        sys.stdout.flush()
        done = subprocess.run(shell_arguments(self.var_expand(command)), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.user_ns['_exit_code'] = done.returncode
        text = done.stdout.decode('utf-8', 'replace')
        return Lines(text.splitlines()) if split else text

    # --- magics ---

    def run_line_magic(self, name, line, _stack_depth=1):
        function = self._find(name, '%')
        if name not in ('timeit', 'time', 'pinfo', 'pinfo2'):
            line = self.var_expand(line)
        return function(line)

    def run_cell_magic(self, name, line, cell):
        function = self._find(name, '%%')
        return function(self.var_expand(line), cell)

    def magic(self, text):
        name, _, line = text.lstrip('%').partition(' ')
        return self.run_line_magic(name, line.strip())

    def register_magic_function(self, function, magic_kind='line', magic_name=None):
        self._magics[{'line': '%', 'cell': '%%'}[magic_kind], magic_name or function.__name__] = (
            function)

    def _find(self, name, kind):
        prefix = 'line_' if kind == '%' else 'cell_'
        found = self._magics.get((kind, name)) or getattr(self, prefix + name, None)
        if found:
            return found
        if kind == '%' and name in ACCEPTED:
            return lambda line: None
        if kind == '%' and name in PROGRAMS:
            return lambda line: self._run_command(name + ' ' + line)
        if kind == '%%' and name in SCRIPTS:
            return lambda line, cell: self._run_script(SCRIPTS[name] + shlex.split(line), cell)
        if kind == '%%' and name in MARKUP:
            return lambda line, cell: self._kernel.display({MARKUP[name]: cell}, raw=True)
        other = {'%': '%%', '%%': '%'}[kind]
        if getattr(self, ('cell_' if kind == '%' else 'line_') + name, None):
            raise UsageError('%s%s does not exist: use %s%s' % (kind, name, other, name))
        raise UsageError('the magic %s%s is not available here: use %s' % (
            kind, name, INSTEAD.get(name, 'Python code, or !COMMAND for a program; %lsmagic lists '
                                    'the magics that there are')))

    def _run_script(self, arguments, cell):
        code = run_program(arguments, cell)
        if code:
            raise subprocess.CalledProcessError(code, arguments)

    def cell_script(self, line, cell):
        self._run_script(shlex.split(line), cell)

    def run_cell(self, text, *args, **options):
        value = self._kernel.run_text(text)
        if value is not None:
            self._kernel.display(value)

    ex = run_cell

    def ev(self, text):
        return eval(text, self.user_ns)

    def _ignore(self, *args, **options):
        pass

    set_next_input = enable_gui = enable_matplotlib = _ignore

    # --- directories, files, environment ---

    def line_pwd(self, line):
        return os.getcwd()

    def line_cd(self, line):
        to = line.strip().strip('"\'') or '~'
        if to == '-':
            to = self._directory or os.getcwd()
        before = os.getcwd()
        os.chdir(os.path.expanduser(to))
        self._directory = before
        print(os.getcwd())

    def line_env(self, line):
        if not line:
            return dict(os.environ)
        name, sign, value = line.partition('=' if '=' in line else ' ')
        if not sign and line not in os.environ:
            raise UsageError('the environment has no variable %s' % line)
        if not sign:
            return os.environ[line]
        os.environ[name.strip()] = value.strip()
        print('env: %s=%s' % (name.strip(), value.strip()))

    line_set_env = line_env

    def cell_writefile(self, line, cell):
        is_added = line.startswith(('-a ', '--append '))
        path = os.path.expanduser(line.partition(' ')[2] if is_added else line).strip(' "\'')
        if not path:
            raise UsageError('%%writefile needs the path of a file: %%writefile [-a] FILE')
        print('%s %s' % ('Appending to' if is_added else 'Overwriting' if os.path.exists(path)
                         else 'Writing', path))
        with open(path, 'a' if is_added else 'w', encoding='utf-8') as file:
            file.write(cell)

    cell_file = cell_writefile

    def line_pip(self, line):
        code = run_program([sys.executable, '-m', 'pip'] + shlex.split(line))
        notice_packages()
        if code:
            raise subprocess.CalledProcessError(code, 'pip ' + line)

    def line_run(self, line):
        words = shlex.split(line)
        while words and words[0].startswith('-'):
            words.pop(0)
        if not words:
            raise UsageError('%run needs the path of a file: %run FILE [ARGUMENTS]')
        path = os.path.expanduser(words[0])
        with open(path, 'rb') as file:
            code = compile(file.read(), path, 'exec', 0, True)
        names = {'__name__': '__main__', '__file__': path, '__builtins__': __builtins__}
        before, sys.argv = sys.argv, words
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        try:
            exec(code, names)
        except SystemExit as end:
            if end.code not in (None, 0):
                print('%s exited with %s' % (path, end.code), file=sys.stderr)
        finally:
            sys.argv = before
            del sys.path[0]
        self.user_ns.update((name, value) for name, value in names.items()
                            if not name.startswith('__'))

    # --- extensions ---

    def line_load_ext(self, line):
        if line.strip() != 'autoreload':
            raise UsageError('the extension %s is not available here: import its module and call '
                             'its functions' % line.strip())

    line_reload_ext = line_load_ext

    def line_autoreload(self, line):
        """Lets each cell see changes in the modules of the user, unless the mode is 0."""
        self._times = {}
        self._kernel.around_cell = None if line.strip() == '0' else self._reload_modules

    def _modules(self):
        """Name and time of change of each module below the home directory of the kernel."""
        for name, module in list(sys.modules.items()):
            path = getattr(module, '__file__', None) or ''
            if path.startswith(self._kernel.out.home + '/') and name != '__main__':
                try:
                    yield name, os.stat(path).st_mtime_ns
                except OSError:
                    pass

    def _reload_modules(self):
        """Is called before each cell, and after it for the modules that the cell has imported."""
        import importlib
        for name, time in self._modules():
            if self._times.setdefault(name, time) == time:
                continue
            self._times[name] = time
            module = importlib.reload(sys.modules[name])
            for key, value in list(self.user_ns.items()):  # from module import function
                if getattr(value, '__module__', None) == name and not isinstance(value, Shell):
                    own = getattr(value, '__name__', None)
                    self.user_ns[key] = getattr(module, own, value) if own else value

    # --- time ---

    def line_time(self, text):
        import resource
        import time
        usage = lambda: resource.getrusage(resource.RUSAGE_SELF)[:2]
        (user, system), begin = usage(), time.perf_counter()
        value = self._kernel.run_text(text)
        wall, now = time.perf_counter() - begin, usage()
        user, system = now[0] - user, now[1] - system
        print('CPU times: user %s, sys: %s, total: %s\nWall time: %s' % tuple(
            map(format_time, (user, system, user + system, wall))))
        return value

    def cell_time(self, line, cell):
        return self.line_time(line + '\n' + cell)

    def line_timeit(self, line, cell=None):
        import timeit
        found = re.match(r'((?:-[nr]\s*\d+\s+|-[tcqo]\s+|-p\s*\d+\s+)*)(.*)', line + ' ', re.S)
        flags, text = found.group(1), found.group(2).strip()
        take = lambda flag: int((re.findall(r'-%s\s*(\d+)' % flag, flags) or [0])[0])
        timer = timeit.Timer(text if cell is None else cell, text if cell else 'pass',
                             globals=self.user_ns)
        number, repeat = take('n') or timer.autorange()[0], take('r') or 7
        times = [time / number for time in timer.repeat(repeat, number)]
        mean = sum(times) / len(times)
        spread = (sum((time - mean) ** 2 for time in times) / len(times)) ** 0.5
        print('%s \xb1 %s per loop (mean \xb1 std. dev. of %d runs, %s loop%s each)' % (
            format_time(mean), format_time(spread), repeat, format(number, ','),
            's' * (number != 1)))

    cell_timeit = line_timeit

    # --- output ---

    def cell_capture(self, line, cell):
        import contextlib
        words = line.split()
        out, err, shown = io.StringIO(), io.StringIO(), []
        kernel = self._kernel
        before, kernel.captured = kernel.captured, None if '--no-display' in words else shown
        try:
            with contextlib.ExitStack() as stack:
                if '--no-stdout' not in words:
                    stack.enter_context(contextlib.redirect_stdout(out))
                if '--no-stderr' not in words:
                    stack.enter_context(contextlib.redirect_stderr(err))
                value = kernel.run_text('\n' + cell)
                if value is not None:
                    kernel.display(value)
        finally:
            kernel.captured = before
            name = next((word for word in words if not word.startswith('-')), None)
            if name:
                self.user_ns[name] = Captured(out.getvalue(), err.getvalue(), shown, kernel)

    def line_tb(self, line):
        import traceback
        if getattr(sys, 'last_value', None) is not None:
            traceback.print_exception(sys.last_type, sys.last_value, sys.last_traceback,
                                      file=sys.stdout)

    def line_history(self, line):
        """%history [-n] [-l COUNT] [-g TEXT] [-f FILE]: the cells so far."""
        words = shlex.split(line)
        take = lambda flag: words[words.index(flag) + 1] if flag in words[:-1] else None
        cells = list(enumerate(self._kernel.inputs))[1:]
        if take('-g'):
            cells = [each for each in cells if take('-g').strip('*') in each[1]]
        if take('-l'):
            cells = cells[-int(take('-l')):]
        text = '\n'.join('%4d: %s' % each if '-n' in words else each[1] for each in cells)
        path = take('-f')
        if not path:
            return print(text)
        with open(os.path.expanduser(path), 'w', encoding='utf-8') as file:
            file.write(text + '\n')

    line_hist = line_history

    # --- names ---

    def line_who_ls(self, line):
        kinds = line.split()
        return sorted(name for name, value in self.user_ns.items() if not name.startswith('_') and (
            not kinds or type(value).__name__ in kinds))

    def line_who(self, line):
        print('\t'.join(self.line_who_ls(line)) or 'Interactive namespace is empty.')

    def line_whos(self, line):
        print('%-20s %-15s %s' % ('Variable', 'Type', 'Data/Info'))
        for name in self.line_who_ls(line):
            value = self.user_ns[name]
            try:
                text = ' '.join(repr(value).split())
            except Exception as why:
                text = '<%s>' % type(why).__name__
            shape = getattr(value, 'shape', None)
            text = 'shape %s' % (shape,) if isinstance(shape, tuple) else text[:60]
            print('%-20s %-15s %s' % (name, type(value).__name__, text))

    def line_reset(self, line):
        for name in self.line_who_ls(''):
            del self.user_ns[name]

    def line_lsmagic(self, line):
        names = lambda prefix: {name[5:] for name in dir(self) if name.startswith(prefix)}
        line = names('line_') | set(PROGRAMS) | set(ACCEPTED)
        print('%' + ' %'.join(sorted(line)))
        print('%%' + ' %%'.join(sorted(names('cell_') | set(SCRIPTS) | set(MARKUP))))

    def line_pinfo(self, name, with_source=False):
        import inspect
        if name.startswith('%'):
            return print('%s is a magic; %%lsmagic lists all' % name)
        try:
            value = eval(name, self.user_ns)
        except Exception:
            return print('Object `%s` not found.' % name)
        about = []
        if callable(value):
            try:
                about.append('Signature: %s%s' % (name, inspect.signature(value)))
            except (TypeError, ValueError):
                pass
        about.append('Type: %s' % type(value).__name__)
        if not callable(value) and not inspect.ismodule(value):
            about.append('Value: %s' % repr(value)[:2000])
        try:
            about.append('File: %s' % inspect.getfile(value))
        except (TypeError, OSError):
            pass
        source = ''
        try:
            source = inspect.getsource(value) if with_source else ''
        except (TypeError, OSError):
            pass
        about.append('Source:\n' + source if source else
                     'Docstring:\n%s' % (inspect.getdoc(value) or '<no docstring>'))
        print('\n'.join(about))

    def line_pinfo2(self, name):
        self.line_pinfo(name, True)

    line_pdoc, line_psource = line_pinfo, line_pinfo2

    def line_sx(self, line):
        return self.getoutput(line)

    line_system = line_sx
