# tool_help: list Python modules
#
# python_modules.py - the program that the tool tool_help (src/tools/tool_help.c) runs in a sandbox:
#
#     main.py DIRECTORY MODULE FUNCTION BYTES       MODULE and FUNCTION may be empty
#
# The program prints one JSON object of at most BYTES bytes:
#
#     {"modules": [{name, summary}], "total": N}                        without MODULE
#     {"functions": [{name, kind, signature, doc}], "total": N}         MODULE empty, FUNCTION "*"
#     {"doc", "functions": [{name, kind, signature, decorators, doc}], "total": N}
#     {"problem": "line 3: ..."}                                        the source is not Python
#     {"missing": "module"}, {"missing": "function", "nearest": "area" or null}
#
# "decorators" is absent if there are none. "total" counts the records that did not fit, too.
# Modules are parsed with ast and never imported, so none of their code runs. The program needs
# Python 3.7.
import os
import sys

# The modules below come from the standard library and nowhere else: PYTHONPATH names the directory
# of tools, and a json.py there would be imported instead of Python's own.
library = os.path.dirname(os.__file__)
sys.path[:] = [library, os.path.join(library, 'lib-dynload')]

import ast
import io
import json
import stat
import tokenize

DEPTH_MAX = 6  # directories inside one another
ENTRIES_MAX = 5000  # directory entries looked at
MODULES_MAX = 500
SOURCE_MAX = 1 << 20  # bytes of one module
SUMMARIES_MAX = 8 << 20  # bytes of all modules that are parsed for their summary
ITEMS_MAX = 1000
SIGNATURE_MAX = 2000
DECORATORS_MAX = 400
DOC_MAX = 16 * 1024
DEFINITIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
OPENING, CLOSING = {'(', '[', '{'}, {')', ']', '}'}


def clean_text(text, size):
    """At most `size` characters, without U+0000 and surrogates, which the server's JSON reader
    refuses."""
    text = text[:size].replace('\0', '\ufffd')
    return text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')


def encode_json(value):
    return json.dumps(value, ensure_ascii=False, separators=(',', ':')).encode()


def fit_records(records, room):
    """The first records that together have at most `room` bytes as JSON."""
    kept = []
    for record in records[:ITEMS_MAX]:
        room -= len(encode_json(record)) + 1
        if room < 0:
            break
        kept.append(record)
    return kept


# --- source text ---


