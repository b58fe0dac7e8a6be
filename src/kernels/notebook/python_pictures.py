# python_pictures.py - files below .belljar, and pictures that are made small enough for an answer. Part
# of python.py, executed in front of python_rich.py in the same namespace.
import io
import os
import sys

TRIES_MAX = 6  # scaling steps until a picture is small enough
NAMES_MAX = 10000  # file names that are tried for a picture


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


def emit_bitmap(mime, data, out):
    extension, count = {'image/png': ('png', png_pixels), 'image/jpeg': ('jpg', jpeg_pixels)}[mime]
    pixels = count(data) if isinstance(data, bytes) else None
    if pixels is None:
        raise ValueError('the data given as %s is no such picture' % mime)
    if len(data) <= out.bytes and pixels <= out.pixels:
        return emit_picture(out, mime, 'image', extension, data)
    path = save_file(out, 'image', extension, data)
    out.emit('text/plain', 'a picture of %d pixels and %d bytes, which is too large to be shown%s' % (
        pixels, len(data), ': ' + path if path else ''))
    return True
