# python_magics.py - get_ipython(): commands and magics. Part of python.py, executed in a namespace
# of its own. python_syntax.py translates IPython's syntax to calls of this object. Magics that are
# not here are in python_names.py, python_scripts.py and python_extensions.py.
#
# `kernel` runs code and shows values for the shell: kernel.namespace, kernel.run_text(text, names),
# kernel.display(value), kernel.captured.
import os
import re
import shlex
import subprocess
import sys

ACCEPTED = ('matplotlib', 'config', 'autosave', 'xmode', 'colors', 'automagic', 'autocall', 'gui',
            'autoawait', 'clear', 'doctest_mode', 'killbgscripts', 'pprint', 'rehashx')
PROGRAMS = {name: name for name in ('cat', 'cp', 'ls', 'mkdir', 'mv', 'rm', 'rmdir', 'man', 'conda',
                                    'mamba', 'uv')}
PROGRAMS.update(ll='ls -l', less='cat', more='cat', pycat='cat')
LATER = 'NAMES', 'SCRIPTS', 'EXTENSIONS'  # parts with further magics
INTERPRETERS = {'bash': ['bash'], 'sh': ['sh'], 'perl': ['perl'], 'ruby': ['ruby'],
                'python': [sys.executable], 'python3': [sys.executable]}
MARKUP = {'html': 'text/html', 'markdown': 'text/markdown', 'latex': 'text/latex',
          'svg': 'image/svg+xml'}
