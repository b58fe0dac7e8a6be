# python_rich.py - rich display of values: pictures, tables, markup. Part of python.py, executed in
# a namespace of its own.
#
# `out` takes the display: out.emit(mime, text, path). Pictures are saved below out.home/.belljar,
# have at most out.pixels and out.bytes, and only their path is sent. No module is imported here
# that the user's code has not imported, except from the standard library.
import io
import os
import sys

TEXT_MAX = 16 * 1024
MARKUP_MAX = 64 * 1024
SVG_MAX = 256 * 1024
TRIES_MAX = 6  # scaling steps until a picture is small enough
NAMES_MAX = 10000  # file names that are tried for a picture


def show(value, out, pyplot):
    """Shows the best form that the value offers and that is not too large, else its repr()."""
    for form in FORMS:
        try:
            if form(value, out, pyplot):
                return
        except Exception as why:
            out.emit('text/plain', '<%s cannot be shown: %s: %s>' % (
                type(value).__name__, type(why).__name__, shorten(safe_text(why), 500)))
            return


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


def call_repr_method(value, name):
    """The result of value._repr_x_(); None if the value has no such method."""
    if isinstance(value, type):
        return None
    method = getattr(value, name, None)
    if not callable(method):
        return None
    # Some objects, such as mocks, have every attribute.
    if getattr(value, '_repr_belljar_probe_', None) is not None:
        return None
    result = method()
    return result[0] if isinstance(result, tuple) and result else result


# --- files ---


def save_file(out, stem, extension, data):
    """Writes a new file below .belljar. Returns its path, or None."""
    directory = os.path.join(out.home, '.belljar')
    try:
        os.makedirs(directory, exist_ok=True)
        taken = [name[len(stem) + 1:].partition('.')[0] for name in os.listdir(directory)
                 if name.startswith(stem + '-')]
        first = max([int(n) for n in taken if n.isdigit() and len(n) < 9], default=0) + 1
    except OSError:
        return None
    for number in range(first, first + NAMES_MAX):
        path = os.path.join(directory, '%s-%d.%s' % (stem, number, extension))
        try:
            with open(path, 'xb') as file:
                file.write(data)
            return path
        except FileExistsError:
            continue
        except OSError:
            break
    else:
        return None
    try:
        os.unlink(path)
    except OSError:
        pass
    return None


def emit_picture(out, mime, stem, extension, data):
    path = save_file(out, stem, extension, data) if data is not None else None
    if path is not None:
        out.emit(mime, '', path)
    elif data is not None:
        out.emit('text/plain', 'a picture could not be saved below %s/.belljar: free disk space, '
                 'and make it a directory that can be written to' % out.home, '')
        return True
    return path is not None


# --- pictures ---


def png_pixels(data):
    if data[:8] != b'\x89PNG\r\n\x1a\n' or data[12:16] != b'IHDR':
        return None
    return int.from_bytes(data[16:20], 'big') * int.from_bytes(data[20:24], 'big')


def jpeg_pixels(data):
    at = 2
    while data[:2] == b'\xff\xd8' and data[at:at + 1] == b'\xff' and at + 9 <= len(data):
        marker = data[at + 1]
        if 0xc0 <= marker <= 0xcf and marker not in (0xc4, 0xc8, 0xcc):
            return (int.from_bytes(data[at + 5:at + 7], 'big') *
                    int.from_bytes(data[at + 7:at + 9], 'big'))
        at += 2 + int.from_bytes(data[at + 2:at + 4], 'big')
    return None


def fit_figure(figure, out):
    """The figure as PNG within the limits, with fewer dots per inch; None: it stays too large."""
    width, height = figure.get_size_inches()
    dpi = min(figure.dpi, (out.pixels / max(width * height, 1e-6)) ** 0.5)
    for _ in range(TRIES_MAX):
        data = print_figure(figure, dpi)
        pixels = png_pixels(data)
        if pixels <= out.pixels and len(data) <= out.bytes:
            return data
        over = max(pixels / out.pixels, len(data) / out.bytes)
        dpi *= min(0.9, 0.95 / over ** 0.5)
        if dpi < 5:
            break
    return None


def print_figure(figure, dpi):
    """The figure as PNG with everything outside of the axes; without, if that makes it too
    large."""
    for box in 'tight', None:
        data = io.BytesIO()
        try:
            figure.savefig(data, format='png', dpi=dpi, bbox_inches=box)
            return data.getvalue()
        except (ValueError, MemoryError):
            if box is None:
                raise


def show_figure(value, out, pyplot):
    if not is_a(value, 'matplotlib.figure', 'Figure'):
        return False
    try:
        return emit_picture(out, 'image/png', 'figure', 'png', fit_figure(value, out))
    finally:
        if pyplot is not None:
            pyplot.close(value)  # or it would be shown again when the cell ends


