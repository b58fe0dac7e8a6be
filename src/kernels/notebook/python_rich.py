# python_rich.py - rich display of values: pictures, tables, markup. Part of python.py, executed in
# a namespace of its own.
#
# `out` takes the display: out.emit(mime, text, path). Pictures are saved below out.home/.belljar,
# have at most out.pixels and out.bytes, and only their path is sent. No module is imported here
# that the user's code has not imported, except from the standard library. part() and pictures are
# those of python.py.
import sys

TEXT_MAX = 60 * 1024  # more than an answer has room for: the server cuts, and says so
MARKUP_MAX = 64 * 1024
SMALL_MAX = 1024  # characters of HTML or SVG that are answered as text; more goes to a file
FURTHER_MAX = 256  # the same of each form behind the first one


def show(value, out, pyplot):
    """Shows the forms that the value offers, else its repr(). A form that fails is passed over, and
    told if the value has no other."""
    failure = None
    for form in FORMS:
        try:
            if form(value, out, pyplot):
                if failure is not None and form in FORMS[-2:]:
                    emit_failure(out, failure)
                return
        except Exception as why:
            failure = why
    out.emit('text/plain', '<%s cannot be shown: %s: %s>' % (
        type(value).__name__, type(failure).__name__, shorten(safe_text(failure), 500)))


def emit_failure(out, why):
    out.emit('text/plain', '(it could not be shown otherwise: %s: %s)' % (
        type(why).__name__, shorten(safe_text(why), 500)))


def display(screen, values, raw=False, display_id=None, clear=False, update=False, **options):
    """Shows values; with raw=True each is a dictionary of media types. `screen` is the session or
    the fresh run. Returns a DisplayHandle if there is a display_id; with update the values replace
    those of that id."""
    handle = None
    if display_id is not None:
        handle = part('NOTEBOOK')['DisplayHandle'](None if display_id is True else display_id)
    if clear:
        screen.out.clear()
    elif update and handle and screen.captured is None:
        screen.out.clear(handle.display_id)
    if screen.captured is not None:
        screen.captured.extend(values)
        return handle
    screen.out.display_id = handle.display_id if handle else ''
    try:
        for value in values:
            if not raw:
                show(value, screen.out, pictures.pyplot)
            elif not isinstance(value, dict) or not emit_bundle(value, screen.out):
                screen.out.emit('text/plain', shorten(repr(value), TEXT_MAX))
    finally:
        screen.out.display_id = ''
    return handle


def safe_text(value):
    try:
        return str(value)
    except Exception:
        return '?'


def shorten(text, most):
    if len(text) <= most:
        return text
    return '%s... (%d more characters)' % (text[:most], len(text) - most)


