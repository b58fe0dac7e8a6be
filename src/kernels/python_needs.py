# python_needs.py COMMAND - which packages a shell command that runs Python needs and the sandbox does not have:
# those that the project in the working directory lists (python_project.py, whose text stands before this one), and
# the modules that the command's script imports at its top level. Nothing is imported or run.
#
# Prints one JSON object: {"needs": ["numpy>=1.20"], "modules": ["cv2"], "refused": ["-r x (an option)"]}.
import ast
import importlib.util
import json
import shlex

NEEDS_MAX, REFUSED_MAX = 200, 20


def top_imports(text):
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in tree.body:  # an import within `try` is one that the program can do without
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def is_there(module, directory):
    if module in getattr(sys, 'stdlib_module_names', ()) or module in sys.builtin_module_names:
        return True
    if any(os.path.exists(os.path.join(place, module + ending)) for place in (directory, '.') for ending in ('', '.py')):
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError, AttributeError):
        return True


def missing_modules(words):
    for at, word in enumerate(words):
        text, directory = '', '.'
        if word.endswith('.py'):
            text, directory = read_text(word), os.path.dirname(word) or '.'
        elif word == '-c' and at + 1 < len(words):
            text = words[at + 1]
        elif word == '-m' and at + 1 < len(words) and re.fullmatch(r'\w+(\.\w+)*', words[at + 1]):
            text = 'import ' + words[at + 1]
        for name in top_imports(text):
            module = name.split('.')[0]
            if not is_there(module, directory):
                yield module


def words_of(command):
    lexer = shlex.shlex(command, posix=True, punctuation_chars=';&|()')
    lexer.whitespace_split, lexer.commenters = True, ''
    try:
        return list(lexer)
    except ValueError:
        return command.split()


# `cd project && python main.py`: the project and the script are those of that directory.
def enter_directory(words):
    if len(words) > 3 and words[0] == 'cd' and words[2] in (';', '&&'):
        try:
            os.chdir(os.path.expanduser(words[1]))
        except (OSError, ValueError):
            pass  # cd fails, too


def main(command):
    words = words_of(command)
    enter_directory(words)
    needs, modules, refused = [], [], []
    if any(re.fullmatch(r'python[0-9.]*', os.path.basename(word)) for word in words):
        needs, refused = project_needs()
        modules = list(dict.fromkeys(missing_modules(words)))
    needs = needs[:NEEDS_MAX]
    print(json.dumps({'needs': needs, 'modules': modules[:NEEDS_MAX - len(needs)], 'refused': refused[:REFUSED_MAX]}))


main(sys.argv[1])