def show_open_figures(pyplot, out):
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        try:
            emit_picture(out, 'image/png', 'figure', 'png', fit_figure(figure, out))
        except Exception as why:
            print('figure %d cannot be shown: %s: %s' % (number, type(why).__name__, why),
                  file=sys.stderr)
        finally:
            pyplot.close(figure)


# Modes of PIL that cannot be scaled, and those that replace them.
SCALABLE = {'1': 'L', 'P': 'RGBA', 'I;16': 'I'}


def fit_image(image, out):
    """The image as PNG within the limits, with fewer pixels; None: it stays too large."""
    if image.mode not in ('1', 'L', 'LA', 'I', 'I;16', 'P', 'RGB', 'RGBA'):
        image = image.convert('RGB')
    scale = min(1, (out.pixels / max(image.width * image.height, 1)) ** 0.5)
    for _ in range(TRIES_MAX):
        smaller = image
        if scale < 1:
            smaller = image.convert(SCALABLE.get(image.mode, image.mode))
            smaller.thumbnail((max(1, int(image.width * scale)), max(1, int(image.height * scale))))
        data = io.BytesIO()
        smaller.save(data, 'PNG')
        size = len(data.getvalue())
        if size <= out.bytes:
            return data.getvalue()
        scale *= min(0.9, 0.95 * (out.bytes / size) ** 0.5)
    return None


def show_image(value, out, pyplot):
    return (is_a(value, 'PIL.Image', 'Image') and
            emit_picture(out, 'image/png', 'image', 'png', fit_image(value, out)))


def show_bitmap(value, out, pyplot):
    for name, mime, extension, count in (('_repr_png_', 'image/png', 'png', png_pixels),
                                         ('_repr_jpeg_', 'image/jpeg', 'jpg', jpeg_pixels)):
        data = call_repr_method(value, name)
        if isinstance(data, str):
            import binascii
            data = binascii.a2b_base64(data)
        if isinstance(data, bytes) and len(data) <= out.bytes:
            pixels = count(data)
            if pixels is not None and pixels <= out.pixels:
                return emit_picture(out, mime, 'image', extension, data)
    return False


# --- text ---


def show_table(value, out, pyplot):
    """A pandas table: text as repr() makes it, but with each row on one line, and HTML."""
    pandas = sys.modules.get('pandas')
    if not is_a(value, 'pandas', 'DataFrame') or not hasattr(pandas, 'get_option'):
        return False
    option = pandas.get_option
    text = value.to_string(max_rows=option('display.max_rows') or 60,
                           min_rows=option('display.min_rows') or 10,
                           max_cols=option('display.max_columns') or 20,
                           max_colwidth=option('display.max_colwidth') or 50,
                           show_dimensions=option('display.show_dimensions'))
    out.emit('text/plain', shorten(text, TEXT_MAX))
    html = value._repr_html_() or ''
    begin, end = html.find('<style'), html.find('</style>')
    if 0 <= begin < end:  # the style sheet is of no use to a model
        html = html[:begin] + html[end + len('</style>'):].lstrip()
    if html and len(html.encode('utf-8', 'replace')) <= MARKUP_MAX:
        out.emit('text/html', html)
    return True


def show_svg(value, out, pyplot):
    return emit_svg(call_repr_method(value, '_repr_svg_'), out)


def emit_svg(text, out):
    """Shows SVG as text if it is short, and as a file."""
    if not isinstance(text, str):
        return False
    data = text.encode('utf-8', 'replace')
    is_short = len(data) <= SVG_MAX
    if is_short:
        out.emit('image/svg+xml', text)
    return emit_picture(out, 'image/svg+xml', 'image', 'svg', data) or is_short


def emit_text(mime, text, out):
    if not isinstance(text, str) or len(text.encode('utf-8', 'replace')) > MARKUP_MAX:
        return False
    out.emit(mime, text)
    return True


def emit_json(value, out):
    import json
    return emit_text('application/json', json.dumps(value, ensure_ascii=False), out)


def show_markup(value, out, pyplot):
    for name, mime in (('_repr_html_', 'text/html'), ('_repr_markdown_', 'text/markdown'),
                       ('_repr_latex_', 'text/latex')):
        if emit_text(mime, call_repr_method(value, name), out):
            return True
    return False


def show_json(value, out, pyplot):
    data = call_repr_method(value, '_repr_json_')
    return data is not None and emit_json(data, out)


def show_bundle(value, out, pyplot):
    bundle = call_repr_method(value, '_repr_mimebundle_')
    if not isinstance(bundle, dict):
        return False
    for mime in 'text/html', 'text/markdown', 'text/latex', 'text/plain':
        if emit_text(mime, bundle.get(mime), out):
            return True
    if emit_svg(bundle.get('image/svg+xml'), out):
        return True
    return 'application/json' in bundle and emit_json(bundle['application/json'], out)


def show_repr(value, out, pyplot):
    out.emit('text/plain', shorten(repr(value), TEXT_MAX))
    return True


FORMS = (show_figure, show_image, show_bitmap, show_table, show_svg, show_markup, show_json,
         show_bundle, show_repr)