def read_source(path):
    """The text of a regular file. O_NONBLOCK: the open of a FIFO must not wait for a writer."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, 'rb') as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise FileNotFoundError(path)
        data = file.read(SOURCE_MAX + 1)
    if len(data) > SOURCE_MAX:
        raise ValueError('it has more than %d bytes' % SOURCE_MAX)
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding).replace('\r\n', '\n')


def problem_of(error):
    if isinstance(error, SyntaxError) and error.lineno:
        return 'line %d: %s' % (error.lineno, error.msg)
    return str(error) or type(error).__name__


class Lines:
    """The logical lines of a source, each as the list of its tokens without layout."""

    def __init__(self, text):
        self.lines, self.index = [], {}
        tokens = []
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in LAYOUT and token.type != tokenize.NEWLINE:
                tokens.append(token)
            elif token.type == tokenize.NEWLINE and tokens:
                self.index[tokens[0].start[0]] = len(self.lines)
                self.lines.append(tokens)
                tokens = []

    def of(self, node):
        """The line of a definition, behind those of its decorators, which come first."""
        number = min([node.lineno] + [each.lineno for each in node.decorator_list])
        at = self.index[number]
        while self.lines[at][0].string == '@':
            yield self.lines[at]
            at += 1
        yield self.lines[at]


def one_line(tokens):
    """The tokens as text on one line, spaced as in the source. A comma that ends a list over
    several lines is left out."""
    out = ''
    before = None
    for token in tokens:
        if before is not None and before.end != token.start:
            if token.string in CLOSING:
                if before.string == ',' and before.end[0] != token.start[0]:
                    out = out[:-1]
            elif before.string not in OPENING:
                out += ' '
        out += token.string
        before = token
    return out


def head_of(tokens):
    """The tokens of a definition between its keyword and the colon."""
    depth = 0
    for at, token in enumerate(tokens):
        depth += (token.string in OPENING) - (token.string in CLOSING)
        if token.string == ':' and depth == 0:
            tokens = tokens[:at]
            break
    return [token for at, token in enumerate(tokens)
            if at > 1 or token.string not in ('async', 'def', 'class')]


# --- definitions ---


def definitions(nodes, prefix=''):
    """Name and node of the functions, classes and methods, in the order of the source. Definitions
    within a function are left out; those within if, try and the like are not."""
    for node in nodes:
        if isinstance(node, DEFINITIONS):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from definitions(node.body, prefix + node.name + '.')
            continue
        for field in 'body', 'cases', 'handlers', 'orelse', 'finalbody':
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                yield from definitions(inner, prefix)


def is_public(name):
    """A method of a private class is private too."""
    if name.rpartition('.')[2] in ('__init__', '__call__'):
        return True
    return not name.startswith('_') and '._' not in name


def is_wanted(name, function):
    if not function:
        return is_public(name)
    return name == function or (name.startswith(function + '.') and is_public(name))


def doc_of(node):
    lines = (ast.get_docstring(node) or '').split('\n')
    return clean_text('\n'.join(line.rstrip() for line in lines), DOC_MAX)


def summary_of(doc):
    return doc.partition('\n')[0]


def describe_definition(name, node, lines, is_whole):
    *decorators, definition = lines.of(node)
    kept, room = [], DECORATORS_MAX
    for text in map(one_line, decorators):
        if len(text) < room:  # half of a decorator would say something else
            kept.append(text)
            room -= len(text) + 1
    signature = one_line(head_of(definition))
    if isinstance(node, ast.AsyncFunctionDef):
        signature = 'async ' + signature
    doc = doc_of(node)
    item = {'name': name, 'kind': 'class' if isinstance(node, ast.ClassDef) else 'function',
            'signature': clean_text(signature, SIGNATURE_MAX),
            'doc': doc if is_whole else summary_of(doc)}
    if kept:
        item['decorators'] = clean_text(' '.join(kept), DECORATORS_MAX)
    return item


def module_help(directory, module, function, room):
    path = os.path.join(directory, *module.split('.'))
    try:
        try:
            text = read_source(path + '.py')
        except (FileNotFoundError, NotADirectoryError):
            text = read_source(os.path.join(path, '__init__.py'))
        tree = ast.parse(text)
        lines = Lines(text)
        found = list(definitions(tree.body))
    except (FileNotFoundError, NotADirectoryError):
        return {'missing': 'module'}
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError,
            tokenize.TokenError) as error:
        return {'problem': clean_text(problem_of(error), 200)}
    wanted = [each for each in found if is_wanted(each[0], function)]
    if function and not wanted:
        import difflib
        nearest = difflib.get_close_matches(function, [name for name, _ in found], 1)
        return {'missing': 'function', 'nearest': clean_text(nearest[0], 200) if nearest else None}
    doc = '' if function else doc_of(tree)
    while len(encode_json(doc)) > room // 2:
        doc = doc[:len(doc) // 2]
    answer = {'doc': doc, 'functions': [], 'total': len(wanted)}
    items = [describe_definition(name, node, lines, bool(function))
             for name, node in wanted[:ITEMS_MAX]]
    answer['functions'] = fit_records(items, room - len(encode_json(answer)))
    return answer


# --- the list of modules ---


def is_module_name(name):
    return name.isidentifier() and name.isascii() and not name.startswith('_')


def module_files(directory):
    """Name and path of each module. Symbolic links are not followed."""
    entries, found, pending = 0, [], [('', directory, 1)]
    for prefix, path, depth in pending:
        with os.scandir(path) as listing:
            for entry in listing:
                entries += 1
                if entries > ENTRIES_MAX:
                    return found
                stem, extension = os.path.splitext(entry.name)
                if entry.is_dir(follow_symlinks=False):
                    if depth < DEPTH_MAX and is_module_name(entry.name):
                        pending.append((prefix + entry.name + '.', entry.path, depth + 1))
                elif extension == '.py' and entry.is_file(follow_symlinks=False):
                    if is_module_name(stem):
                        found.append((prefix + stem, entry.path))
                    elif stem == '__init__' and prefix:
                        found.append((prefix[:-1], entry.path))
    return found


def list_modules(directory, room):
    found = sorted(module_files(directory), key=lambda each: each[0].split('.'))
    records, left = [], SUMMARIES_MAX
    for name, path in found[:MODULES_MAX]:
        summary = ''
        try:
            text = read_source(path) if left > 0 else ''
            left -= len(text)
            summary = summary_of(doc_of(ast.parse(text)))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # a module that cannot be parsed is listed without a summary
        records.append({'name': name, 'summary': summary})
    return {'modules': fit_records(records, room - 100), 'total': len(found)}


def list_functions(directory, room):
    """The functions and classes of all modules, as "module.function"."""
    items, left = [], SUMMARIES_MAX
    for module, path in sorted(module_files(directory))[:MODULES_MAX]:
        try:
            text = read_source(path) if left > 0 else ''
            left -= len(text)
            lines = Lines(text)
            for name, node in definitions(ast.parse(text).body):
                if is_public(name) and '.' not in name and len(items) < ITEMS_MAX:
                    items.append(describe_definition(module + '.' + name, node, lines, False))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError,
                tokenize.TokenError):
            pass  # a module that cannot be parsed has no functions to list
    return {'functions': fit_records(items, room - 100), 'total': len(items)}


def main(directory, module, function, room):
    room = int(room)
    if not module and function == '*':
        answer = list_functions(directory, room)
    elif module:
        answer = module_help(directory, module, function, room)
    else:
        answer = list_modules(directory, room)
    sys.stdout.buffer.write(encode_json(answer) + b'\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
