# python_notebook.py - IPython.display where IPython is not installed, and its functions where it
# is. Part of python.py, executed in a namespace of its own. part(), screen and display() are those
# of python.py.
import html
import os
import sys

__name__ = 'IPython.display'
ID_MAX = 32  # characters
MIME_OF = {'png': 'image/png', 'jpg': 'image/jpeg', 'jpeg': 'image/jpeg', 'gif': 'image/gif',
           'webp': 'image/webp', 'svg': 'image/svg+xml', 'wav': 'audio/wav', 'mp3': 'audio/mpeg',
           'ogg': 'audio/ogg', 'mp4': 'video/mp4', 'webm': 'video/webm', 'ogv': 'video/ogg'}

# --- functions ---


class DisplayHandle:
    """Names a display, so that it can be replaced."""

    def __init__(self, display_id=None):
        self.display_id = str(display_id or os.urandom(8).hex())[:ID_MAX]

    def __repr__(self):
        return '<DisplayHandle display_id=%s>' % self.display_id

    def display(self, value, **options):
        display(value, display_id=self.display_id, **options)

    def update(self, value, **options):
        update_display(value, display_id=self.display_id, **options)


def update_display(value, *, display_id, **options):
    options['update'] = True
    display(value, display_id=display_id, **options)


def clear_output(wait=False):
    """Removes what the cell has displayed and printed. With wait, the next output does so."""
    screen.out.clear(wait=wait)


def capture_output(stdout=True, stderr=True, display=True):
    """A context that keeps what the code in it prints and displays."""
    return part('MAGICS')['CaptureOutput'](stdout, stderr, display)


def publish_display_data(data, metadata=None, source=None, *, transient=None, **options):
    screen.out.clear_waiting()
    display(data, raw=True, display_id=(transient or {}).get('display_id'),
            update=options.get('update'))


def display_as(mime):
    def display_typed(*values, raw=False, metadata=None):
        for value in values:
            if raw:
                display({mime: value}, raw=True)
            else:
                display(value)
    return display_typed


# --- objects ---


class DisplayObject:
    """Text or bytes of a media type, given as such, as a file or as the address of either."""
    mime = 'text/plain'
    is_binary = False

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if isinstance(data, (os.PathLike,)):
            data = os.fspath(data)
        if isinstance(data, str) and url is None and filename is None:
            if data.startswith(('http://', 'https://')):
                url, data = data, None
            elif self.is_binary and len(data) < 4096 and os.path.isfile(data):
                filename, data = data, None
        self.data, self.url, self.metadata = data, url, metadata or {}
        self.filename = None if filename is None else os.fspath(filename)
        self.reload()

    def reload(self):
        if self.filename is not None:
            with open(self.filename, 'rb') as file:
                self.data = file.read()
            if not self.is_binary:
                self.data = self.data.decode()
        elif self.url is not None and self.data is None and not self.is_binary:
            import urllib.request
            with urllib.request.urlopen(self.url) as answer:
                self.data = answer.read().decode()

    def __repr__(self):
        return '<IPython.core.display.%s object>' % type(self).__name__

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime: self.data}


class TextDisplayObject(DisplayObject):
    pass


class Pretty(TextDisplayObject):
    def __repr__(self):
        return str(self.data)


class HTML(TextDisplayObject):
    mime = 'text/html'

    def _repr_html_(self):
        return self.data

    __html__ = _repr_html_


class Markdown(TextDisplayObject):
    mime = 'text/markdown'

    def _repr_markdown_(self):
        return self.data


class Latex(TextDisplayObject):
    mime = 'text/latex'

    def _repr_latex_(self):
        return self.data


class Math(TextDisplayObject):
    mime = 'text/latex'

    def _repr_latex_(self):
        return '$\\displaystyle %s$' % self.data.strip('$')

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime: self._repr_latex_()}


class SVG(DisplayObject):
    mime = 'image/svg+xml'

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        super().__init__(data, url, filename, metadata)
        if isinstance(self.data, bytes):
            self.data = self.data.decode()

    def _repr_svg_(self):
        return self.data


