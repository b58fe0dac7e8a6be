# python_project.py - which packages the project in the working directory lists and the sandbox does not have. This is
# the first part of python_needs.py and of packages_python.py.
import sys

# The first entry is the working directory, in which a module of the caller's could stand in place of Python's own.
sys.path[:1] = []

import importlib.metadata
import os
import re
import stat

FILE_MAX, NEED_MAX, LISTED_MAX = 1 << 20, 200, 500
VERSION = r'(===|==|~=|!=|<=|>=|<|>)[A-Za-z0-9][A-Za-z0-9.*+!_-]*'
# A name, extras and versions: no URL, no path, no option.
NEED = re.compile(rf'[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._,-]+\])?({VERSION}(,{VERSION})*)?')
MARKER = re.compile(r"""[A-Za-z0-9_.<>=!~()'" -]+""")
HASH = re.compile(r'\s--hash=(sha256|sha384|sha512):[0-9a-f]{64,128}(?=\s|$)')


def read_text(path):
    """The text of a regular file, or ''. O_NONBLOCK: the open of a FIFO must not wait for a writer. PowerShell writes
    UTF-16, which pip reads too."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, 'rb') as file:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                data = file.read(FILE_MAX)
                return data.decode('utf-16' if data[:2] in (b'\xff\xfe', b'\xfe\xff') else 'utf-8-sig', 'replace')
    except OSError:
        pass
    return ''


def package_name(need):
    """The name as indexes compare it."""
    return re.sub(r'[-_.]+', '-', re.split(r'[^A-Za-z0-9._-]', need)[0]).lower()


def has_extras(need, kind):
    """Whether the packages that the extras of an installed package want are there too."""
    wanted = [kind(text) for text in (importlib.metadata.requires(need.name) or []) if need.extras]
    wanted = [one for one in wanted if one.marker and any(one.marker.evaluate({'extra': extra}) for extra in need.extras)]
    return all(one.specifier.contains(importlib.metadata.version(one.name), prereleases=True) for one in wanted)


def is_installed(line):
    """Whether a line of requirements.txt is satisfied; a line whose marker excludes this Python is. pip brings the
    parser of such lines; without it, a package that is there is only known to suit a line without versions."""
    try:
        from pip._vendor.packaging.requirements import Requirement
        need = Requirement(line)
        if need.marker is not None and not need.marker.evaluate():
            return True
        suits = need.specifier.contains(importlib.metadata.version(need.name), prereleases=True)
        return suits and has_extras(need, Requirement)
    except importlib.metadata.PackageNotFoundError:
        return False
    except Exception:
        try:
            return bool(re.fullmatch(r'[A-Za-z0-9._-]+', line)) and bool(importlib.metadata.version(line))
        except importlib.metadata.PackageNotFoundError:
            return False


def pyproject_lines(text):
    try:
        import tomllib
        project = tomllib.loads(text)
        lines = list(project.get('project', {}).get('dependencies', []))
        # Poetry has its own notation of versions, so only the names are taken.
        lines += [name for name in project.get('tool', {}).get('poetry', {}).get('dependencies', {}) if name != 'python']
        return [line for line in lines if isinstance(line, str)]
    except Exception:  # no tomllib before Python 3.11; anything may stand in the file
        return []


def requirement_lines(text):
    lines = re.sub(r'\\\r?\n', ' ', text).splitlines()
    return [line for line in (re.sub(r'(^|\s)#.*', '', line).strip() for line in lines) if line]


def why_refused(line):
    if line.startswith('-') or re.search(r'\s--?[A-Za-z]', line):
        return 'an option'
    if '://' in line:
        return 'a URL'
    return 'a path' if re.match(r'[.~]|[^\s;]*[/\\\\]', line) else 'not a name with versions'


def project_lists():
    """What the project lists and the sandbox does not have, as lines for pip by the name of the package; and the lines
    that are refused, each with the reason."""
    needs, refused = {}, []
    for line in requirement_lines(read_text('requirements.txt')) + pyproject_lines(read_text('pyproject.toml')):
        hashes = ''.join(found.group() for found in HASH.finditer(line))
        plain, _, marker = HASH.sub('', line).partition(';')
        need = re.sub(r'[\s()]', '', plain)
        if re.search(r'\S\s+-', plain) or len(need) > NEED_MAX or not NEED.fullmatch(need) or (marker and not MARKER.fullmatch(marker)):
            shown = ''.join(c if c.isprintable() else '?' for c in line[:60])
            refused.append(f'{shown} ({why_refused(line)})')
        elif not is_installed(plain.strip() + (';' + marker if marker else '')) and len(needs) < LISTED_MAX:
            needs.setdefault(package_name(need), need + (' ; ' + marker.strip() if marker else '') + hashes)
    return needs, refused


def project_needs():
    """The same, with specifiers that have neither markers nor hashes."""
    needs, refused = project_lists()
    return [re.split(r'\s', line)[0] for line in needs.values()], refused


