"""Workloads: common programs work in a sandbox, in every mode and with the filter "strict".

Nothing here should be refused: a failure means that the sandbox is too restrictive."""
import concurrent.futures
import functools
import pathlib
import shutil
import subprocess
import zipfile

from harness import test

STRICT = ("--calls", "strict")
WORKLOADS = []
AS_ROOT = []
MINUTE = 120  # generous: the machine may be busy


def workload(number, what, needs=(), modules=(), prepare=None, timeout=MINUTE):
    """Registers a function that returns a shell script. The script runs as an ordinary user, and as root with
    the filter "strict" (WL-20); --long runs it in each mode. It is skipped if the machine lacks a program of
    `needs` or a Python module of `modules`; scripts/packages-test.txt lists them all."""
    def register(function):
        script = "set -e\n" + function()
        WORKLOADS.append((number, script, needs, modules, prepare))

        def run(box):
            if prepare:
                prepare(box)
            done = box.exec("bash", "-c", script, timeout=timeout)
            assert done.code == 0 and done.out.endswith("works\n"), done
        if has(needs, modules):
            test(number, what, modes="US")(run)
            AS_ROOT.append((number, what, run))
        return function
    return register


def has(needs, modules):
    """Whether programs and modules are in /usr, where sandboxes see them."""
    found = all(shutil.which(name, path="/usr/local/bin:/usr/bin:/usr/sbin") for name in needs)
    return found and (not modules or find_modules(modules))


@functools.cache
def find_modules(modules):
    """Not by importing them, which takes a second for pandas."""
    line = ["/usr/bin/python3", "-c", "import importlib.util, sys; sys.exit(None in map(importlib.util.find_spec, sys.argv[1:]))"]
    return subprocess.run([*line, *modules], capture_output=True).returncode == 0


# --- python


@workload("WL-01", "numpy, pandas and matplotlib draw a figure", modules=("numpy", "pandas", "matplotlib"))
def numbers():
    return """python3 - <<'END'
import numpy, pandas
import matplotlib.pyplot as plot
a = numpy.random.default_rng(1).random((200, 200))
assert numpy.allclose(a @ numpy.linalg.inv(a), numpy.eye(200), atol=1e-6)
frame = pandas.DataFrame({"x": range(100), "y": numpy.arange(100) ** 2})
frame.to_csv("t.csv"); assert pandas.read_csv("t.csv")["y"].sum() == 328350
frame.plot(x="x", y="y"); plot.savefig("figure.png")
assert open("figure.png", "rb").read(8) == b"\\x89PNG\\r\\n\\x1a\\n"
END
echo works"""


def make_wheel(box):
    """Creates a Python package in a directory that sandboxes see."""
    wheels = box.offered / "wheels"
    wheels.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheels / "smallthing-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("smallthing.py", "def answer():\n    return 42\n")
        meta = "smallthing-1.0.dist-info/"
        wheel.writestr(meta + "METADATA", "Metadata-Version: 2.1\nName: smallthing\nVersion: 1.0\n")
        wheel.writestr(meta + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
                                       "Tag: py3-none-any\n")
        wheel.writestr(meta + "RECORD", f"smallthing.py,,\n{meta}METADATA,,\n{meta}WHEEL,,\n{meta}RECORD,,\n")


@workload("WL-02", "pip installs a wheel without a network", modules=("pip",), prepare=make_wheel)
def pip():
    # Without any option that only a sandbox would make necessary.
    return """pip install --no-index --find-links /escape/wheels smallthing > log 2>&1 || { cat log; exit 1; }
python3 -c 'import smallthing; assert smallthing.answer() == 42'
echo works"""


@workload("WL-03", "Python creates a virtual environment in which pip works", modules=("venv", "ensurepip"),
          prepare=make_wheel)
