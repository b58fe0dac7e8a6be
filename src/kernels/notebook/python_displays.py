# python_displays.py - what the user's code shows: display(), get_ipython() and the values of last
# expressions, and the modules whose functions show values. A continuation of python.py, in the same
# namespace; the rest of displays is in parts, which are loaded when they are first used.

def display(*values, **options):
    """Shows each of the values as a picture, a table or text."""
    return part('RICH')['display'](screen, values, **options)


def get_ipython(shells=[]):
    """The object that runs magics, for the code of a cell. Modules get None, as they do outside of
    a notebook: they would ask for all that IPython has."""
    if sys._getframe(1).f_globals is not screen.namespace:
        return None
    if not shells:
        shells.append(part('MAGICS')['Shell'](screen))
    return shells[0]


PLAIN = {int, float, complex, str, bytes, bool, list, tuple, dict, set, frozenset, range}
PLAIN_MAX = 16 * 1024
SHOWN_MAX = 64  # values of one run or cell


# How the values of calls such as plt.plot() and df.plot() begin.
DRAWN = ('<matplotlib', '[<matplotlib', '([<matplotlib', '<Axes', 'array([<Axes', 'array([[<Axes',
         'Text(', '<BarContainer', '(<Figure')


def show_value(value):
    """Shows the value of a last expression. A short text of a plain type needs no other part, and
    a part of a figure that is about to be shown needs no text."""
    is_plain = type(value) in PLAIN
    figures = imports.pyplot.get_fignums() if imports.pyplot else ()
    if (is_plain or figures) and screen.captured is None:
        try:
            text = repr(value)
        except Exception:
            text = None
        if text is not None and figures and text.startswith(DRAWN):
            return
        if is_plain and text is not None and len(text) <= PLAIN_MAX:
            return screen.out.emit('text/plain', text)
    display(value)


def flush_streams():
    for stream in sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__:
        try:
            stream.flush()
        except Exception:
            pass


class Displays:
    """Takes what code displays; the base of what sessions and fresh runs have. A subclass sends the
    frames, and waits until the agent has them, so that output and displays come in order."""

    def __init__(self, pixels=0, bytes=0):
        self.home, self.pixels, self.bytes = home, pixels, bytes
        self.display_id = ''  # of the values that are being shown
        self.is_clear_due = False  # clear_output(wait=True) was called: the next display replaces all
        self.saved = []  # id and path of each file
        self.left = SHOWN_MAX

    def emit(self, mime, text='', path=''):
        self.clear_waiting()
        if path:
            self.saved.append((self.display_id, path))
        self.send_shown(mime, text, path, *filter(None, [self.display_id]))

    def clear(self, display_id='', wait=False):
        """Removes what was displayed and printed so far, or the display of that id. With wait, the
        server does so when it gets the next output or display."""
        self.is_clear_due = wait
        if not wait:
            self.remove_saved(display_id)
        self.send_clear(display_id, wait)

    def remove_saved(self, display_id):
        for each in self.saved[:]:
            if display_id in ('', each[0]):
                self.saved.remove(each)
                try:
                    os.unlink(each[1])
                except OSError:
                    pass

    def send_shown(self, *values):
        self.left -= 1
        if self.left < -1:
            return
        if self.left == -1:
            note = 'More values were left out: at most %d are shown.' % SHOWN_MAX
            values = 'text/plain', note, ''
        flush_streams()
        self.send(encode_frame(b'v', *values))

    def send_clear(self, display_id, wait):
        """Code may draw one thing after the other, so the limit counts anew."""
        self.left = self.left + 1 if display_id else SHOWN_MAX
        flush_streams()
        self.send(encode_frame(b'c', display_id, *['wait'] * wait))

    def clear_waiting(self):
        if self.is_clear_due:
            self.is_clear_due = False
            self.remove_saved('')


# --- modules that are changed when the user's code imports them ---

STAND_IN = ('IPython', 'IPython.core', 'IPython.utils', 'IPython.display', 'IPython.core.display',
            'IPython.core.display_functions', 'IPython.core.getipython', 'IPython.core.magic',
            'IPython.core.interactiveshell', 'IPython.utils.capture', 'IPython.utils.io')
# The function that gets the module, and its part.
WATCHED = {
    'matplotlib.pyplot': None,
    'threading': ('THREADS', 'watch_threads'),
    'multiprocessing.context': ('THREADS', 'write_whole_lines'),
    'IPython': ('NOTEBOOK', 'bridge_module'),
    'IPython.core.getipython': ('NOTEBOOK', 'bridge_module'),
    'IPython.display': ('NOTEBOOK', 'bridge_module'),
    'IPython.core.display': ('NOTEBOOK', 'bridge_module'),
    'IPython.core.display_functions': ('NOTEBOOK', 'bridge_module'),
    'IPython.core.magic': ('EXTENSIONS', 'change_module'),
    'IPython.utils.capture': ('NOTEBOOK', 'bridge_module'),
    'IPython.utils.io': ('NOTEBOOK', 'bridge_module'),
    'PIL.Image': ('FIGURES', 'replace_show'),
    'plotly.basedatatypes': ('FIGURES', 'replace_show'),
    'plotly.io': ('FIGURES', 'replace_show'),
    'altair.vegalite.v4.api': ('FIGURES', 'replace_show'),
    'altair.vegalite.v5.api': ('FIGURES', 'replace_show'),
    'altair.vegalite.v6.api': ('FIGURES', 'replace_show'),
    'bokeh.io.showing': ('FIGURES', 'replace_show'),
    'tqdm.notebook': ('FIGURES', 'replace_bar'),
    'sympy.interactive.printing': ('FIGURES', 'keep_displayhook'),
}


class ImportWatch:
    """An import hook: replaces functions of some modules, such as pyplot's show(), and makes the
    modules of IPython that display values where IPython is not installed."""

    def __init__(self, out):
        self.out = out
        self.pid = os.getpid()
        self.pyplot = None

    def find_spec(self, name, path=None, target=None):
        if name not in WATCHED and name not in STAND_IN:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, 'find_spec', None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                if name in WATCHED:
                    self.wrap_loader(spec.loader, name)
                return spec
        parent = sys.modules.get('IPython')
        if name == 'IPython' or parent and getattr(parent, '__loader__', 0) is self:
            return sys.modules['_frozen_importlib'].ModuleSpec(
                name, self, is_package=name in STAND_IN[:3])
        return None

    def wrap_loader(self, loader, name):
        def exec_module(module):
            del loader.exec_module
            loader.exec_module(module)
            self.change_module(name, module)

        try:
            if not isinstance(loader, type):
                loader.exec_module = exec_module
        except AttributeError:
            pass  # a loader whose attributes cannot be set: the module stays as it is

    def change_module(self, name, module):
        if WATCHED[name] is None:
            self.pyplot = module
            module.show = lambda *args, **options: self.show_open()
            return
        part_name, function = WATCHED[name]
        try:
            part(part_name)[function](module)
        except Exception:
            pass  # a version of the library that has no such function

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        part('NOTEBOOK')['fill_module'](module)

    def show_open(self):
        if self.pyplot is not None:
            part('RICH')['show_open_figures'](self.pyplot, self.out)


def watch_imports(user):
    """Prepares a process that runs code; `user` is its session or its fresh run."""
    global imports, screen
    screen, imports = user, ImportWatch(user.out)
    sys.meta_path.insert(0, imports)
    builtins = sys.modules['builtins']
    builtins.display, builtins.get_ipython = display, get_ipython
    os.register_at_fork(before=write_whole_lines)
