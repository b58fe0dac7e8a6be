# packages_python.py ACTION INDEX TRUSTED NAME... - installs, removes and lists packages in the virtual environment of
# the sandbox. The text of python_project.py stands before this one.
#
# The environment is the base directory of the user's scheme ($PYTHONUSERBASE): its site-packages are those of the user,
# which every Python of the sandbox sees beside the image's packages, also one that runs already. It is ~/.local/venv and not
# ~/.local, because every Python with a link in ~/.local/bin, such as those of uv, would take that for its own.
#
# The actions: install, uninstall, reset, list; `need` installs one package, and with it what the project in the
# working directory lists; `project` installs what that lists; `environment` only makes the environment.
#
# What pip prints goes to stderr as it comes. The result is one JSON object on stdout:
#   {"ok": true, "installed": ["name==1.0"], "removed": [...], "packages": [...], "lines": [...]}
# "lines" are those of pip that explain a failure, or what is wrong although it succeeded; "refused" is what a
# project lists and was left out, with reasons. Only the first ones have a text, because the server takes no more of this
# output than of any other.
import hashlib
import importlib.util
import json
import shutil
import site
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

LINES_MAX, LINE_MAX, REFUSED_MAX, COUNTED_MAX, TRIES_MAX = 12, 300, 12, 2000, 5
# In place of pip's own sentence, which is about a file of requirements that the caller may not have.
WRONG_HASH = ('a file does not have the hash that the index or requirements.txt names: its download was cut off, or it was '
              'changed')
# Lines that only repeat, or that say what every user of a sandbox would be told.
NOISE = re.compile(r'notice|^\s*$|WARNING: .*(root user|not on PATH|cache)', re.I)
# Lines of an installation that succeeds, and leaves something that does not work.
WRONG = re.compile(r'which is incompatible|does not provide the extra')


def find_packages(path):
    found = {}
    for one in importlib.metadata.distributions(path=path):
        name = one.metadata['Name']
        if name and name.lower() not in found:
            found[name.lower()] = f'{name}=={one.version}'
    return found


def own_packages():
    return find_packages([site.getusersitepackages()])


def make_environment():
    """Makes the environment of this Python, which takes neither pip nor the module venv. Returns the path of its Python.
    Each part replaces its former one at once: another installer may do the same at this moment. The Python comes last, so
    that an environment that has it is complete."""
    base, packages, image = site.getuserbase(), site.getusersitepackages(), os.path.realpath(sys.executable)
    if sys.prefix == base:
        return base + '/bin/python'
    files = {'pyvenv.cfg': f'home = {os.path.dirname(image)}\ninclude-system-site-packages = true\n'
                           f'version = {".".join(map(str, sys.version_info[:3]))}\n'}
    if sys.prefix != sys.base_prefix:
        # The image's Python is itself that of an environment, whose packages its base does not have.
        lines = [f'import site; site.addsitedir({each!r})\n' for each in site.getsitepackages() if os.path.isdir(each)]
        files[os.path.relpath(packages, base) + '/image.pth'] = ''.join(lines)
    # The user's directory without $PYTHONUSERBASE, for programs that get no environment (env -i, subprocess with env=).
    # Sandboxes of earlier versions have their packages there.
    inner = os.path.relpath(packages, base)
    without = os.path.expanduser('~/.local/') + inner
    if os.path.isdir(without) and os.listdir(without) != ['venv.pth']:
        files[inner + '/earlier.pth'] = without + '\n'
    if base == os.path.expanduser('~/.local/venv'):
        os.makedirs(without, exist_ok=True)
        files[f'../{inner}/venv.pth'] = packages + '\n'
    # With lib64, packages with compiled parts are also where the user's scheme has them.
    links = {'lib64': 'lib', 'bin/python3': image, 'bin/python': image}
    os.makedirs(base + '/bin', exist_ok=True)
    os.makedirs(packages, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=base) as place:
        for name, text in files.items():
            with open(place + '/new', 'w') as file:
                file.write(text)
            os.replace(place + '/new', f'{base}/{name}')
        for name in [each for each in links if not os.path.isdir(f'{base}/{each}')]:
            os.symlink(links[name], place + '/new')
            os.replace(place + '/new', f'{base}/{name}')
    return base + '/bin/python'


def suits_python(requires):
    lowest = re.search(r'(?:>|&gt;)=\s*(\d+)\.(\d+)', requires)
    return lowest is None or sys.version_info >= (int(lowest[1]), int(lowest[2]))


def fetch_pip(index):
    """The path of pip in its own wheel, from which Python can run it: for images that have no pip. None: the index has none."""
    place = os.path.expanduser('~/.cache/belljar/pip.whl')
    if os.path.exists(place):
        return place + '/pip'
    base = index.rstrip('/') + '/pip/'
    page = urllib.request.urlopen(base, timeout=30).read(16 << 20).decode('utf-8', 'replace')
    found = re.findall(r'<a href="([^"#]*/pip-([0-9.]+)-py3-none-any\.whl)#sha256=([0-9a-f]{64})"([^>]*)>', page)
    found = [one for one in found if 'data-yanked' not in one[3] and suits_python(one[3])]
    if not found:
        return None
    link, _, digest, _ = max(found, key=lambda one: [int(part) for part in one[1].split('.') if part])
    data = urllib.request.urlopen(urllib.parse.urljoin(base, link), timeout=60).read(64 << 20)
    if hashlib.sha256(data).hexdigest() != digest:
        return None
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place + '.new', 'wb') as file:
        file.write(data)
    os.replace(place + '.new', place)
    return place + '/pip'