def venv():
    return """python3 -m venv env
env/bin/pip install --no-index --find-links /escape/wheels smallthing > log 2>&1 || { cat log; exit 1; }
env/bin/python -c 'import smallthing, sys; assert sys.prefix.endswith("/env") and smallthing.answer() == 42'
echo works"""


@workload("WL-04", "Python: threads, subprocesses, a pool, shared memory, asyncio, temporary files, sqlite")
def python():
    return """cat > main.py <<'END'
import asyncio, concurrent.futures, ctypes, multiprocessing, os, signal, socket, sqlite3, ssl, subprocess, sys
import tempfile, threading, time
from multiprocessing import shared_memory

def square(n): return n * n

async def talk():
    async def serve(reader, writer):
        writer.write((await reader.readline()).upper()); await writer.drain(); writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"hello\\n"); line = await reader.readline(); writer.close(); server.close()
    shell = await asyncio.create_subprocess_shell("echo sub", stdout=subprocess.PIPE)
    return line, (await shell.communicate())[0]

def main():
    with multiprocessing.Pool(4) as pool: assert pool.map(square, range(100)) == [n * n for n in range(100)]
    with multiprocessing.get_context("spawn").Pool(2) as pool: assert pool.map(square, [3]) == [9]
    with multiprocessing.Manager() as manager: assert manager.list([1, 2])[1] == 2
    with concurrent.futures.ProcessPoolExecutor(2) as pool: assert list(pool.map(square, [2, 3])) == [4, 9]
    block = shared_memory.SharedMemory(create=True, size=4096); block.buf[0] = 7; block.close(); block.unlink()
    seen = []
    threads = [threading.Thread(target=seen.append, args=(i,)) for i in range(50)]
    [t.start() for t in threads]; [t.join() for t in threads]; assert sorted(seen) == list(range(50))
    assert subprocess.run(["tr", "a", "b"], input="aa", text=True, capture_output=True).stdout == "bb"
    assert asyncio.run(talk()) == (b"HELLO\\n", b"sub\\n")
    with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile() as f, tempfile.TemporaryFile() as g:
        f.write(b"x"); g.write(b"y"); assert os.path.isdir(d)
    base = sqlite3.connect("base.db"); base.execute("pragma journal_mode=wal")
    base.execute("create table t(a)"); base.executemany("insert into t values(?)", [(i,) for i in range(1000)])
    base.commit(); assert base.execute("select sum(a) from t").fetchone() == (499500,)
    left, right = socket.socketpair(); left.send(b"x"); assert right.recv(1) == b"x"
    assert os.cpu_count() >= 1 and "processor" in open("/proc/cpuinfo").read()
    assert int(open("/proc/meminfo").read().split()[1]) > 0 and os.getloadavg() and os.uname()
    signal.signal(signal.SIGALRM, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(0.05)
    assert os.getrandom(8) and ssl.create_default_context() and socket.gethostbyname("localhost") == "127.0.0.1"
    os.mkfifo("fifo"); os.symlink("fifo", "link"); os.link("main.py", "hard"); os.utime("hard"); os.chmod("hard", 0o600)
    import pwd; assert pwd.getpwuid(os.getuid()).pw_dir == os.path.expanduser("~")
    pid, fd = __import__("pty").fork()
    if pid == 0: os.execvp("tty", ["tty"])
    assert b"/dev/pts/" in os.read(fd, 100); os.waitpid(pid, 0)
    print("works")

if __name__ == "__main__": main()
END
python3 main.py"""


# --- node


def make_tarball(box):
    """Creates a package for npm, like `npm pack`."""
    package = box.directory / "npm" / "package"
    package.mkdir(parents=True, exist_ok=True)
    (package / "package.json").write_text('{"name": "smallthing", "version": "1.0.0", "main": "index.js",'
                                          ' "bin": {"smallthing": "index.js"},'
                                          ' "scripts": {"postinstall": "node -e 1"}}')
    (package / "index.js").write_text("#!/usr/bin/env node\nmodule.exports = 42;\n")
    subprocess.run(["tar", "-czf", str(box.offered / "smallthing.tgz"), "-C", str(package.parent), "package"],
                   check=True)


