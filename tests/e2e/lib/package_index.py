"""package_index.py PORT-FILE [PORT] - an index of Python packages on loopback (PEP 503), and a registry of npm, for
tests.

It makes small wheels and source distributions in memory and serves them below /simple/, and packages of npm below
/npm/. Some of its packages are bad on purpose. It prints nothing; the port is written to PORT-FILE, and each request to
PORT-FILE.log. The package `waits` is sent when there is a file PORT-FILE.go."""
import base64
import hashlib
import http.server
import io
import json
import pathlib
import sys
import tarfile
import time
import urllib.parse
import zipfile

out = pathlib.Path(sys.argv[1])


def wheel(name, version, body, requires=(), extras=(), distribution=None):
    """A wheel with one module; `distribution` is the name of the package if it differs."""
    module, name = name, distribution or name
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Provides-Extra: {extra}\n" for extra in extras)
    metadata += "".join(f"Requires-Dist: {one}\n" for one in requires)
    files = {f"{module}.py": body, f"{info}/METADATA": metadata,
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}\n"
                     for path, text in files.items()) + f"{info}/RECORD,,\n"
    files[f"{info}/RECORD"] = record
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return f"{name}-{version}-py3-none-any.whl", data.getvalue()


def own_pip():
    """The pip of this Python as a wheel."""
    import pip
    top = pathlib.Path(pip.__file__).parent.parent
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in [*top.glob("pip/**/*"), *top.glob("pip-*.dist-info/*")]:
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, path.relative_to(top))
    return f"pip-{pip.__version__}-py3-none-any.whl", data.getvalue()


def source(name, version, setup):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for path, text in {"setup.py": setup, "PKG-INFO": f"Metadata-Version: 1.0\nName: {name}\nVersion: {version}\n"}.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return f"{name}-{version}.tar.gz", data.getvalue()


# A package whose build tries to reach a host other than the index, directly and through the installer's proxy.
BUILD = """
import os, socket, urllib.request
from setuptools import setup
def attempt(what):
    try: return repr(what())
    except Exception as e: return type(e).__name__
results = [attempt(lambda: socket.create_connection(('127.0.0.1', %d), 2)),
           attempt(lambda: urllib.request.urlopen('http://canary.example/', timeout=5)),
           attempt(lambda: urllib.request.urlopen('http://127.0.0.1:1/', timeout=5))]
open(os.path.expanduser('~/attempts'), 'w').write(' '.join(results))
setup(name='builds', version='1.0', py_modules=[])
"""

# A package whose build asks the proxy of its installer for what it should not get.
PROBES = """
import base64, http.client, json, os, urllib.parse
from setuptools import setup
proxy = urllib.parse.urlsplit(os.environ['http_proxy'])
login = {'Proxy-Authorization': 'Basic ' + base64.b64encode(f'{proxy.username}:{proxy.password}'.encode()).decode()}
def ask(method, url, body=None):
    connection = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=30)
    connection.request(method, url, body, login)
    return connection.getresponse().status
pip, npm = 'http://pip.belljar.internal', 'http://npm.belljar.internal'
asked = [('GET', pip + path) for path in (
    '/simple/alpha/', '/simple/../x/', '/simple/%%2e%%2e/', '/simple/Alpha/', '/files/alpha/..%%2f..%%2fx', '/files/alpha/nothere.whl',
    '/files/alpha/', '/simple/alpha/more', '/x', '//')]
asked += [('GET', npm + path) for path in ('/../x', '/@scope', '/left/-/../x', '/left/-/right-1.0.0.tgz')]
asked += [('POST', pip + '/simple/alpha/'), ('PUT', pip + '/files/alpha/alpha-2.0-py3-none-any.whl'), ('GET', pip + ':81/simple/alpha/'),
          ('GET', 'http://other.belljar.internal/'), ('POST', 'http://127.0.0.1:%d/upload')]
results = {f'{method} {url}': ask(method, url, b'x' if method != 'GET' else None) for method, url in asked}
open(os.path.expanduser('~/probes'), 'w').write(json.dumps(results))
setup(name='probes', version='1.0', py_modules=[])
"""

FILES = {}


def add(name, *packages):
    FILES.setdefault(name, {}).update(dict(packages))


