# python_extensions.py - magics and events of the user: IPython.core.magic, %load_ext, %autoreload,
# get_ipython().events. Part of python.py, executed in a namespace of its own. `shell` is the Shell
# of python_magics.py.
import importlib
import sys

EVENTS = 'pre_execute', 'pre_run_cell', 'post_execute', 'post_run_cell'
MARK = '_belljar_magics'  # of a method: kinds and names of the magics that it is


# --- IPython.core.magic ---


class Magics:
    """The base of classes whose methods are magics."""

    def __init__(self, shell=None, **options):
        self.shell = shell


def magics_class(kind):
    return kind


def mark_method(kinds):
    """A decorator for methods of Magics: @line_magic or @line_magic('name')."""
    def mark(name):
        if callable(name):
            return mark(name.__name__)(name)

        def decorate(function):
            marks = [(kind, name) for kind in kinds]
            setattr(function, MARK, getattr(function, MARK, []) + marks)
            return function
        return decorate
    return mark


def register_function(kinds):
    """A decorator for functions: @register_line_magic or @register_line_magic('name')."""
    def register(name):
        if callable(name):
            return register(name.__name__)(name)

        def decorate(function):
            for kind in kinds:
                find_shell().register_magic_function(function, kind, name)
            return function
        return decorate
    return register


def find_shell():
    """The Shell also for code of modules, for which get_ipython() is None."""
    return eval('get_ipython()', screen.namespace)


KINDS = {'line': ['line'], 'cell': ['cell'], 'line_cell': ['line', 'cell']}
NAMES = {'Magics': Magics, 'magics_class': magics_class, 'no_var_expand': lambda function: function,
         'needs_local_scope': lambda function: function,
         'output_can_be_silenced': lambda function: function}
for kind, kinds in KINDS.items():
    NAMES[kind + '_magic'] = mark_method(kinds)
    NAMES['register_%s_magic' % kind] = register_function(kinds)


def change_module(module):
    """Gives IPython.core.magic, installed or not, functions that register magics here."""
    module.__dict__.update(NAMES)


def register_magics(shell, *many):
    for each in many:
        magics = each(shell) if isinstance(each, type) else each
        for name in dir(type(magics)):
            for kind, magic in getattr(getattr(type(magics), name, None), MARK, ()):
                shell.register_magic_function(getattr(magics, name), kind, magic)


def line_alias_magic(shell, line):
    """%alias_magic [--line] [--cell] NAME MAGIC: a further name of a magic."""
    words = [word for word in line.split() if not word.startswith('-')]
    if len(words) != 2:
        raise part('MAGICS')['UsageError']('%alias_magic needs two names: %alias_magic NAME MAGIC')
    wanted = [kind for kind in ('line', 'cell') if '--' + kind in line.split()] or ['line', 'cell']
    for kind in wanted:
        function = shell.find_magic(words[1].lstrip('%'), {'line': '%', 'cell': '%%'}[kind])
        if function is not None:
            shell.register_magic_function(function, kind, words[0].lstrip('%'))


# --- extensions ---


def line_load_ext(shell, line):
    name = line.strip()
    if name in ('autoreload', 'storemagic'):
        return
    module = importlib.import_module(name)
    load = getattr(module, 'load_ipython_extension', None)
    if load is None:
        raise part('MAGICS')['UsageError'](
            'the module %s is not an extension of IPython: import it and call its functions' % name)
    try:
        load(shell)
    except AttributeError as why:
        raise part('MAGICS')['UsageError'](
            'the extension %s needs more of IPython than there is here (%s): import its module and '
            'call its functions' % (name, why)) from None


line_reload_ext = line_load_ext


def line_unload_ext(shell, line):
    unload = getattr(sys.modules.get(line.strip()), 'unload_ipython_extension', None)
    if unload is not None:
        unload(shell)


# --- modules that changed ---


def line_autoreload(shell, line):
    """Lets each cell see changes in the modules of the user, unless the mode is 0."""
    times = {}
    is_off = line.strip() in ('0', 'off')
    shell._kernel.around_cell = None if is_off else lambda: reload_modules(shell, times)


def own_modules(shell):
    """Name and time of change of each module below the home directory of the kernel."""
    import os
    for name, module in list(sys.modules.items()):
        path = getattr(module, '__file__', None) or ''
        if path.startswith(shell._kernel.out.home + '/') and name != '__main__':
            try:
                yield name, os.stat(path).st_mtime_ns
            except OSError:
                pass


def reload_modules(shell, times):
    """Is called before each cell, and after it for the modules that the cell has imported."""
    for name, time in own_modules(shell):
        if times.setdefault(name, time) == time:
            continue
        times[name] = time
        module = importlib.reload(sys.modules[name])
        for key, value in list(shell.user_ns.items()):  # from module import function
            if getattr(value, '__module__', None) == name and value is not shell:
                own = getattr(value, '__name__', None)
                shell.user_ns[key] = getattr(module, own, value) if own else value


# --- events ---


class About:
    """What callbacks of a cell get."""

    def __init__(self, text):
        self.raw_cell, self.store_history, self.silent = text, True, False
        self.info, self.result, self.success = self, None, True
        self.error_in_exec = self.error_before_exec = None


class Events:
    """get_ipython().events: functions that the session calls before and after each cell."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.callbacks = {name: [] for name in EVENTS}

    def register(self, event, function):
        self.callbacks.setdefault(event, []).append(function)
        self.kernel.events = self

    def unregister(self, event, function):
        self.callbacks[event].remove(function)

    def trigger(self, event, *args):
        for function in list(self.callbacks.get(event, ())):
            try:
                function(*args)
            except Exception as why:
                print('the callback %r of %s failed: %s: %s' % (
                    getattr(function, '__name__', function), event, type(why).__name__, why),
                    file=sys.stderr)

    def tell(self, when, text):
        self.trigger(when + '_execute')
        self.trigger(when + '_run_cell', About(text))