@workload("WL-05", "Node: a server and its client, worker threads, child processes, files", needs=("node",))
def node():
    return """cat > main.js <<'END'
const http = require('http'), fs = require('fs'), { execFileSync, fork } = require('child_process');
const { Worker } = require('worker_threads'), zlib = require('zlib'), crypto = require('crypto');
fs.writeFileSync('child.js', "process.send(process.pid)");
const worker = code => new Promise((done, failed) => {
  const w = new Worker(code, { eval: true }); w.on('message', done); w.on('error', failed); });
(async () => {
  const server = http.createServer((q, a) => a.end('served ' + q.url)).listen(0, '127.0.0.1');
  await new Promise(r => server.on('listening', r));
  const text = await (await fetch(`http://127.0.0.1:${server.address().port}/x`)).text();
  if (text !== 'served /x') throw text;
  server.close(); server.closeAllConnections();
  const sums = await Promise.all([1, 2, 3, 4].map(n =>
    worker(`let s = 0; for (let i = 0; i < 1e6; i++) s += ${n}; require('worker_threads').parentPort.postMessage(s)`)));
  if (sums[3] !== 4e6) throw sums;
  if (execFileSync('echo', ['child']).toString() !== 'child\\n') throw 'exec';
  await new Promise(r => fork('./child.js').on('message', r));
  await fs.promises.writeFile('f', crypto.randomBytes(1 << 20));
  if (zlib.gunzipSync(zlib.gzipSync(fs.readFileSync('f'))).length !== 1 << 20) throw 'zlib';
  if (!require('os').cpus().length || !require('os').networkInterfaces()) throw 'os';
  const watched = new Promise(r => fs.watch('.', () => r())); fs.writeFileSync('g', ''); await watched;
  console.log('works'); process.exit(0);
})().catch(e => { console.error(e); process.exit(1); });
END
node main.js"""


@workload("WL-06", "npm installs a tarball for a project and for the user", needs=("node", "npm"),
          prepare=make_tarball, timeout=2 * MINUTE)
def npm():
    return """mkdir project; cd project
npm init -y > log 2>&1 || { cat log; exit 1; }
npm install --offline --no-audit --no-fund /escape/smallthing.tgz > log 2>&1 || { cat log; exit 1; }
node -e "if (require('smallthing') !== 42) process.exit(1)"
npx --offline smallthing
npm install --offline --no-audit --no-fund -g /escape/smallthing.tgz > log 2>&1 || { cat log; exit 1; }
smallthing; cd ..
echo works"""


# --- networking without netlink, which the filter refuses


@workload("WL-14", "Python: addresses of localhost, and the list of interfaces fails with OSError")
def resolve_python():
    return """python3 - <<'END'
import socket, socketserver, threading, urllib.request, http.server
for family, want in ((socket.AF_INET, {"127.0.0.1"}), (socket.AF_INET6, {"::1"}), (0, {"127.0.0.1", "::1"})):
    for flags in (0, socket.AI_ADDRCONFIG, socket.AI_V4MAPPED | socket.AI_ADDRCONFIG):
        found = {row[4][0] for row in socket.getaddrinfo("localhost", 80, family, socket.SOCK_STREAM, 0, flags)}
        assert found == want, (family, flags, found)
assert socket.if_nametoindex("lo") == 1 and socket.if_indextoname(1) == "lo"
try: assert socket.if_nameindex() == [(1, "lo")]
except OSError as error: assert error.errno == 97, error
class V6(http.server.HTTPServer): address_family = socket.AF_INET6
for kind, host in ((http.server.HTTPServer, "127.0.0.1"), (V6, "[::1]")):
    server = kind(("localhost", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert urllib.request.urlopen(f"http://{host}:{server.server_port}/").status == 200
END
echo works"""