class JSON(DisplayObject):
    mime = 'application/json'

    def __init__(self, data=None, url=None, filename=None, expanded=False, metadata=None,
                 root='root', **options):
        super().__init__(data, url, filename, metadata)
        if isinstance(self.data, str):
            import json
            self.data = json.loads(self.data)

    def _repr_json_(self):
        return self.data


class GeoJSON(JSON):
    def __init__(self, *args, layer_options=None, url_template=None, **options):
        super().__init__(*args, **options)


class Javascript(TextDisplayObject):
    mime = 'application/javascript'

    def __init__(self, data=None, url=None, filename=None, lib=None, css=None):
        super().__init__(data, url, filename)

    def _repr_javascript_(self):
        return self.data


class Code(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, language=None):
        self.language = language
        super().__init__(data, url, filename)

    def __repr__(self):
        return self.data


class ProgressBar(DisplayObject):
    def __init__(self, total):
        super().__init__('')
        self.total, self.progress = total, 0

    def __repr__(self):
        return '[%d/%d]' % (self.progress, self.total)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {'text/plain': repr(self)}

    def __iter__(self):
        handle = DisplayHandle()
        for self.progress in range(self.total):
            yield self.progress
        self.progress = self.total
        handle.display(self)


class Media(DisplayObject):
    """Bytes: a file is named in the answer. An address is answered as HTML, as a browser needs
    it."""
    is_binary = True
    tag = '<img src="%s"/>'
    fallback = 'png'

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, width=None,
                 height=None, metadata=None, mimetype=None, **options):
        super().__init__(data, url, filename, metadata)
        self.width, self.height = width, height
        name = self.filename or self.url or ''
        format = format or os.path.splitext(name)[1][1:].lower() or self.guess()
        self.format, self.mime = format, mimetype or MIME_OF.get(format, MIME_OF[self.fallback])

    def guess(self):
        data = self.data if isinstance(self.data, bytes) else b''
        for format, magic in (('png', b'\x89PNG'), ('jpeg', b'\xff\xd8'), ('gif', b'GIF8'),
                              ('mp3', b'ID3'), ('wav', b'RIFF'), ('webm', b'\x1aE\xdf\xa3')):
            if data.startswith(magic):
                return format
        return self.fallback

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self.data is None:
            return {'text/html': self.tag % html.escape(self.url or '')}
        data = self.get_data()
        if self.mime == 'image/svg+xml' and isinstance(data, bytes):
            data = data.decode()
        return {self.mime: data}

    def get_data(self):
        """A text with a dot is no Base64: as in IPython, it is taken for the name of a file."""
        if isinstance(self.data, str) and self.mime != 'image/svg+xml' and '.' in self.data:
            raise FileNotFoundError('No such file or directory: %r' % self.data)
        return self.data


class Image(Media):
    def __init__(self, data=None, url=None, filename=None, format=None, *args, **options):
        if data is None and url is None and filename is None:
            raise ValueError('No image data found. Expecting filename, url, or data.')
        if format is not None and format.lower() not in MIME_OF:
            raise ValueError('Cannot embed the %r image format' % format)
        super().__init__(data, url, filename, format, *args, **options)

    def _repr_html_(self):
        if self.data is not None:
            return None
        size = ''.join(' %s="%d"' % each for each in (('width', self.width), ('height', self.height))
                       if each[1])
        return (self.tag % html.escape(self.url)).replace('/>', size + '/>')

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self.data is None:
            return {'text/html': self._repr_html_()}
        return super()._repr_mimebundle_(include, exclude)

    def _repr_png_(self):
        return self.get_data() if self.mime == 'image/png' else None

    def _repr_jpeg_(self):
        return self.get_data() if self.mime == 'image/jpeg' else None


class Video(Media):
    tag, fallback = '<video controls src="%s"></video>', 'mp4'

    def __init__(self, data=None, *args, **options):
        if isinstance(data, bytes) and not (options.get('embed') and options.get('mimetype')):
            raise ValueError('Video(bytes) needs embed=True and mimetype, such as "video/mp4"')
        super().__init__(data, *args, **options)


class Audio(Media):
    tag, fallback = '<audio controls src="%s"></audio>', 'wav'

    def __init__(self, data=None, filename=None, url=None, embed=None, rate=None, autoplay=False,
                 normalize=True, element_id=None):
        if data is not None and not isinstance(data, (str, bytes, os.PathLike)):
            data = encode_wave(data, rate, normalize)
        super().__init__(data, url, filename)