add("alpha", wheel("alpha", "1.0", "VALUE = 1\n"), wheel("alpha", "2.0", "VALUE = 2\n"))
add("beta", wheel("beta", "1.0", "import alpha\n", ["alpha<2"]))
add("gamma", wheel("gamma", "1.0", "", ["alpha>=2"], ["more"]), wheel("gamma", "1.1", "", ['beta; extra == "more"'], ["more"]))
add("clash", wheel("clash", "1.0", "", ["alpha>=2", "beta"]))
add("pymupdf", wheel("fitz", "1.0", "NAME = 'fitz'\n", distribution="pymupdf"))
add("wrong-hash", wheel("wrong_hash", "1.0", "VALUE = 1\n"))
add("large", wheel("large", "1.0", "X = '" + "".join(chr(97 + n * n % 26) for n in range(3000000)) + "'\n"))
add("nohash", wheel("nohash", "1.0", "VALUE = 1\n"))
add("elsewhere", wheel("elsewhere", "1.0", "VALUE = 1\n"))
add("hangs", wheel("hangs", "1.0", ""))
add("waits", *(wheel("waits", f"1.{n}", "") for n in range(24)))
add("dies", wheel("dies", "1.0", "X = '" + "x" * 100000 + "'\n"))
add("endless", wheel("endless", "1.0", ""))
for n in range(60):
    add(f"small{n}", wheel(f"small{n}", "1.0", ""))


def npm_package(name, version, body, scripts):
    data = io.BytesIO()
    about = json.dumps({"name": name, "version": version, "main": "index.js", "scripts": scripts})
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for path, text in {"package.json": about, "index.js": body}.items():
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


# A package whose installation runs a program of its own.
SCRIPTS = {"scripted": {"postinstall": "touch ~/script-was-run"}}
NPM = {name: npm_package(name, "1.0.0", f"module.exports = '{name}';\n", SCRIPTS.get(name, {})) for name in ("left", "@scope/right", "scripted")}


class Index(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, fmt, *args):
        with open(f"{out}.log", "a") as log:
            log.write(f"{self.command} {self.path} via={self.headers.get('Proxy-Authorization')}\n")

    def page(self, text, code=200):
        self.send_response(code)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        parts = [part for part in self.path.split("/") if part]
        if "pip" in parts and "pip" not in FILES:
            add("pip", own_pip())
        if parts[:1] == ["simple"] and len(parts) == 2 and parts[1] in FILES:
            links = ""
            for name, data in FILES[parts[1]].items():
                digest = hashlib.sha256(b"other" if parts[1] == "wrong-hash" else data).hexdigest()
                # Another address of loopback is a host that is no index.
                host = f"http://127.0.0.2:{server.server_address[1]}" if parts[1] == "elsewhere" else ""
                fragment = "" if parts[1] == "nohash" else f"#sha256={digest}"
                links += f'<a href="{host}/files/{parts[1]}/{name}{fragment}">{name}</a>\n'
            return self.page(f"<!DOCTYPE html><html><body>{links}</body></html>")
        if parts[:1] == ["files"] and len(parts) == 3 and parts[2] in FILES.get(parts[1], {}):
            return self.file(parts[1], FILES[parts[1]][parts[2]])
        if parts[:1] == ["npm"]:
            return self.npm(urllib.parse.unquote("/".join(parts[1:])))
        return self.page("not found", 404)

    def npm(self, path):
        name, _, file = path.partition("/-/")
        if name not in NPM:
            return self.page("{}", 404)
        if file:
            return self.file(name, NPM[name])
        url = f"http://127.0.0.1:{server.server_address[1]}/npm/{name}/-/{name.split('/')[-1]}-1.0.0.tgz"
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(NPM[name]).digest()).decode()
        self.page(json.dumps({"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {
            "1.0.0": {"name": name, "version": "1.0.0", "hasInstallScript": name in SCRIPTS, "scripts": SCRIPTS.get(name, {}), "dist": {"tarball": url, "integrity": integrity}}}}))

    def file(self, name, data):
        if name == "hangs":
            return time.sleep(600)
        if name == "waits":
            self.log_message("")
        while name == "waits" and not pathlib.Path(f"{out}.go").exists():
            time.sleep(0.05)
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(10 << 30 if name == "endless" else len(data)))
        self.end_headers()
        if name == "endless":
            while True:  # slowly: sandboxes of many tests share a disk
                self.wfile.write(bytes(1 << 18))
                time.sleep(0.01)
        self.wfile.write(data[:1000] if name == "dies" else data)
        if name == "dies":
            self.close_connection = True


server = http.server.ThreadingHTTPServer(("127.0.0.1", int((sys.argv + ["0"])[2])), Index)
server.handle_error = lambda *_: None  # clients go away in the middle
add("probes", source("probes", "1.0", PROBES % server.server_address[1]))
add("builds", source("builds", "1.0", BUILD % server.server_address[1]))
temporary = pathlib.Path(f"{out}.new")
temporary.write_text(str(server.server_address[1]))
temporary.rename(out)
server.serve_forever()