@workload("WL-15", "Node: lists its interfaces and resolves localhost", needs=("node",))
def resolve_node():
    return """cat > main.mjs <<'END'
import os, { networkInterfaces } from 'os';
import http from 'http';
import dns from 'dns/promises';
import { Worker } from 'worker_threads';
if (os.networkInterfaces().lo[0].address !== '127.0.0.1' || !networkInterfaces().lo) throw 'interfaces';
await new Promise((done, failed) => new Worker("require('os').networkInterfaces()", { eval: true })
  .on('error', failed).on('exit', done));
const found = await dns.lookup('localhost', { all: true, hints: 32 });
if (found.length !== 2) throw found;
for (const host of ['localhost', undefined]) {
  const server = http.createServer((q, a) => a.end('served')).listen(0, host);
  await new Promise(r => server.on('listening', r));
  if (await (await fetch(`http://localhost:${server.address().port}`)).text() !== 'served') throw host;
}
console.log('works'); process.exit(0);
END
node main.mjs"""


@workload("WL-16", "Java: a server on all addresses, and the list of interfaces", needs=("javac", "java"),
          timeout=2 * MINUTE)
def resolve_java():
    return """cat > Main.java <<'END'
import java.net.*; import java.util.*;
public class Main {
	public static void main(String[] args) throws Exception {
		ServerSocket server = new ServerSocket(0);
		new Thread(() -> { try { server.accept().getOutputStream().write(7); } catch (Exception e) { } }).start();
		if (new Socket("localhost", server.getLocalPort()).getInputStream().read() != 7) System.exit(1);
		if (!Collections.list(NetworkInterface.getNetworkInterfaces()).get(0).getName().equals("lo")) System.exit(2);
		if (InetAddress.getAllByName("localhost").length < 1 || InetAddress.getLocalHost() == null) System.exit(3);
		new DatagramSocket().close(); System.out.println("works");
	}
}
END
javac Main.java && java Main"""


@workload("WL-17", "Go: listens, dials and serves; the list of interfaces is an error", needs=("go",),
          timeout=3 * MINUTE)
def resolve_go():
    return """cat > main.go <<'END'
package main

import ("io"; "net"; "net/http"; "os")

func main() {
	for _, where := range []string{"localhost:0", "127.0.0.1:0", "[::1]:0", ":0"} {
		l, err := net.Listen("tcp", where)
		if err != nil { panic(err) }
		go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "served") }))
		_, port, _ := net.SplitHostPort(l.Addr().String())
		host, _, _ := net.SplitHostPort(where)
		if host == "" { host = "localhost" }
		r, err := http.Get("http://" + net.JoinHostPort(host, port))
		if err != nil { panic(err) }
		if text, _ := io.ReadAll(r.Body); string(text) != "served" { os.Exit(1) }
	}
	if _, err := net.ListenPacket("udp", "localhost:0"); err != nil { panic(err) }
	if list, err := net.Interfaces(); err == nil && len(list) != 1 { os.Exit(2) }
	os.Stdout.WriteString("works\\n")
}
END
GOFLAGS=-p=1 go run main.go"""


@workload("WL-18", "ifconfig shows loopback; ip and ss end with a message", needs=("busybox", "curl"))
def interface_tools():
    return """busybox ifconfig | grep -q 'inet addr:127.0.0.1'; busybox netstat -ltn > /dev/null
python3 -m http.server --bind localhost 8123 2> log & for i in $(seq 100); do sleep 0.1; curl -s localhost:8123 > f && break; done
grep -q log f; kill $!; busybox ip addr || true; if command -v ip; then timeout 9 ip addr || test $? = 1; fi
echo works"""


# --- compilers


