"""package_index.py PORT-FILE - an index of Python packages on loopback (PEP 503), for tests.

It makes small wheels and source distributions in memory and serves them below /simple/. Some of its
packages are bad on purpose. It prints nothing; the port is written to PORT-FILE, and each request to
PORT-FILE.log."""
import base64
import hashlib
import http.server
import io
import pathlib
import sys
import tarfile
import time
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

FILES = {}


def add(name, *packages):
    FILES.setdefault(name, {}).update(dict(packages))


add("alpha", wheel("alpha", "1.0", "VALUE = 1\n"), wheel("alpha", "2.0", "VALUE = 2\n"))
add("beta", wheel("beta", "1.0", "import alpha\n", ["alpha<2"]))
add("gamma", wheel("gamma", "1.0", "", ["alpha>=2"], ["more"]), wheel("gamma", "1.1", "", ['beta; extra == "more"'], ["more"]))
add("clash", wheel("clash", "1.0", "", ["alpha>=2", "beta"]))
add("pymupdf", wheel("fitz", "1.0", "NAME = 'fitz'\n", distribution="pymupdf"))
add("wrong-hash", wheel("wrong_hash", "1.0", "VALUE = 1\n"))
add("hangs", wheel("hangs", "1.0", ""))
add("dies", wheel("dies", "1.0", "X = '" + "x" * 100000 + "'\n"))
add("endless", wheel("endless", "1.0", ""))


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
        if parts[:1] == ["simple"] and len(parts) == 2 and parts[1] in FILES:
            links = ""
            for name, data in FILES[parts[1]].items():
                digest = hashlib.sha256(b"other" if parts[1] == "wrong-hash" else data).hexdigest()
                links += f'<a href="/files/{parts[1]}/{name}#sha256={digest}">{name}</a>\n'
            return self.page(f"<!DOCTYPE html><html><body>{links}</body></html>")
        if parts[:1] == ["files"] and len(parts) == 3 and parts[2] in FILES.get(parts[1], {}):
            return self.file(parts[1], FILES[parts[1]][parts[2]])
        return self.page("not found", 404)

    def file(self, name, data):
        if name == "hangs":
            return time.sleep(600)
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(10 << 30 if name == "endless" else len(data)))
        self.end_headers()
        if name == "endless":
            while True:
                self.wfile.write(bytes(1 << 20))
        self.wfile.write(data[:1000] if name == "dies" else data)
        if name == "dies":
            self.close_connection = True


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
server.handle_error = lambda *_: None  # clients go away in the middle
add("builds", source("builds", "1.0", BUILD % server.server_address[1]))
temporary = pathlib.Path(f"{out}.new")
temporary.write_text(str(server.server_address[1]))
temporary.rename(out)
server.serve_forever()
