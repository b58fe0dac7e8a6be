# python_names.py - magics about variables and objects: %who, %reset, name? and their like. Part of
# python.py, executed in a namespace of its own. A function line_NAME(shell, line) is the magic
# NAME; `shell` is the Shell of python_magics.py.
import re
import sys


def usage_error(text):
    return part('MAGICS')['UsageError'](text)


def line_who_ls(shell, line):
    kinds = line.split()
    return sorted(name for name, value in shell.user_ns.items() if not name.startswith('_') and (
        not kinds or type(value).__name__ in kinds))


def line_who(shell, line):
    print('\t'.join(line_who_ls(shell, line)) or 'Interactive namespace is empty.')


def line_whos(shell, line):
    print('%-20s %-15s %s' % ('Variable', 'Type', 'Data/Info'))
    for name in line_who_ls(shell, line):
        value = shell.user_ns[name]
        try:
            text = ' '.join(repr(value).split())
        except Exception as why:
            text = '<%s>' % type(why).__name__
        shape = getattr(value, 'shape', None)
        text = 'shape %s' % (shape,) if isinstance(shape, tuple) else text[:60]
        print('%-20s %-15s %s' % (name, type(value).__name__, text))


def line_reset(shell, line):
    """%reset: all variables; %reset in, out, dhist, array: only these."""
    wanted = [word for word in line.split() if not word.startswith('-')]
    other = set(wanted) - {'in', 'out', 'dhist', 'array'}
    if other:
        raise usage_error('%%reset: what is %r? There are: in, out, dhist, array' % other.pop())
    if 'out' in wanted or not wanted:
        shell._kernel.forget_outputs()
    if 'in' in wanted:
        shell._kernel.inputs[:-1] = [''] * (len(shell._kernel.inputs) - 1)
    if 'dhist' in wanted:
        shell._stack, shell._directory = [], None
    array = getattr(sys.modules.get('numpy'), 'ndarray', ())
    for name in line_who_ls(shell, ''):
        if not wanted or 'array' in wanted and isinstance(shell.user_ns[name], array):
            del shell.user_ns[name]


def line_reset_selective(shell, line):
    pattern = ' '.join(word for word in line.split() if not word.startswith('-'))
    for name in line_who_ls(shell, ''):
        if re.search(pattern, name):
            del shell.user_ns[name]


def line_xdel(shell, line):
    value = shell.user_ns.pop(line.split()[-1])
    shell._kernel.forget_outputs(value)


def line_pinfo(shell, name, with_source=False):
    import inspect
    if name.startswith('%'):
        return print('%s is a magic; %%lsmagic lists all' % name)
    if '*' in name:
        return print_matches(shell, name)
    try:
        value = eval(name, shell.user_ns)
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
        source = class_source(value)
    about.append('Source:\n' + source if source else
                 'Docstring:\n%s' % (inspect.getdoc(value) or '<no docstring>'))
    print('\n'.join(about))


def class_source(value):
    """The source of a class that a cell has defined: the module of cells has no file in which
    `inspect` could look. The newest cell is searched first."""
    import ast
    import linecache
    if not isinstance(value, type) or value.__module__ != '__main__':
        return ''
    for name, entry in reversed(list(linecache.cache.items())):
        if not name.startswith('<cell ') or len(entry) < 3:
            continue
        try:
            tree = ast.parse(''.join(entry[2]))
        except SyntaxError:
            continue  # a cell with magics
        for node in reversed(tree.body):
            if isinstance(node, ast.ClassDef) and node.name == value.__qualname__:
                first = min([node.lineno] + [each.lineno for each in node.decorator_list])
                return ''.join(entry[2][first - 1:getattr(node, 'end_lineno', first)])
    return ''


def line_pinfo2(shell, name):
    line_pinfo(shell, name, True)


line_pdoc = line_pdef = line_psearch = line_pinfo
line_psource = line_pfile = line_pinfo2


def print_matches(shell, pattern):
    """The names that match a pattern such as dict.fr*."""
    import builtins
    import fnmatch
    path, _, last = pattern.rpartition('.')
    try:
        names = dir(eval(path, shell.user_ns)) if path else {*shell.user_ns, *dir(builtins)}
    except Exception:
        names = ()
    found = sorted(fnmatch.filter(names, last))
    if not last.startswith('_'):
        found = [name for name in found if not name.startswith('_')]
    prefix = path + '.' if path else ''
    print('\n'.join(prefix + name for name in found) or 'No name matches %s.' % pattern)