INSTEAD = {
    'debug': 'print(), or %tb for the traceback: nobody can type into a debugger',
    'pdb': 'print(), or %tb for the traceback: nobody can type into a debugger',
    'edit': '%%writefile FILE, or a tool that writes files',
    'load': '%run FILE, or print(open(FILE).read())',
    'macro': 'a function, or %rerun RANGE',
    'recall': '%rerun RANGE, or %history RANGE',
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


def find_locals(frame):
    """The variables of a function that runs a magic; None: a cell does."""
    return None if frame.f_code.co_name == '<module>' else dict(frame.f_locals)


class Shell:
    config = {}
    _locals = None
    kernel = None  # IPython's attribute: there is no ipykernel

    def __init__(self, kernel):
        self._kernel = kernel
        self._magics = {}
        self._directory = None  # before the last %cd
        self.user_ns = self.user_global_ns = kernel.namespace

        self.display_formatter = DisplayFormatter()
        self._stack = []  # of %pushd
        self._events = None

    execution_count = property(lambda self: self._kernel.number)

    @property
    def events(self):
        if self._events is None:
            self._events = part('EXTENSIONS')['Events'](self._kernel)
        return self._events

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
        self._locals = find_locals(sys._getframe(1))
        if name not in ('timeit', 'time', 'prun', 'pinfo', 'pinfo2'):
            line = self.var_expand(line)
        return function(line)

    def run_cell_magic(self, name, line, cell):
        function = self._find(name, '%%')
        self._locals = None
        return function(self.var_expand(line), cell)

    def magic(self, text):
        name, _, line = text.lstrip('%').partition(' ')
        return self.run_line_magic(name, line.strip())

    def register_magic_function(self, function, magic_kind='line', magic_name=None):
        kinds = {'line': ['%'], 'cell': ['%%'], 'line_cell': ['%', '%%']}[magic_kind]
        for kind in kinds:
            self._magics[kind, magic_name or function.__name__] = function

    def register_magics(self, *many):
        part('EXTENSIONS')['register_magics'](self, *many)

    def find_magic(self, name, kind):
        """The function of a magic; None: there is none."""
        prefix = 'line_' if kind == '%' else 'cell_'
        found = self._magics.get((kind, name)) or getattr(self, prefix + name, None)
        if found:
            return found
        if kind == '%' and name in ACCEPTED:
            return lambda line: None
        if kind == '%' and name in PROGRAMS:
            return lambda line: self._run_command(PROGRAMS[name] + ' ' + line)
        if kind == '%%' and name in INTERPRETERS:
            return lambda line, cell: part('SCRIPTS')['run_script'](
                self, INTERPRETERS[name], line, cell)
        if kind == '%%' and name in MARKUP:
            return lambda line, cell: self._kernel.display({MARKUP[name]: cell}, raw=True)
        for each in LATER:
            function = part(each).get(prefix + name)
            if function is not None:
                return lambda *args: function(self, *args)
        return None

    find_line_magic = lambda self, name: self.find_magic(name, '%')
    find_cell_magic = lambda self, name: self.find_magic(name, '%%')

    def _find(self, name, kind):
        found = self.find_magic(name, kind)
        if found is not None:
            return found
        other = {'%': '%%', '%%': '%'}[kind]
        if name not in INTERPRETERS and name not in MARKUP and self.find_magic(name, other):
            raise UsageError('%s%s does not exist: use %s%s' % (kind, name, other, name))
        raise UsageError('the magic %s%s is not available here: use %s' % (
            kind, name, INSTEAD.get(name, 'Python code, or !COMMAND for a program; %lsmagic lists '
                                    'the magics that there are')))

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

    def _set_interactivity(self, mode):
        self._kernel.interactivity = mode

    ast_node_interactivity = property(lambda self: self._kernel.interactivity, _set_interactivity)

    # --- directories, files, environment ---

    def line_pwd(self, line):
        return os.getcwd()

    def line_cd(self, line):
        is_quiet = line.split()[:1] == ['-q']
        to = line.strip()[2 * is_quiet:].strip(' "\'') or '~'
        if to == '-':
            to = self._directory or '.'
        try:
            before = os.getcwd()
        except FileNotFoundError: # it was removed: only %cd leads out of it
            before = None
        os.chdir(os.path.expanduser(to))
        self._directory = before
        if not is_quiet:
            print(os.getcwd())

    def line_pushd(self, line):
        self._stack.insert(0, os.getcwd())
        try:
            self.line_cd(line)
        except OSError:
            del self._stack[0]
            raise

    def line_popd(self, line):
        if not self._stack:
            raise UsageError('%popd: no directory is left of %pushd')
        self.line_cd(self._stack.pop(0))

    def line_dirs(self, line):
        return [os.getcwd()] + self._stack

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

    def line_set_env(self, line):
        if not re.search(r'[= ]', line):
            raise UsageError('%set_env needs a value: %set_env NAME=VALUE')
        self.line_env(line)

    def cell_writefile(self, line, cell):
        is_added = line.startswith(('-a ', '--append '))
        path = os.path.expanduser(line.partition(' ')[2] if is_added else line).strip(' "\'')
        if not path:
            raise UsageError('%%writefile needs the path of a file: %%writefile [-a] FILE')
        print('%s %s' % ('Appending to' if is_added else 'Overwriting' if os.path.exists(path)
                         else 'Writing', path))
        with open(path, 'a' if is_added else 'w', encoding='utf-8') as file:
            file.write(cell if cell[-1:] in ('', '\n') else cell + '\n')

    cell_file = cell_writefile

    def line_pip(self, line):
        """Runs pip; in a shell if the line has signs of a shell that no requirement has."""
        pip = [sys.executable, '-m', 'pip']
        if re.search(r'[|;&`$]|(^|\s)\d?[<>]', line):
            code = run_program(shell_arguments(' '.join(map(shlex.quote, pip)) + ' ' + line))
        else:
            code = run_program(pip + shlex.split(line))
        notice_packages()
        if code:
            raise subprocess.CalledProcessError(code, 'pip ' + line)

    # --- time ---

    def line_time(self, text):
        import resource
        import time
        usage = lambda: resource.getrusage(resource.RUSAGE_SELF)[:2]
        (user, system), begin = usage(), time.perf_counter()
        value = self._kernel.run_text(text, self._locals)
        wall, now = time.perf_counter() - begin, usage()
        user, system = now[0] - user, now[1] - system
        print('CPU times: user %s, sys: %s, total: %s\nWall time: %s' % tuple(
            map(format_time, (user, system, user + system, wall))))
        return value

    def cell_time(self, line, cell):
        return self.line_time(line + '\n' + cell)

    def line_timeit(self, line, cell=None):
        import timeit
        found = re.match(r'((?:-[nr]\s*\d+\s+|-[tcqo]+\s+|-p\s*\d+\s+)*)(.*)', line + ' ', re.S)
        flags, text = found.group(1), found.group(2).strip()
        take = lambda flag: int((re.findall(r'-%s\s*(\d+)' % flag, flags) or [0])[0])
        translate = part('SYNTAX')['translate_refused']
        timer = timeit.Timer(*map(translate, (cell, text) if cell else (text, 'pass')),
                             globals={**self.user_ns, **(self._locals or {}),
                                      'get_ipython': lambda: self})
        number, repeat = take('n') or timer.autorange()[0], take('r') or 7
        result = Timing([time / number for time in timer.repeat(repeat, number)], number)
        if not re.search('-[tco]*q', flags):
            print(result)
        return result if re.search('-[tcq]*o', flags) else None

    cell_timeit = line_timeit

    def line_prun(self, text):
        import cProfile
        import pstats
        profile = cProfile.Profile()
        try:
            return profile.runcall(self._kernel.run_text, text, self._locals)
        finally:
            pstats.Stats(profile).sort_stats('tottime').print_stats(30)

    def cell_prun(self, line, cell):
        return self.line_prun('\n' + cell)

    # --- output ---

    def cell_capture(self, line, cell):
        words = line.split()
        name = next((word for word in words if not word.startswith('-')), None)
        capture = CaptureOutput(*('--no-' + each not in words for each in (
            'stdout', 'stderr', 'display')))
        try:
            with capture as captured:
                value = self._kernel.run_text('\n' + cell)
                if value is not None:
                    self._kernel.display(value)
        finally:
            if name:
                self.user_ns[name] = captured

    def line_precision(self, line):
        """%precision 3, or a format such as %precision %.4g, or nothing: how floats are shown."""
        line = line.strip()
        if not line:
            self.display_formatter.formatters['text/plain'].pop(float, None)
            return '%r'
        form = '%%.%df' % int(line) if line.isdigit() else line
        form % 1.5  # a wrong format raises here
        self.display_formatter.formatters['text/plain'].for_type(
            float, lambda value, printer, cycle: printer.text(form % value))
        if line.isdigit() and 'numpy' in sys.modules:
            sys.modules['numpy'].set_printoptions(precision=int(line))
        return form

    def line_tb(self, line):
        if getattr(sys, 'last_value', None) is not None:
            import traceback
            whole = traceback.TracebackException(sys.last_type, sys.last_value, sys.last_traceback)
            whole.stack[:] = [frame for frame in whole.stack if frame.filename != '<belljar>']
            print(''.join(whole.format()), end='')

    # --- magics about magics and commands ---

    def line_lsmagic(self, line):
        places = [dir(self)] + [part(each) for each in LATER]
        names = lambda prefix: {name[5:] for place in places for name in place
                                if name.startswith(prefix)}
        own = lambda sign: {name for kind, name in self._magics if kind == sign}
        line = names('line_') | set(PROGRAMS) | set(ACCEPTED) | own('%')
        print('%' + ' %'.join(sorted(line)))
        cell = names('cell_') | set(INTERPRETERS) | set(MARKUP) | own('%%')
        print('%%' + ' %%'.join(sorted(cell)))

    def line_sx(self, line, cell=''):
        return self.getoutput(line + '\n' + cell if cell else line)

    line_system = cell_sx = cell_system = line_sx