def encode_wave(samples, rate, normalize):
    """Samples between -1 and 1, of one channel or a list of channels, as a WAV file."""
    import array
    import io
    import wave
    if not rate:
        raise ValueError('rate must be specified when data is a numpy array or list of audio '
                         'samples.')
    samples = samples.tolist() if hasattr(samples, 'tolist') else list(samples)
    channels = samples if samples and isinstance(samples[0], (list, tuple)) else [samples]
    flat = [value for frame in zip(*channels) for value in frame]
    most = max(map(abs, flat), default=0) if normalize else 1
    data = array.array('h', [int(32767 * value / (most or 1)) for value in flat])
    if sys.byteorder == 'big':
        data.byteswap()
    file = io.BytesIO()
    with wave.open(file, 'wb') as out:
        out.setnchannels(len(channels))
        out.setsampwidth(2)
        out.setframerate(int(rate))
        out.writeframes(data.tobytes())
    return file.getvalue()


class IFrame:
    def __init__(self, src, width, height, extras=None, **options):
        self.src, self.width, self.height, self.params = src, width, height, options

    def _repr_html_(self):
        return '<iframe width="%s" height="%s" src="%s"></iframe>' % (
            self.width, self.height, html.escape(self.src))


class YouTubeVideo(IFrame):
    def __init__(self, id, width=400, height=300, **options):
        self.id = id
        super().__init__('https://www.youtube.com/embed/' + id, width, height, **options)


class FileLink:
    def __init__(self, path, **options):
        self.path = path

    def __repr__(self):
        return os.path.abspath(self.path)


class FileLinks(FileLink):
    def __repr__(self):
        return '\n'.join(os.path.join(root, name) for root, _, names in os.walk(self.path)
                         for name in sorted(names))


# --- modules ---

OBJECTS = (DisplayObject, TextDisplayObject, Pretty, HTML, Markdown, Latex, Math, SVG, JSON,
           GeoJSON, Javascript, Code, ProgressBar, Image, Video, Audio, IFrame, YouTubeVideo,
           FileLink, FileLinks)
TYPED = {'html': 'text/html', 'markdown': 'text/markdown', 'svg': 'image/svg+xml',
         'png': 'image/png', 'jpeg': 'image/jpeg', 'latex': 'text/latex',
         'json': 'application/json', 'javascript': 'application/javascript',
         'pretty': 'text/plain', 'pdf': 'application/pdf'}
FUNCTIONS = {'display': display, 'update_display': update_display, 'clear_output': clear_output,
             'publish_display_data': publish_display_data, 'DisplayHandle': DisplayHandle}


def ignore(*args, **options):
    pass


def fill_module(module):
    """Fills a module that takes the place of one of IPython's."""
    name = module.__name__
    if name in ('IPython.display', 'IPython.core.display', 'IPython.core.display_functions'):
        module.__dict__.update(FUNCTIONS)
        module.__dict__.update((each.__name__, each) for each in OBJECTS)
        module.__dict__.update(('display_' + kind, display_as(mime))
                               for kind, mime in TYPED.items())
        module.set_matplotlib_formats = module.set_matplotlib_close = ignore
        module.__all__ = [each for each in module.__dict__ if not each.startswith('_')]
    if name in ('IPython', 'IPython.core.getipython'):
        module.get_ipython = get_ipython
    if name == 'IPython.core.magic':
        part('EXTENSIONS')['change_module'](module)
    if name == 'IPython.core.interactiveshell':
        module.InteractiveShell = type('InteractiveShell', (), {})
    if name in ('IPython.utils.capture', 'IPython.utils.io'):
        module.capture_output = capture_output
    if name == 'IPython':
        module.display = __import__('importlib').import_module('IPython.display')
        module.__version__, module.version_info = '8.0.0', (8, 0, 0, '')


def bridge_module(module):
    """Makes functions of an IPython that is installed show values here: without a kernel of its
    own IPython only prints them."""
    for name, function in [*FUNCTIONS.items(), ('get_ipython', get_ipython),
                           ('capture_output', capture_output)]:
        if callable(getattr(module, name, None)):  # IPython.display is also a module
            setattr(module, name, function)
