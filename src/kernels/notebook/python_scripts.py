# python_scripts.py - magics that run files, scripts and earlier cells: %run, %%bash and its like,
# %history, %save, %rerun. Part of python.py, executed in a namespace of its own. A function
# line_NAME(shell, line) or cell_NAME(shell, line, cell) is the magic NAME; `shell` is the Shell of
# python_magics.py.
import getopt
import os
import re
import shlex
import subprocess
import sys

RANGE = re.compile(r'(\d+)(?:-(\d+)|:(\d+))?')


def usage_error(text):
    return part('MAGICS')['UsageError'](text)


def parse_options(line, letters):
    """The options in front of the words of a line, by letter, and the words."""
    try:
        found, words = getopt.gnu_getopt(shlex.split(line), letters)
    except (getopt.GetoptError, ValueError) as why:
        raise usage_error(str(why)) from None
    return {name[1:]: value for name, value in found}, words


# --- scripts ---


def run_script(shell, arguments, line, cell):
    """%%bash and its like: --out NAME, --err NAME, --bg, --proc NAME and --no-raise-error are
    options of the magic, the rest of the line is for the program."""
    words, names, arguments = shlex.split(line), {}, arguments[:]
    while words:
        word = words.pop(0)
        is_named = word in ('--out', '--err', '--proc')
        if is_named and not words:
            raise usage_error('%s needs the name of a variable' % word)
        if is_named or word in ('--bg', '--no-raise-error', '--raise-error'):
            names[word] = words.pop(0) if is_named else ''
        else:
            arguments.append(word)
    if not arguments:
        raise usage_error('%%script needs a program: %%script PROGRAM [ARGUMENTS]')
    if '--bg' in names:
        return start_script(shell, arguments, names, cell)
    if '--out' in names or '--err' in names:
        code = capture_script(shell, arguments, names, cell)
    else:
        code = part('MAGICS')['run_program'](arguments, cell)
    if code and '--no-raise-error' not in names:
        raise subprocess.CalledProcessError(code, arguments)


