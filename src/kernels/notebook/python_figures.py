# python_figures.py - figures of plotly, altair and bokeh, PIL's Image.show(), bars of tqdm. Part of
# python.py, executed in a namespace of its own. display() is that of python.py.
#
# A picture needs a renderer, which these libraries take from another package. Where there is none,
# the figure is saved as a page for a browser, and the answer says which package is missing.
import io


def show_picture_or_page(out, make_picture, make_page, what, missing, emit_form, save_file):
    why = ''
    try:
        if emit_form('image/png', make_picture(), out):
            return True
        why = 'the picture is too large'
    except Exception as error:
        why = '%s: %s' % (type(error).__name__, str(error).strip().partition('\n')[0][:200])
    path = save_file(out, 'figure', 'html', make_page().encode('utf-8', 'replace'))
    out.emit('text/plain', 'a figure of %s%s, not a picture (%s): %s' % (
        what, ', saved as a page for a browser' if path else '', why, missing))
    if path:
        out.emit('text/html', '', path)
    return True


def show_plotly(figure, out, emit_form, save_file):
    if not hasattr(figure, 'to_image'):
        return False
    return show_picture_or_page(
        out, lambda: figure.to_image(format='png'),
        lambda: figure.to_html(include_plotlyjs='cdn'), 'plotly',
        '`pip install kaleido` lets plotly draw pictures', emit_form, save_file)


def show_altair(chart, out, emit_form, save_file):
    if not hasattr(chart, 'to_html'):
        return False

    def make_picture():
        data = io.BytesIO()
        chart.save(data, format='png')
        return data.getvalue()

    return show_picture_or_page(
        out, make_picture, chart.to_html, 'altair',
        '`pip install vl-convert-python` lets altair draw pictures', emit_form, save_file)


def show_bokeh(model, out, emit_form, save_file):
    import sys
    if not isinstance(model, sys.modules['bokeh.model'].Model):
        return False

    def make_picture():
        from bokeh.io.export import get_screenshot_as_png
        data = io.BytesIO()
        get_screenshot_as_png(model).save(data, 'PNG')
        return data.getvalue()

    def make_page():
        from bokeh.embed import file_html
        from bokeh.resources import CDN
        return file_html(model, CDN, 'figure')

    return show_picture_or_page(
        out, make_picture, make_page, 'bokeh',
        'bokeh draws pictures with `pip install selenium` and a browser; matplotlib needs neither',
        emit_form, save_file)


# --- functions that would open a window or a browser ---


def show_instead(self, *args, **options):
    display(self)


def replace_show(module):
    name = module.__name__
    if name == 'PIL.Image':
        module.Image.show = show_instead
    elif name == 'plotly.basedatatypes':
        module.BaseFigure.show = show_instead
    elif name == 'plotly.io':
        module.show = show_instead
    elif name.startswith('altair.'):
        module.TopLevelMixin.show = show_instead
    elif name == 'bokeh.io.showing':
        module.show = show_instead


def replace_bar(module):
    """Progress bars of tqdm.notebook need a browser; those of tqdm are text."""
    from tqdm import std
    module.tqdm = module.tqdm_notebook = std.tqdm
    module.trange = module.tnrange = std.trange


def keep_displayhook(module):
    """sympy.init_printing() would replace sys.displayhook, and so the display of all values.
    Those of sympy have text and LaTeX without it."""
    module._init_python_printing = lambda *args, **options: None