def pip_command(python, index):
    if importlib.util.find_spec('pip'):
        return [python, '-m', 'pip']
    uv = shutil.which('uv')
    if uv:
        return [uv, 'pip']
    try:
        pip = fetch_pip(index) if index else None
    except (OSError, ValueError):
        pip = None
    return [python, pip] if pip else None


def install_command(base, index, trusted, names):
    if base[0].endswith('uv'):
        command = base + ['install', '--python', site.getuserbase() + '/bin/python']
        return command + (['--index-url', index] if index else []) + (['--allow-insecure-host', trusted] if trusted else []) + names
    command = base + ['install', '--no-input', '--no-warn-script-location', '--progress-bar', 'off']
    return command + (['--index-url', index] if index else []) + (['--trusted-host', trusted] if trusted else []) + names


def remove_command(base, names):
    if base[0].endswith('uv'):
        return base + ['uninstall', '--python', site.getuserbase() + '/bin/python', *names]
    return base + ['uninstall', '--yes', *names]


def run(command):
    """Returns the exit status and the lines of the output that explain a failure."""
    env = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK='1', PYTHONWARNINGS='ignore')
    lines = []
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors='replace') as process:
        for line in process.stdout:
            sys.stderr.write(line)
            sys.stderr.flush()
            if not NOISE.search(line):
                lines.append(line.rstrip()[:LINE_MAX])
    if process.returncode == 0:
        return 0, [re.sub(r'^WARNING: ', '', line) for line in lines if WRONG.search(line)][:LINES_MAX]
    errors = [re.sub(r'THESE PACKAGES DO NOT MATCH THE HASHES.*', WRONG_HASH, line)
              for line in lines if re.match(r'\s*(ERROR|error)\b', line)]
    return process.returncode, (errors or lines)[-LINES_MAX:]


def ask_index(index, names):
    """The index's own words about why it cannot be used; pip only tells that it has found nothing."""
    for name in names if index else []:
        try:
            urllib.request.urlopen(f'{index.rstrip("/")}/{package_name(name)}/', timeout=30).close()
        except urllib.error.HTTPError as answer:
            if answer.code >= 500:
                return [answer.read(LINE_MAX).decode('utf-8', 'replace').strip()]
        except (OSError, ValueError):
            pass
    return []


def install_listed(base, index, trusted, lines):
    """Installs lines of project_lists(). Only a file of requirements may have hashes in it."""
    with tempfile.NamedTemporaryFile('w', prefix='belljar-', suffix='.txt') as file:
        file.write(''.join(line + '\n' for line in lines))
        file.flush()
        return run(install_command(base, index, trusted, ['-r', file.name]))


def install_needs(base, index, trusted, name):
    """Installs the package, in the version that the project wants, and the other packages of the project if it can."""
    listed = project_lists()[0]
    named = listed.get(package_name(name), name)
    code, lines = install_listed(base, index, trusted, {**listed, package_name(name): named}.values())
    if code != 0 and set(listed) - {package_name(name)}:
        code, lines = install_listed(base, index, trusted, [named])
    return code, lines


def install_project(base, index, trusted, needs, refused):
    """Installs what the project lists, without those packages that the index does not have."""
    for _ in range(TRIES_MAX):
        code, lines = install_listed(base, index, trusted, needs.values())
        unknown = re.search(r'No matching distribution found for ([A-Za-z0-9._-]*[A-Za-z0-9])', '\n'.join(lines))
        name = package_name(unknown[1]) if unknown else None
        if code == 0 or name not in needs or len(needs) == 1 or ask_index(index, [name]):
            break
        refused.append(f'{needs.pop(name)[:60]} (the index has no such version)')
    return code, lines


def change_packages(base, action, index, trusted, names):
    if action == 'need':
        return install_needs(base, index, trusted, names[0])
    return run(install_command(base, index, trusted, names) if action == 'install' else remove_command(base, names))


def main(action, index, trusted, *names):
    before, result, needs, refused = own_packages(), {'ok': True}, {}, []
    names = list(names)
    if action == 'reset':
        names = [text.split('==')[0] for text in before.values()]
    if action == 'project':
        needs, refused = project_lists()
        names = list(needs)
    if action == 'list':
        result['packages'] = sorted(before.values(), key=str.lower)
        image = {key: text for key, text in find_packages(sys.path).items() if key not in before}
        result['image'] = sorted(image.values(), key=str.lower)
    elif action == 'environment':
        make_environment()
    elif names:
        base = pip_command(make_environment(), index)
        if base is None:
            return {'ok': False, 'no_installer': True}
        if action == 'project':
            code, lines = install_project(base, index, trusted, needs, refused)
        else:
            code, lines = change_packages(base, action, index, trusted, names)
        importlib.invalidate_caches()
        after = own_packages()
        result['ok'] = code == 0
        result['installed'] = sorted(set(after.values()) - set(before.values()), key=str.lower)
        result['removed'] = sorted(text for key, text in before.items() if key not in after)
        result['lines'] = ask_index(index, names if any('No matching' in line for line in lines) else []) + lines
    result['refused'] = refused[:REFUSED_MAX] + [''] * len(refused[REFUSED_MAX:COUNTED_MAX])
    return result


print(json.dumps(main(*sys.argv[1:])))
