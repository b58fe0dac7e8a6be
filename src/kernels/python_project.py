# python_project.py - which packages the project in the working directory lists and the sandbox does not have. This is
# the first part of python_needs.py and of packages_python.py.
import sys

# The first entry is the working directory, in which a module of the caller's could stand in place of Python's own.
sys.path[:1] = []

import importlib.metadata
import os
import re
import stat

FILE_MAX, NEED_MAX = 1 << 20, 200
VERSION = r'(===|==|~=|!=|<=|>=|<|>)[A-Za-z0-9][A-Za-z0-9.*+!_-]*'
# A name, extras and versions: no URL, no path, no option.
NEED = re.compile(rf'[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._,-]+\])?({VERSION}(,{VERSION})*)?')


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


def package_name(need):
    """The name as indexes compare it."""
    return re.sub(r'[-_.]+', '-', re.split(r'[^A-Za-z0-9._-]', need)[0]).lower()


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


def project_needs():
    lines = [re.sub(r'(^|\s)#.*', '', line).strip() for line in read_text('requirements.txt').splitlines()]
    needs = {}
    for line in lines + pyproject_lines(read_text('pyproject.toml')):
        need = line.split(';')[0].replace(' ', '').replace('(', '').replace(')', '')
        if len(need) <= NEED_MAX and NEED.fullmatch(need) and not is_installed(line):
            needs.setdefault(package_name(need), need)
    return list(needs.values())


