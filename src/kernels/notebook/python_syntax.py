# python_syntax.py - what IPython adds to Python's syntax, translated to Python. Part of python.py,
# executed in a namespace of its own, and only for code that Python itself has refused: so code
# that is Python is never changed.
#
#     !command        names = !command       %magic arguments       names = %magic arguments
#     name?  ?name  name??                   %%magic arguments, and the rest of the cell
#     pip install ..., if that is the only line
#
# Lines inside of strings and brackets, and lines behind a backslash, are left alone. The number of
# lines stays the same, so that tracebacks name the lines of the cell.
import re

PROMPT = re.compile(r'>>>( |$)|(\[(ins|nav)\] )?In ?\[\d+\]: ?')
MORE_PROMPT = re.compile(r'(>>>|\.\.\.)( |$)|(\[(ins|nav)\] )?In ?\[\d+\]: ?|\s*\.{3,}: ?')
ASSIGNMENT = re.compile(r'(\s*)([^\W\d][\w.,\s\[\]\'"*()]*?)\s*=\s*([!%])(?![=%])(.*)', re.S)
HELP = re.compile(r'(\s*)(\?{0,2})\s*(%{0,2}[^\W\d][\w.*]*(?:\[[^\]]*\])?)\s*(\?{0,2})\s*')
MAGIC = re.compile(r'(\s*)%([A-Za-z_]\w*)\s*(.*)', re.S)
COMMAND = re.compile(r'(\s*)(!!?)(.*)', re.S)
INSTALLER = re.compile(r'\s*(pip|conda|uv)[ \t]+(-{0,2}[a-z][^\n]*)\s*')
QUOTES = re.compile(r'\'\'\'|"""|\'|"')


def translate(text):
    """The cell as Python. Returns the same text if there is nothing to translate."""
    text = remove_prompts(remove_indentation(text))
    lines = text.splitlines(True)
    first = next((i for i, line in enumerate(lines)
                  if line.strip() and not line.startswith('#')), None)
    if first is not None and lines[first].startswith('%%'):
        return translate_cell_magic(lines, first) or text
    match = INSTALLER.fullmatch(text)
    if match:
        return magic_call('', *match.groups())
    return ''.join(translate_lines(lines))


def translate_refused(text):
    """The text as Python, if Python refuses it as it is."""
    try:
        compile(text, '<magic>', 'exec', 0, True)
        return text
    except (SyntaxError, ValueError):
        return translate(text)


def remove_indentation(text):
    """Removes the indentation of the first line from all lines, as IPython does."""
    first = next((line for line in text.splitlines() if line.strip()), '')
    indent = first[:len(first) - len(first.lstrip(' \t'))]
    if not indent:
        return text
    return ''.join(line[len(indent):] if line.startswith(indent) else line
                   for line in text.splitlines(True))


def remove_prompts(text):
    first = next((line for line in text.splitlines() if line.strip()), '')
    if not PROMPT.match(first):
        return text
    return ''.join(MORE_PROMPT.sub('', line, count=1) if MORE_PROMPT.match(line) else line
                   for line in text.splitlines(True))


def translate_cell_magic(lines, first):
    match = re.match(r'%%(\w+|!)\s*(.*)', lines[first].strip(), re.S)
    if not match or match.group(2).startswith('?'):
        return None
    body = ''.join(lines[first + 1:])
    return '\n' * first + 'get_ipython().run_cell_magic(%r, %r, %r)\n' % (
        match.group(1).replace('!', 'sx'), match.group(2), body)


def translate_lines(lines):
    state = Scanner()
    at = 0
    while at < len(lines):
        if not state.is_line_start():
            state.scan(lines[at])
            yield lines[at]
            at += 1
            continue
        last = at
        while lines[last].rstrip('\r\n').endswith('\\') and last + 1 < len(lines):
            last += 1
        joined = ' '.join(line.rstrip('\r\n').rstrip('\\') if i < last - at else line.rstrip('\r\n')
                          for i, line in enumerate(lines[at:last + 1]))
        new = translate_line(joined)
        if new is None:
            state.scan(lines[at])
            yield lines[at]
            at += 1
        else:
            yield new + '\n' * (last - at + 1)
            at = last + 1


def translate_line(line):
    """One line as Python; None: the line is not IPython's."""
    match = COMMAND.match(line)
    if match:
        function = 'system' if match.group(2) == '!' else 'getoutput'
        return '%sget_ipython().%s(%r)' % (match.group(1), function, match.group(3).strip())
    match = HELP.fullmatch(line)
    if match and (match.group(2) or match.group(4)):
        name = 'pinfo2' if '??' in (match.group(2), match.group(4)) else 'pinfo'
        return magic_call(match.group(1), name, match.group(3))
    match = MAGIC.match(line)
    if match:
        return magic_call(*match.groups())
    match = ASSIGNMENT.match(line)
    if match:
        indent, names, kind, rest = match.groups()
        if kind == '!':
            return '%s%s = get_ipython().getoutput(%r)' % (indent, names, rest.strip())
        name, _, rest = rest.strip().partition(' ')
        return '%s%s = %s' % (indent, names, magic_call('', name, rest))
    return None


def magic_call(indent, name, rest):
    return '%sget_ipython().run_line_magic(%r, %r)' % (indent, name, rest.strip())


class Scanner:
    """Reads lines of Python and knows whether the next one begins a statement."""

    def __init__(self):
        self.quote = ''  # of the string that is open
        self.depth = 0  # open brackets
        self.is_continued = False  # by a backslash

    def is_line_start(self):
        return not self.quote and self.depth <= 0 and not self.is_continued

    def scan(self, line):
        at = 0
        self.is_continued = False
        while at < len(line):
            if self.quote:
                at = self.skip_string(line, at)
                continue
            match = QUOTES.match(line, at)
            if match:
                self.quote = match.group()
                at = match.end()
                continue
            char = line[at]
            if char == '#':
                break
            if char in '([{':
                self.depth += 1
            elif char in ')]}':
                self.depth -= 1
            elif char == '\\' and not line[at + 1:].strip('\r\n'):
                self.is_continued = True
            at += 1
        if len(self.quote) == 1 and not line.rstrip('\r\n').endswith('\\'):
            self.quote = ''  # such a string ends with its line

    def skip_string(self, line, at):
        while at < len(line):
            if line[at] == '\\':
                at += 2
            elif line.startswith(self.quote, at):
                at += len(self.quote)
                self.quote = ''
                return at
            else:
                at += 1
        return at