@workload("WL-07", "gcc and make build a project, in parallel, and it runs", needs=("gcc", "make"))
def build():
    return """mkdir -p src; for i in 1 2 3 4 5; do echo "int f$i(void) { return $i; }" > src/f$i.c; done
echo '#include <stdio.h>
#include <pthread.h>
int f1(void); int f5(void);
static void *g(void *p) { return p; }
int main(void) { pthread_t t; pthread_create(&t, NULL, g, NULL); pthread_join(t, NULL);
	return printf("%d\\n", f1() + f5()) != 2; }' > src/main.c
printf 'CFLAGS = -O2 -g -Wall\\nprog: $(patsubst %%.c,%%.o,$(wildcard src/*.c))\\n\\tgcc -pthread -o $@ $^\\n' > Makefile
make -j3 > log 2>&1 || { cat log; exit 1; }
test "$(./prog)" = 6; make | grep -q 'up to date'
gcc -shared -fPIC -o libf.so src/f1.c
python3 -c 'import ctypes; assert ctypes.CDLL("./libf.so").f1() == 1'
echo works"""


@workload("WL-08", "g++ builds and runs", needs=("g++",))
def build_more():
    return """cat > m.cc <<'END'
#include <filesystem>
#include <future>
#include <iostream>
int main() { auto f = std::async(std::launch::async, [] { return 6 * 7; });
	std::cout << (f.get() == 42 && std::filesystem::exists("m.cc") ? "works" : "no") << std::endl; }
END
g++ -std=c++17 -O1 -pthread m.cc -o m; ./m"""


@workload("WL-09", "javac and java: threads, files, a socket", needs=("javac", "java"), timeout=2 * MINUTE)
def java():
    return """cat > Main.java <<'END'
import java.net.*; import java.nio.file.*; import java.util.concurrent.*; import java.util.stream.*;
public class Main {
	public static void main(String[] args) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(4);
		if (pool.submit(() -> IntStream.range(0, 1000).parallel().sum()).get() != 499500) System.exit(1);
		Files.writeString(Path.of("f"), "x");
		ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
		pool.submit(() -> { server.accept().getOutputStream().write(7); return 0; });
		if (new Socket(server.getInetAddress(), server.getLocalPort()).getInputStream().read() != 7) System.exit(2);
		Process p = new ProcessBuilder("echo", "x").start();
		if (p.waitFor() != 0) System.exit(3);
		pool.shutdown(); System.out.println("works");
	}
}
END
javac Main.java && java Main"""


# --- tools


@workload("WL-10", "git: init, commit, branch, merge, gc, clone, diff", needs=("git",))
def git():
    return """git init -q -b main a; cd a; git config user.email a@b; git config user.name n
for i in $(seq 30); do echo $i > f$i; git add .; git commit -q -m "number $i"; done
git checkout -q -b side HEAD~5; echo side > side; git add side; git commit -q -m side
git checkout -q main; git merge -q -m merged side; git gc -q; git fsck 2> /dev/null; cd ..
git clone -q a b; test "$(git -C b log --oneline | wc -l)" = 32; git -C b diff --quiet HEAD~1 || true
git clone -q --bare a c.git; git -C b push -q ../c.git HEAD:new; git -C a status --short; git -C a stash list
echo works"""


@workload("WL-11", "shells: pipelines, jobs, process substitution, here documents, traps", needs=("bash",))
def shell():
    return """test "$(seq 1000 | sort -rn | head -n 1)" = 1000
diff <(echo a) <(echo a); sleep 0.1 & wait $!; cat > f <<< text; grep -q text f
(trap 'echo trapped > t' TERM; sleep 0.2 & kill -TERM $BASHPID; wait) || true; grep -q trapped t
mkfifo p; (echo through > p &); test "$(cat p)" = through
find . -type f -print0 | xargs -0 -n 1 -P 4 wc -c > /dev/null; yes | head -n 100000 | wc -l | grep -q 100000
coproc cat; echo x >&${COPROC[1]}; read -r -u ${COPROC[0]} y; test $y = x
test -w /dev/null -a -r /dev/urandom -a -d /dev/shm; echo err > /dev/stderr; echo out > /dev/stdout
timeout 1 sleep 0.1; nice -n 5 true; nohup true; setsid true; flock f true; date > /dev/null; id -un; umask 077
echo works"""