def capture_script(shell, arguments, names, cell):
    done = subprocess.run(arguments, input=cell.encode(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    for option, stream, data in (('--out', sys.stdout, done.stdout),
                                 ('--err', sys.stderr, done.stderr)):
        text = data.decode('utf-8', 'replace')
        if option in names:
            shell.user_ns[names[option]] = text
        else:
            stream.write(text)
    return done.returncode


def start_script(shell, arguments, names, cell):
    """Starts a script that goes on behind the cell. Its outputs are files of the process."""
    pipe = lambda option: subprocess.PIPE if option in names else None
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=pipe('--out'),
                               stderr=pipe('--err'))
    process.stdin.write(cell.encode())
    process.stdin.close()
    for option, value in (('--out', process.stdout), ('--err', process.stderr),
                          ('--proc', process)):
        if option in names:
            shell.user_ns[names[option]] = value


def cell_script(shell, line, cell):
    run_script(shell, [], line, cell)


# --- files ---


def line_run(shell, line):
    """%run [-i] [-n] FILE [ARGUMENTS], or %run [-i] [-n] -m MODULE [ARGUMENTS]. With -i the file
    has the variables of the cells, with -n its name is not __main__."""
    words, flags = shlex.split(line), set()
    while words and words[0].startswith('-') and words[0] != '-m':
        flags.add(words.pop(0))
    if words[:1] == ['-m'] and len(words) > 1:
        path = find_module(words[1])
        words = [path] + words[2:]
    if not words or words == ['-m']:
        raise usage_error('%run needs the path of a file: %run [-i] FILE [ARGUMENTS]')
    path = words[0] = os.path.expanduser(words[0])
    if not os.path.exists(path) and os.path.exists(path + '.py'):
        path = words[0] = path + '.py'
    name = '__main__' if '-n' not in flags else os.path.splitext(os.path.basename(path))[0]
    before, sys.argv = sys.argv, words
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        run_file(shell, path, name, '-i' in flags)
    except SystemExit as end:
        if end.code not in (None, 0):
            print('%s exited with %s' % (path, end.code), file=sys.stderr)
    finally:
        sys.argv = before
        del sys.path[0]


def find_module(name):
    import importlib.util
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations:
        spec = importlib.util.find_spec(name + '.__main__')
    if spec is None or not spec.has_location:
        raise ModuleNotFoundError('No module named %r that can be run' % name)
    return spec.origin


def run_file(shell, path, name, is_shared):
    with open(path, 'rb') as file:
        data = file.read()
    if path.endswith('.ipynb'):
        return run_notebook(shell, data)
    if path.endswith('.ipy'):
        return shell.run_cell(data.decode())
    code = compile(data, path, 'exec', 0, True)
    names = {} if not is_shared else shell.user_ns
    kept = {each: names.get(each) for each in ('__name__', '__file__')}
    names.update(__name__=name, __file__=path, __builtins__=__builtins__)
    try:
        exec(code, names)
    finally:
        if is_shared:
            names.update(kept)
        shell.user_ns.update((each, value) for each, value in list(names.items())
                             if not each.startswith('__'))


def run_notebook(shell, data):
    import json
    for cell in json.loads(data.decode())['cells']:
        if cell.get('cell_type') == 'code':
            shell.run_cell(''.join(cell['source']))


# --- earlier cells ---


def find_cells(shell, words):
    """Number and text of cells: of `3`, `1-4` and `1:5` among the words, else of all."""
    cells = list(enumerate(shell._kernel.inputs))[1:]
    found = [match for match in map(RANGE.fullmatch, words) if match]
    if not found:
        return cells
    wanted = []
    for match in found:
        first = int(match.group(1))
        last = int(match.group(2) or int(match.group(3) or first + 1) - 1)
        wanted += [each for each in cells if first <= each[0] <= last]
    return wanted


def line_history(shell, line):
    """%history [-n] [-o] [-p] [-l COUNT] [-g TEXT] [-f FILE] [RANGE ...]: the cells so far."""
    options, words = parse_options(line, 'noprtuf:g:l:')
    cells = find_cells(shell, words)
    if 'g' in options:
        cells = [each for each in cells if options['g'].strip('*') in each[1]]
    if 'l' in options:
        cells = cells[-int(options['l']):]
    lines = []
    for number, text in cells:
        if 'p' in options:
            text = '>>> ' + text.replace('\n', '\n... ')
        lines.append('%4d: %s' % (number, text) if 'n' in options else text)
        if 'o' in options and number in shell.user_ns.get('Out', {}):
            lines.append(repr(shell.user_ns['Out'][number]))
    write_lines('\n'.join(lines), options.get('f'), 'w')


line_hist = line_history


def write_lines(text, path, mode):
    if path is None:
        return print(text)
    with open(os.path.expanduser(path), mode, encoding='utf-8') as file:
        file.write(text + '\n')


def line_save(shell, line):
    """%save [-a] FILE [RANGE ...]: writes cells to a file; -a adds to it."""
    options, words = parse_options(line, 'arf')
    if not words:
        raise usage_error('%save needs the path of a file: %save [-a] FILE [RANGE ...]')
    path = words[0] if words[0].endswith(('.py', '.ipy')) else words[0] + '.py'
    # The cell with %save itself is left out.
    cells = [text for number, text in find_cells(shell, words[1:])
             if number != shell.execution_count]
    write_lines('\n'.join(cells), path, 'a' if 'a' in options else 'w')
    print('%d cells were written to %s' % (len(cells), path))


def line_rerun(shell, line):
    """%rerun [RANGE ...]: runs cells again; without a range, the last one."""
    cells = [each for each in find_cells(shell, line.split()) if each[0] != shell.execution_count]
    for _, text in cells if RANGE.search(line) else cells[-1:]:
        shell.run_cell(text)
