# python_needs.py COMMAND - which packages a shell command that runs Python needs and the sandbox does not have:
# those of requirements.txt in the working directory, and the modules that the command's script imports at its
# top level. Nothing is imported or run.
#
# Prints one JSON object: {"needs": ["numpy>=1.20", "matplotlib"]}.
import sys

# The first entry is the working directory, in which a module of the caller's could stand in place of Python's own.
sys.path[:1] = []

import ast
import importlib.metadata
import importlib.util
import json
import os
import re
import shlex
import stat

FILE_MAX, NEEDS_MAX, NEED_MAX = 1 << 20, 50, 200
# Modules whose package has another name.
PACKAGES = {
    'Crypto': 'pycryptodome', 'OpenSSL': 'pyopenssl', 'PIL': 'pillow', 'attr': 'attrs', 'bs4': 'beautifulsoup4',
    'cv2': 'opencv-python-headless', 'dateutil': 'python-dateutil', 'docx': 'python-docx', 'dotenv': 'python-dotenv',
    'fitz': 'pymupdf', 'git': 'gitpython', 'jwt': 'pyjwt', 'magic': 'python-magic', 'pptx': 'python-pptx',
    'serial': 'pyserial', 'skimage': 'scikit-image', 'sklearn': 'scikit-learn', 'yaml': 'pyyaml', 'zmq': 'pyzmq',
}


def read_text(path):
    """The text of a regular file, or ''. O_NONBLOCK: the open of a FIFO must not wait for a writer."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, 'rb') as file:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                return file.read(FILE_MAX).decode('utf-8', 'replace')
    except OSError:
        pass
    return ''


def is_installed(line):
    """Whether a line of requirements.txt is satisfied. pip brings the parser of such lines."""
    try:
        from pip._vendor.packaging.requirements import Requirement
        need = Requirement(line)
        if need.marker is not None and not need.marker.evaluate():
            return True
        return need.specifier.contains(importlib.metadata.version(need.name), prereleases=True)
    except Exception:
        name = re.match(r'[A-Za-z0-9._-]+', line)
        try:
            return bool(name) and bool(importlib.metadata.version(name.group()))
        except importlib.metadata.PackageNotFoundError:
            return False


def listed_needs():
    for line in read_text('requirements.txt').splitlines():
        line = re.sub(r'(^|\s)#.*', '', line).strip()
        if line and not line.startswith('-') and not is_installed(line):
            yield line.split(';')[0].replace(' ', '')


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


def imported_needs(words):
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
                yield PACKAGES.get(module, module)


def main(command):
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    needs = []
    if any(re.fullmatch(r'python[0-9.]*', os.path.basename(word)) for word in words):
        names = set()
        for need in [*listed_needs(), *imported_needs(words)]:
            name = re.split(r'[^A-Za-z0-9._-]', need)[0].lower().replace('_', '-')
            if name not in names and len(need) <= NEED_MAX:
                names.add(name)
                needs.append(need)
    print(json.dumps({'needs': needs[:NEEDS_MAX]}))


main(sys.argv[1])