def is_a(value, module, name):
    """Whether the value is an instance of a class whose module is already imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def find_method(value, name):
    """A method such as _repr_html_; None if the value has none, is a class, or is an object that
    has every attribute, such as a mock."""
    if isinstance(value, type):
        return None
    method = getattr(value, name, None)
    if not callable(method) or getattr(value, '_repr_belljar_probe_', None) is not None:
        return None
    return method


def without_metadata(result):
    return result[0] if isinstance(result, tuple) and result else result


# --- text ---


def show_table(value, out, pyplot):
    """A pandas table: text as repr() makes it, but with each row on one line; HTML is a file."""
    pandas = sys.modules.get('pandas')
    table = value.data if is_a(value, 'pandas.io.formats.style', 'Styler') else value
    if not is_a(table, 'pandas', 'DataFrame') or not hasattr(pandas, 'get_option'):
        return False
    option = pandas.get_option
    text = table.to_string(max_rows=option('display.max_rows') or 60,
                           min_rows=option('display.min_rows') or 10,
                           max_cols=option('display.max_columns') or 20,
                           max_colwidth=option('display.max_colwidth') or 50,
                           show_dimensions=option('display.show_dimensions'))
    out.emit('text/plain', shorten(text, TEXT_MAX))
    emit_page(value._repr_html_(), 'table', out)
    return True


def emit_page(html, stem, out):
    """Saves HTML and shows where. A model reads the text of a value, not its HTML."""
    path = save_file(out, stem, 'html', html.encode('utf-8', 'replace')) if html else None
    if path is not None:
        out.emit('text/html', '', path)
    return path is not None


def emit_svg(text, out):
    """Shows SVG once: as text if it is short, else as a file."""
    if not isinstance(text, str):
        return False
    data = text.encode('utf-8', 'replace')
    if len(data) > SMALL_MAX:
        return emit_picture(out, 'image/svg+xml', 'image', 'svg', data)
    out.emit('image/svg+xml', text)
    return True


def emit_text(mime, text, out, most=MARKUP_MAX):
    """Shows text of a media type, or saves it if it is longer than that."""
    if not isinstance(text, str):
        return False
    if len(text) > most:
        stem, extension = file_name(mime)
        return emit_picture(out, mime, stem, extension, text.encode('utf-8', 'replace'))
    out.emit(mime, text)
    return True


# --- media types ---

# Methods of values and the types they return, the best one first.
METHODS = (('_repr_mimebundle_', None), ('_repr_png_', 'image/png'), ('_repr_jpeg_', 'image/jpeg'),
           ('_repr_svg_', 'image/svg+xml'), ('_repr_html_', 'text/html'),
           ('_repr_markdown_', 'text/markdown'), ('_repr_latex_', 'text/latex'),
           ('_repr_json_', 'application/json'), ('_repr_javascript_', 'application/javascript'),
           ('_repr_pdf_', 'application/pdf'))
TYPES = [mime for _, mime in METHODS if mime]
EXTENSIONS = {'application/pdf': 'pdf', 'image/gif': 'gif', 'image/webp': 'webp',
              'audio/wav': 'wav', 'audio/mpeg': 'mp3', 'audio/ogg': 'ogg', 'video/mp4': 'mp4',
              'video/webm': 'webm', 'video/ogg': 'ogv'}
MARKUP = {'text/html': ('page', 'html'), 'text/markdown': ('text', 'md'),
          'text/latex': ('formula', 'tex'), 'application/javascript': ('script', 'js'),
          'text/plain': ('text', 'txt')}
WIDGET = 'application/vnd.jupyter.widget-view+json'  # names an object of a browser


def file_name(mime):
    """Stem and extension of a file with text of this type."""
    return MARKUP.get(mime) or ('data', 'json' if mime.endswith('json') else 'txt')


def decode_base64(data):
    if not isinstance(data, str):
        return data
    import binascii
    return binascii.a2b_base64(data)


def emit_form(mime, data, out, most=None):
    """Shows data of a media type; text of more than `most` characters as a file. False: the data
    is empty."""
    if data is None or mime not in EXTENSIONS and data in ('', b'', {}):
        return False
    if mime in ('image/png', 'image/jpeg'):
        return emit_bitmap(mime, decode_base64(data), out)
    if mime == 'image/svg+xml':
        return emit_svg(data, out)
    if mime in EXTENSIONS:
        return emit_picture(out, mime, mime.partition('/')[0], EXTENSIONS[mime],
                            decode_base64(data))
    if isinstance(data, bytes):
        try:
            data = data.decode()
        except UnicodeDecodeError:
            return emit_picture(out, mime, 'data', 'bin', data)
    if not isinstance(data, str):
        import json
        data = json.dumps(data, ensure_ascii=False, default=str)
    if most is None:
        is_for_browser = mime.startswith('application/vnd.') or mime in (
            'text/html', 'application/javascript')
        most = SMALL_MAX if is_for_browser else MARKUP_MAX
    return emit_text(mime, data, out, most)


def emit_bundle(bundle, out):
    """Shows all forms of a dictionary of media types: the text, if it says something, the best other
    form, and then those that add little, as files unless they are short."""
    text = bundle.get('text/plain')
    forms = [mime for mime in TYPES if mime in bundle]
    forms += [mime for mime in bundle if mime not in forms and mime not in ('text/plain', WIDGET)]
    is_shown = not is_default_repr(text) and emit_text(
        'text/plain', shorten(str(text), TEXT_MAX), out) if text is not None else False
    most, failure = FURTHER_MAX if is_shown else None, None
    for mime in forms:
        try:
            if emit_form(mime, bundle[mime], out, most):
                is_shown, most = True, FURTHER_MAX
        except Exception as why:
            failure = failure or why
    if WIDGET in bundle and not is_shown and text is None:
        text = 'a widget, which only a browser with Jupyter can show: print its value'
    if is_shown:
        return True
    is_shown = text is not None and emit_text('text/plain', str(text), out)
    if failure is not None:
        emit_failure(out, failure)
    return is_shown or failure is not None


def is_default_repr(text):
    first = text.partition('\n')[0] if isinstance(text, str) else ''
    return first.startswith('<') and first.endswith('>') and (
        ' object' in first or ' at 0x' in first)


def show_itself(value, out, pyplot):
    method = find_method(value, '_ipython_display_')
    if method is None:
        return False
    method()
    return True


def show_registered(value, out, pyplot):
    """Shows a value whose class has a function in get_ipython().display_formatter."""
    for mime in TYPES + ['text/plain']:
        function = find_printer(registered.get(mime), type(value))
        if function and emit_form(mime, call_printer(function, mime, value), out):
            return True
    return False


def find_printer(functions, kind):
    """The function for a class or one above it, which is registered as such or by its name."""
    for each in kind.__mro__ if functions else ():
        name = '%s.%s' % (each.__module__, each.__qualname__)
        if each in functions or name in functions:
            return functions.get(each) or functions[name]
    return None


def call_printer(function, mime, value):
    if mime != 'text/plain':
        return without_metadata(function(value))
    printer = Printer()
    function(value, printer, False)
    return ''.join(printer.parts)


class Printer:
    """What _repr_pretty_() gets: text without line breaks of its own."""

    def __init__(self):
        self.parts = []
        self.text = self.parts.append

    def pretty(self, value):
        method = find_method(value, '_repr_pretty_')
        if method:
            method(self, False)
        else:
            self.text(repr(value))

    def breakable(self, separator=' '):
        self.text(separator)

    def break_(self):
        self.text('\n')

    def group(self, indent=0, open='', close=''):
        import contextlib

        @contextlib.contextmanager
        def inside():
            self.text(open)
            yield
            self.text(close)
        return inside()

    def indent(self, count):
        return self.group()

    def begin_group(self, indent=0, open=''):
        self.text(open)

    def end_group(self, dedent=0, close=''):
        self.text(close)


registered = {}  # media type: {class: function}


def show_forms(value, out, pyplot):
    """Shows what the methods _repr_*_() and _repr_mimebundle_() of a value return."""
    forms, failure = {}, None
    for name, mime in METHODS:
        method = find_method(value, name)
        try:
            wanted = {'include': None, 'exclude': None} if mime is None else {}
            data = without_metadata(method(**wanted)) if method else None
            if mime is None:
                forms.update(data or {})
            elif data is not None:
                forms.setdefault(mime, data)
        except Exception as why:
            failure = failure or why
    if not forms:
        if failure:
            raise failure
        return False
    if 'text/plain' not in forms:
        forms['text/plain'] = pretty_text(value)
    return emit_bundle(forms, out)


def pretty_text(value):
    printer = Printer()
    try:
        printer.pretty(value)
        return ''.join(printer.parts)
    except Exception:
        return '<%s object>' % type(value).__name__


def show_pretty(value, out, pyplot):
    if find_method(value, '_repr_pretty_') is None:
        return False
    printer = Printer()
    printer.pretty(value)
    out.emit('text/plain', shorten(''.join(printer.parts), TEXT_MAX))
    return True


def show_drawing(value, out, pyplot):
    """A figure of plotly, altair or bokeh."""
    module = type(value).__module__.partition('.')[0]
    return module in ('plotly', 'altair', 'bokeh') and part('FIGURES')['show_' + module](
        value, out, emit_form, save_file)


def show_source(value, out, pyplot):
    """IPython's Code, Audio and Video, of which a page for a browser would be much longer."""
    kind, data = type(value), getattr(value, 'data', None)
    if not kind.__module__.startswith('IPython.'):
        return False
    if kind.__name__ == 'Code':
        return emit_text('text/plain', data, out)
    return (kind.__name__ in ('Audio', 'Video') and isinstance(data, bytes) and
            emit_form(getattr(value, 'mimetype', None) or value.mime, data, out))


def show_repr(value, out, pyplot):
    out.emit('text/plain', shorten(repr(value), TEXT_MAX))
    return True


FORMS = (show_registered, show_drawing, show_source, show_itself, show_figure, show_image,
         show_table, show_forms, show_pretty, show_repr)