@workload("WL-12", "tools: tar, xz, gzip, zip of python, perl, awk, sed, ps, nproc, ssh-keygen, openssl",
          needs=("tar", "xz", "perl", "ps", "openssl", "ssh-keygen"))
def tools():
    return """mkdir d; seq 1000 > d/f; ln -s f d/l; ln d/f d/h; tar -cJf d.tar.xz d; tar -czf d.tar.gz d
mkdir e; tar -xJf d.tar.xz -C e; cmp d/f e/d/f; tar -xzf d.tar.gz -C e; xz -T2 -k e/d/f; python3 -m zipfile -c z.zip d
test "$(perl -e 'print join ",", map { $_ * 2 } 1..3; system("true") == 0 or die')" = 2,4,6
test "$(nproc)" -ge 1; ps aux | grep -q 'ps aux'; ps -ef > /dev/null; top -b -n 1 > /dev/null; free > /dev/null
df . > /dev/null; du -s . > /dev/null; uptime > /dev/null; stat f d > /dev/null 2>&1 || true; sha256sum d/f > /dev/null
ssh-keygen -q -t ed25519 -N '' -f key; openssl genrsa -out k.pem 2048 2> /dev/null
openssl req -x509 -key k.pem -subj /CN=x -days 1 -out c.pem; openssl verify -CAfile c.pem c.pem > /dev/null
cp -a d copy; mv copy moved; rm -r moved; sed -i s/1/2/ d/f; awk 'END { exit NR != 1000 }' d/f
mktemp > /dev/null; mktemp -d > /dev/null; getent passwd root > /dev/null; getent hosts localhost > /dev/null
echo works"""


@workload("WL-13", "the program sqlite3 works", needs=("sqlite3",))
def sqlite():
    return """sqlite3 b.db 'pragma journal_mode=wal; create table t(a); insert into t values(41); update t set a = a + 1;'
test "$(sqlite3 b.db 'select a from t')" = 42; sqlite3 b.db .dump > /dev/null; sqlite3 b.db vacuum
echo works"""


def with_strict_filter(box):
    here = [row for row in WORKLOADS if has(row[2], row[3])]
    for _, _, _, _, prepare in here:
        if prepare:
            prepare(box)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda row: box.exec("bash", "-c", row[1], options=STRICT, timeout=3 * MINUTE), here)
        failed = [f"{row[0]}: {done}" for row, done in zip(here, results)
                  if done.code != 0 or not done.out.endswith("works\n")]
    assert not failed, "\n".join(failed)


for row in AS_ROOT:
    test(*row[:2], modes="R", long=True)(row[2])
test("WL-20", "all workloads work with the filter 'strict'", modes="R")(with_strict_filter)
test("WL-20", "all workloads work with the filter 'strict'", modes="US", long=True)(with_strict_filter)


@test("WL-21", "packages installed for the user stay in a kept sandbox")
def kept(box):
    make_wheel(box)
    box.sh("pip install --no-index --find-links /escape/wheels smallthing && echo data > file", sandbox="kept")
    again = box.sh("python3 -c 'import smallthing; print(smallthing.answer())'; cat file", sandbox="kept")
    assert again.out == "42\ndata\n", again


@test("WL-22", "HOME and the user's site-packages are in the sandbox", modes="RUS")
def homes(box):
    seen = box.sh("cd; pwd; python3 -c 'import site; print(site.getusersitepackages())'; echo $HOME; whoami")
    home = seen.out.split()[0]
    assert seen.code == 0 and seen.out.split()[1].startswith(home) and seen.out.split()[2] == home, seen
    assert not pathlib.Path(home).exists() or pathlib.Path(home).owner(), "the host has the same directory without an owner"
