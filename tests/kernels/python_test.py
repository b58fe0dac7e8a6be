"""python_test.py - the Python kernel (src/kernels/python*.py): fresh runs behave as `python3 main.py`
does, and sessions keep the state of their cells."""
import hashlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import tap
from kernel import LOADER, PYTHON, Kernel, OnceKernel, compiled, frame


def has(module):
    return subprocess.run([PYTHON, "-c", "import " + module], stderr=subprocess.DEVNULL).returncode == 0


def alive(pid):
    try:
        values = pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
        return values[0] != "Z" or values[17] != "1"  # threads
    except OSError:
        return False


def interruptible():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def child_of(pid):
    return int(pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text())


def without_addresses(text):
    return re.sub("0x[0-9a-f]{6,}", "0x", text)


# Each program is run by the kernel and by `python3 main.py`; output and status must be the same.
SAME = {
    "prints": "print(1); import sys; print('e', file=sys.stderr)",
    "nothing": "",
    "only a comment": "# nothing",
    "exit with a number": "import sys; print('x', end=''); sys.exit(7)",
    "exit with a text": "import sys; sys.exit('gone')",
    "exit with nothing": "import sys; sys.exit()",
    "exit with a large number": "raise SystemExit(256 + 3)",
    "os._exit": "import os; print('lost'); os._exit(9)",
    "abort": "import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.abort()",
    "killed by a signal": "import os; os.kill(os.getpid(), 9)",
    "exception": "def f():\n    raise ValueError('bad')\n\nf()\n",
    "exception in a chain": "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise KeyError(1) from e\n",
    "exception with notes of its own": "class E(Exception):\n    pass\nraise E('x')",
    "syntax error": "x = 1\nif x\n    pass\n",
    "indentation error": "if 1:\nx\n",
    "syntax warning": "print('\\d' if 1 is 1 else 0)",
    "keyboard interrupt": "raise KeyboardInterrupt",
    "SIGINT": "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n",
    "SIGTERM": "import os, signal, time\nos.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(5)\n",
    "recursion": "import sys\nsys.setrecursionlimit(100)\ndef f(): f()\ntry:\n    f()\nexcept RecursionError as e:\n    print(e)\n",
    "atexit": "import atexit; atexit.register(print, 'at exit'); print('body'); 1/0",
    "__del__ of a global": "class A:\n    def __del__(self): print('del', __name__)\na = A()\nprint('end')",
    "an open file is flushed": "f = open('flushed.txt', 'w'); f.write('abc')",
    "threads are joined": "import threading, time\nprinted = threading.Event()\ndef f():\n    printed.wait(); time.sleep(.1); print('thread')\nthreading.Thread(target=f).start()\nprint(threading.main_thread() is threading.current_thread(), threading.active_count())\nprinted.set()",
    "a daemon thread is not": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "exception in a thread": "import threading\nt = threading.Thread(target=lambda: 1/0, name='T'); t.start(); t.join()",
    "excepthook": "import sys, traceback\ndef hook(kind, value, tb):\n    print('hook', kind, value, len(traceback.extract_tb(tb)), sys.excepthook is hook)\nsys.excepthook = hook\n1/0",
    "the namespace": "print([(k, repr(v).partition(' at ')[0]) for k, v in list(globals().items())])",
    "the hooks": "import sys; print(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.gettrace(), sys.exc_info())",
    "__main__": "import sys; m = sys.modules['__main__']; print(m.__dict__ is globals(), m, __name__, vars(m).get('take'))",
    "modules": "import sys; print(sorted(sys.modules), [m for m in sys.modules][:30])",
    "caches": "import sys; print(sorted(k for k in sys.path_importer_cache if not k.endswith('main.py')))",
    "argv": ("import sys; print(sys.argv, getattr(sys, 'orig_argv', 0), sys.flags, sys.executable, sys.path[1:], sys.warnoptions, sys._xoptions)", {"args": ["a b", "", "-x"]}),
    "descriptors": "import os; print(sorted(os.listdir('/proc/self/fd')), [os.get_inheritable(i) for i in range(3)], os.get_blocking(1))",
    "standard streams": "import sys\nfor s in sys.stdin, sys.stdout, sys.stderr, sys.__stdin__:\n    print(s, s.encoding, s.errors, s is sys.stdout or s.line_buffering, s.newlines, s.buffer, s.fileno(), s.isatty())\nprint(sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__)",
    "stdin is empty": "import sys; print(repr(sys.stdin.read())); input()",
    "stdin": ("import sys; print(input()); print(sys.stdin.readlines(), sys.stdin.tell() if sys.stdin.seekable() else '')", {"stdin": "one\r\ntwo\nthrée".encode()}),
    "stdin for a child": ("import subprocess; subprocess.run(['cat'])", {"stdin": b"x" * 100000}),
    "environment": ("import os, subprocess; print(os.environ['A'], os.getenv('B')); subprocess.run('echo $A', shell=True)", {"env": ["A=b=c", "B="]}),
    "the time zone": ("import time; print(time.tzname, time.timezone, time.localtime(0))", {"env": ["TZ=Asia/Tokyo"]}),
    "signals": "import signal\nfor s in range(1, 32):\n    print(s, signal.getsignal(s))\nprint(signal.pthread_sigmask(signal.SIG_BLOCK, []), open('/proc/self/status').read().partition('SigBlk')[2].partition('Speculation')[0].partition('\\nCap')[0])",
    "ctypes, and memory that others may look at": "import ctypes, os, sys\nif os.fork() == 0: sys.exit()\nos.wait()\nprint(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), ctypes.sizeof(ctypes.c_long), sorted(m for m in sys.modules if 'ctypes' in m))",
    "ctypes in a child": "import os\nif os.fork() == 0:\n    import ctypes\n    print(ctypes.CDLL(None).getpid() == os.getpid())\nelse:\n    os.wait()",
    "leads its session": "import os; print(os.getpid() == os.getsid(0) == os.getpgrp())",
    "locale": "import locale, sys; print(locale.getpreferredencoding(), locale.setlocale(locale.LC_ALL, None), sys.getfilesystemencoding(), sys.getdefaultencoding())",
    "warnings": "import warnings; warnings.warn('w'); warnings.warn('d', DeprecationWarning); print(warnings.filters)",
    "imports leave tracebacks alone": "import json\njson.loads('{')",
    "getsource": "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f), inspect.getfile(f)[-8:])",
    "dataclass, pickle, typing": "import dataclasses, pickle, typing\n@dataclasses.dataclass\nclass P:\n    x: int\n    y: 'P' = None\nprint(pickle.loads(pickle.dumps(P(1, P(2)))), typing.get_type_hints(P), P.__module__)",
    "annotations": "x: int = 3\nprint(__annotations__)",
    "asyncio": "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    return 5\nprint(asyncio.run(f()))",
    "multiprocessing by fork": "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n    with m.get_context('fork').Pool(2) as p: print(p.map(f, range(5)))",
    "multiprocessing by spawn": "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n    with m.get_context('spawn').Pool(2) as p: print(p.map(f, range(5)))",
    "multiprocessing by a server": "import multiprocessing as m\ndef f(q): q.put((__name__, 6))\nif __name__ == '__main__':\n    c = m.get_context('forkserver'); q = c.Queue(); p = c.Process(target=f, args=(q,)); p.start(); print(q.get()); p.join(); print(p.exitcode)",
    "concurrent.futures": "from concurrent.futures import ThreadPoolExecutor, ProcessPoolExecutor\nimport multiprocessing\ndef f(x): return x + 1\nif __name__ == '__main__':\n    with ThreadPoolExecutor() as t: print(list(t.map(f, [1, 2])))\n    with ProcessPoolExecutor(2) as t: print(list(t.map(f, [1, 2])))",
    "subprocess": "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'print(2)'], stdout=subprocess.PIPE).stdout, subprocess.run('exit 3', shell=True).returncode)",
    "a child that falls off the end": "import os, sys\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint(bool(pid))",
    "exec": "import os; os.execlp('echo', 'echo', 'replaced')",
    "a coding line": "# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))".encode("latin-1"),
    "a byte order mark": b"\xef\xbb\xbfprint('bom')",
    "CRLF": b"def f():\r\n    return '''a\r\nb'''\r\nprint(repr(f()))\r\n",
    "no line end": "if 1:\n    print(2)",
    "stdout is closed": "import sys, os\nsys.stdout.flush(); os.close(1)\nprint('x')",
    "a future": "from __future__ import annotations\ndef f(x: nothing): pass\nprint(f.__annotations__)",
    "unraisable": "class A:\n    def __del__(self): 1/0\nA()\nprint('on')",
    "exception group": "try:\n    ExceptionGroup\nexcept NameError:\n    pass\nelse:\n    raise ExceptionGroup('g', [ValueError(1), KeyError(2)])",
    "garbage": "import gc; print(gc.isenabled(), gc.get_threshold(), gc.garbage, gc.get_debug())",
    "umask and limits": "import os, resource; u = os.umask(0); print(oct(u), resource.getrlimit(resource.RLIMIT_NOFILE), os.nice(0))",
    "nothing is left of the compilation": ("import sys, warnings\nf = lambda: lambda: 0\n"
                                           "print(sys.gettrace(), warnings.filters, f().__code__.co_filename)"),
    "main imports itself": "import __main__; print(__main__.__file__ == __file__)",
    "a traceback of an import": ("import broken", {"files": {"broken.py": "def f():\n    1/0\nf()\n"}}),
}


class Versions(unittest.TestCase):
    def test_other_versions_of_python_print(self):
        """Python 3.12 has crashed in print(), and only other images than this machine's have it."""
        for python in sorted(pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3")):
            if python.parts[-3].startswith(("3.5", "3.6")):
                continue
            for is_session in False, True:
                with self.subTest(python=python.parts[-3], is_session=is_session):
                    kernel = Kernel(session=is_session, python=str(python))
                    self.addCleanup(kernel.end)
                    got = kernel.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n5", is_cell=is_session)
                    self.assertEqual((got.out, got.err, got.shown), ("out\n", "err\n", [("text/plain", "5", "")]))
            with self.subTest(python=python.parts[-3], is_once=True):
                kernel = OnceKernel(python=str(python))
                self.addCleanup(kernel.end)
                got = kernel.run("def f():\n    return 1/0\nprint('out')\nf()")
                self.assertEqual((got.out, got.code), ("out\n", 1))
                self.assertIn('/main.py", line 2, in f\n', got.err)


class Same(unittest.TestCase):
    maxDiff = None
    make_kernel = Kernel

    @classmethod
    def setUpClass(cls):
        cls.kernel = cls.make_kernel()

    @classmethod
    def tearDownClass(cls):
        cls.kernel.end()

    def bare(self, path, code, stdin=None, args=(), env=()):
        """Output and status of `python3 main.py` with the same path."""
        os.mkdir(os.path.dirname(path), 0o700)
        pathlib.Path(path).write_bytes(code)
        environment = dict(os.environ, MPLBACKEND="Agg")
        environment.update(e.split("=", 1) for e in env)
        with open(self.kernel.home / "stdin", "wb") as file:
            file.write(stdin or b"")
        with open("/dev/null" if stdin is None else self.kernel.home / "stdin", "rb") as file:
            done = subprocess.run([PYTHON, path, *args], cwd=self.kernel.home, env=environment,
                                  stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  start_new_session=True, timeout=60, preexec_fn=interruptible)
        for left in os.listdir(os.path.dirname(path)):
            if left != "__pycache__":
                os.unlink(os.path.join(os.path.dirname(path), left))
        return (without_addresses(done.stdout.decode()), without_addresses(done.stderr.decode()),
                max(done.returncode, 0), max(-done.returncode, 0))


def same(name, code, options):
    def test(self):
        bytes_ = code if isinstance(code, bytes) else code.encode()
        extra = dict(options)
        for file, text in extra.pop("files", {}).items():
            (self.kernel.home / file).write_text(text)
        got = self.kernel.run(bytes_, cwd=str(self.kernel.home), **extra)
        path = self.kernel.name + "/main.py"
        self.assertFalse(os.path.exists(self.kernel.name))
        if "files" in options:
            extra["env"] = ["PYTHONPATH=" + str(self.kernel.home)]
        want = self.bare(path, bytes_, **extra)
        self.assertEqual((without_addresses(got.out), without_addresses(got.err), got.code,
                          got.signal), want)
    test.__doc__ = "the same as python3 main.py: " + name
    return test


class SameOnce(Same):
    """The same programs in an interpreter that becomes the run."""
    make_kernel = OnceKernel


for number, (name_, program) in enumerate(SAME.items()):
    code_, options_ = program if isinstance(program, tuple) else (program, {})
    setattr(Same, "test_%03d" % number, same(name_, code_, options_))
    if name_ == "descriptors":
        setattr(SameOnce, "test_%03d" % number, None)  # the run has the socket as a further descriptor



@unittest.skipUnless(os.access("/dev/shm", os.W_OK), "no /dev/shm")
class InMemory(unittest.TestCase):
    """The server chooses a directory in /dev/shm for the code of a fresh run."""
    make_kernel = Kernel

    def setUp(self):
        self.kernel = self.make_kernel()
        self.addCleanup(self.kernel.end)
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="kernel-test-", dir="/dev/shm"))
        self.addCleanup(shutil.rmtree, self.place, True)

    def run_in(self, place):
        got = self.kernel.run("print(__file__)\n1 / 0", name=str(place))
        self.assertIn("1 / 0", got.err)  # the traceback has the line of the file
        return got.out.strip()

    def test_code_is_saved_where_the_server_says(self):
        self.place.rmdir()
        self.assertEqual(self.run_in(self.place), str(self.place / "main.py"))

    def test_code_is_saved_below_tmp_if_that_fails(self):
        below_tmp = pathlib.Path("/tmp") / self.place.name
        self.assertEqual(self.run_in(self.place), str(below_tmp / "main.py"))
        self.assertFalse(below_tmp.exists())


class InMemoryOnce(InMemory):
    make_kernel = OnceKernel


class Fresh(unittest.TestCase):
    """Fresh runs, where they differ from a new interpreter."""

    def setUp(self):
        self.kernel = Kernel()
        self.addCleanup(self.kernel.end)

    def test_each_run_starts_with_a_new_interpreter(self):
        self.kernel.run("import os, sys, json; x = 1; sys.path.append('gone'); os.environ['GONE'] = '1'"
                        "; import builtins; builtins.gone = 1; os.chdir('/'); os.umask(0)")
        got = self.kernel.run("import os, sys; print('x' in globals(), 'json' in sys.modules, 'gone' in sys.path,"
                              " 'GONE' in os.environ, os.getcwd(), oct(os.umask(0)))\ngone")
        self.assertEqual(got.out, "False False False False %s 0o22\n" % self.kernel.home)
        self.assertIn("NameError: name 'gone' is not defined", got.err)

    def test_random_numbers_differ_between_runs(self):
        code = "import random, uuid, secrets, tempfile; print(random.random(), uuid.uuid4(), secrets.token_hex(), tempfile.mktemp())"
        words = [self.kernel.run(code).out.split() for _ in range(3)]
        for column in zip(*words):
            self.assertEqual(len(set(column)), 3, column)

    def test_code_with_a_zero_byte_is_refused(self):
        got = self.kernel.run(b"print(1)\0")
        self.assertEqual((got.out, got.code), ("", 1))
        self.assertRegex(got.err, "^(Value|Syntax)Error: source code .*cannot contain null bytes\\n$")

    def test_modules_come_from_the_working_directory(self):
        (self.kernel.home / "sub").mkdir()
        (self.kernel.home / "sub/mine.py").write_text("print('mine')")
        self.assertEqual(self.kernel.run("import mine", cwd=str(self.kernel.home / "sub")).out, "mine\n")

    def test_kernel_imports_no_module_of_the_user(self):
        trap = "open('imported-%s' % __name__, 'w')"
        names = ("resource", "gc", "time", "ast", "atexit", "tokenize", "traceback", "re",
                 "token", "enum", "_ctypes")
        for session in False, True:
            kernel = Kernel(session, files={name + ".py": trap for name in names})
            self.addCleanup(kernel.end)
            if session:
                self.assertEqual(kernel.cell("1/0").error[0], "ZeroDivisionError")
            else:
                self.assertEqual(kernel.run("import os; os.system('sleep 100 &'); print(1)").out, "1\n")
            self.assertEqual([p.name for p in kernel.home.glob("imported-*")], [])

    def test_missing_working_directory_is_an_error(self):
        got = self.kernel.run("print(1)", cwd="/nowhere")
        self.assertEqual((got.out, got.code), ("", 1))
        self.assertEqual(got.err, "belljar: cannot start: [Errno 2] No such file or directory: '/nowhere'\n")

    def test_existing_directory_is_neither_used_nor_removed(self):
        taken = self.kernel.home / "taken"
        taken.mkdir()
        (taken / "keep").write_text("")
        got = self.kernel.run("print(1)", name=str(taken))
        self.assertEqual((got.out, got.code), ("", 1))
        self.assertIn("File exists", got.err)
        self.assertTrue((taken / "keep").exists())

    def test_processes_left_behind_are_killed(self):
        got = self.kernel.run("""
            import os, subprocess, time
            a = subprocess.Popen(['sleep', '100'])
            b = subprocess.Popen('(sleep 101; echo late) & echo $!', shell=True, stdout=subprocess.PIPE)
            c = os.fork()
            if c == 0:
                os.setsid()
                if os.fork() == 0:
                    while True:
                        os.write(1, b'late\\n'); time.sleep(.2)
                os._exit(0)
            print(a.pid, b.stdout.readline().decode().strip(), flush=True)
            """.replace("\n            ", "\n"))
        pids = got.out.replace("late\n", "").split()
        self.assertEqual(len(pids), 2, (got.out, got.err))
        for pid in pids:
            self.assertFalse(alive(int(pid)), pid)
        time.sleep(0.5)
        self.assertEqual(self.kernel.run("print(1)").out, "1\n")

    def test_processes_that_hide_are_killed(self):
        """A process that is not dumpable, and one whose first thread has exited."""
        got = self.kernel.run("""
            import ctypes, os, threading, time
            libc = ctypes.CDLL(None)
            told, tell = os.pipe()
            for way in range(2):
                if os.fork():
                    continue
                os.setsid()
                if os.fork():
                    os._exit(0)
                if way == 0:
                    libc.prctl(4, 0, 0, 0, 0)
                else:
                    threading.Thread(target=time.sleep, args=(100,)).start()
                os.write(tell, b'%d ' % os.getpid())
                if way == 1:
                    getattr(libc, 'pthread_exit')(None)
                time.sleep(100)
            text = b''
            while text.count(b' ') < 2:
                text += os.read(told, 100)
            print(text.decode())
            time.sleep(.1)
            """.replace("\n            ", "\n"))
        pids = [int(pid) for pid in got.out.split()]
        self.assertEqual((len(pids), [pid for pid in pids if alive(pid)]), (2, []), got.err)

    def test_code_handles_sigterm_and_sighup(self):
        for number in signal.SIGTERM, signal.SIGHUP:
            self.kernel.send("import signal, sys, time\ndef end(*_):\n    time.sleep(.1); print('clean'); sys.exit(7)\n"
                             "signal.signal(%d, end); print('on', flush=True); time.sleep(60)" % number)
            self.kernel.await_line()
            child = child_of(self.kernel.pid)
            for pid in self.kernel.pid, child:
                os.kill(pid, number)
            got = self.kernel.finish()
            self.assertEqual((got.out, got.code, got.signal), ("clean\n", 7, 0))

    def test_directory_of_the_code_is_removed(self):
        outside = self.kernel.home / "outside"
        outside.mkdir()
        (outside / "keep").write_text("")
        self.kernel.run("import os; d = os.path.dirname(__file__); os.chdir(d); os.makedirs('a/b/c')"
                        "; open('a/b/f', 'w'); os.symlink(%r, 'a/link'); os.mkfifo('pipe')"
                        "; os.chmod('a/b', 0)" % str(outside))
        self.assertFalse(os.path.lexists(self.kernel.name))
        self.assertTrue((outside / "keep").exists())

    def test_link_in_place_of_the_directory_is_not_followed(self):
        outside = self.kernel.home / "outside"
        outside.mkdir()
        (outside / "main.py").write_text("")
        self.kernel.run("import os, shutil; d = os.path.dirname(__file__); shutil.rmtree(d)"
                        "; os.symlink(%r, d)" % str(outside))
        self.assertFalse(os.path.lexists(self.kernel.name))
        self.assertTrue((outside / "main.py").exists())

    def test_descriptors_are_blocking_again_after_a_run(self):
        self.kernel.run("import os; os.set_blocking(1, False); os.set_blocking(2, False)")
        got = self.kernel.run("import sys; sys.stdout.write('x' * 1000000); sys.stderr.write('y' * 1000000)")
        self.assertEqual((len(got.out), len(got.err), got.code), (1000000, 1000000, 0))

    def test_large_stdin_arrives_whole(self):
        data = os.urandom(8 << 20)
        got = self.kernel.run("import sys, hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())",
                              stdin=data)
        self.assertEqual(got.out.strip(), hashlib.sha256(data).hexdigest())

    def test_usage_counts_the_run_only(self):
        got = self.kernel.run("x = bytearray(100 << 20)\nimport time\nwhile time.process_time() < .3: pass")
        self.assertGreater(got.usage[0] + got.usage[1], 250000)
        self.assertGreater(got.usage[2], 100 << 10)
        self.assertLess(sum(self.kernel.run("").usage[:2]), 200000)

    @unittest.skipIf(tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (5, 14), "an older kernel")
    def test_memory_is_copied_before_the_run(self):
        self.kernel.run("1")
        sizes = self.kernel.run("import re\ntext = open('/proc/self/smaps').read()\n"
                                "for kind in 'Shared', 'Private':\n"
                                "    print(sum(map(int, re.findall(kind + '_Dirty: *([0-9]+)', text))))").out
        shared, private = map(int, sizes.split())
        self.assertLess(shared, private)

    def test_sigint_to_all_processes_ends_the_run_only(self):
        """The server sends SIGINT to all processes; the zygote ignores it."""
        self.kernel.send("import time; print('on', flush=True); time.sleep(60)")
        self.kernel.await_line()
        child = child_of(self.kernel.pid)
        for pid in self.kernel.pid, child:
            os.kill(pid, 2)
        result = self.kernel.finish()
        self.assertIn((result.code, result.signal), [(0, 2), (1, 0)])  # the latter in 3.7
        self.assertEqual(self.kernel.run("print(2)").out, "2\n")

    def test_idle_zygote_ignores_sigint(self):
        child = child_of(self.kernel.pid)
        for pid in self.kernel.pid, child:
            os.kill(pid, 2)
        self.assertEqual(self.kernel.run("print(2)").out, "2\n")

    def test_zygote_exits_when_its_waiting_child_is_killed(self):
        for number in signal.SIGKILL, signal.SIGTERM:
            kernel = Kernel()
            os.kill(child_of(kernel.pid), number)
            with self.assertRaises(EOFError):
                kernel.finish()
            self.assertEqual(kernel.end(), 128 + number)

    def test_text_is_used_where_the_compiled_code_does_not_fit(self):
        other = b"abcd" + compiled(PYTHON)[4:]
        for code in bytes(4), other:
            for session in False, True:
                kernel = Kernel(session=session, code=code)
                got = kernel.cell("6 * 7") if session else kernel.run("6 * 7")
                self.assertEqual(got.shown, [("text/plain", "42", "")])
                kernel.end()

    def test_unknown_frame_ends_the_kernel(self):
        self.kernel.socket.sendall(frame(b"Q", "x"))
        with self.assertRaises(EOFError):
            self.kernel.finish()

    def test_code_has_no_descriptor_of_the_socket(self):
        got = self.kernel.run("import os\nfor f in os.listdir('/proc/self/fd'):\n"
                              "    try:\n        print(f, os.readlink('/proc/self/fd/' + f)[:6])\n"
                              "    except OSError:\n        pass")
        self.assertNotIn("socket", got.out)

    def test_forged_display_records_are_refused(self):
        home = str(self.kernel.home)
        good = frame(b"v", "image/png", "", home + "/.belljar/figure-1.png")
        code = ("import os, signal\nat = os.path.dirname(__file__) + '/shown-'\n"
                "for i, text in enumerate(%r): open(at + '%%06d' %% i, 'wb').write(text)\n"
                "os.kill(os.getppid(), signal.SIGUSR1)")
        for claim in (b"\xff" * 100, frame(b"v", "image/png", "", "/etc/passwd"), frame(b"c", "a" * 129), frame(b"c"),
                      frame(b"v", "text html", "<b>", ""), frame(b"v", "text/html", b"\xff", ""), frame(b"x", 0, 0, 0, 0, 0, 0), b"v\xff",
                      frame(b"v", "image/png", "text", home + "/.belljar/a"), good + b"x", good + good):
            with self.subTest(claim=claim):
                self.assertEqual(len(self.kernel.run(code % [claim, good]).shown), 1)
        self.assertEqual(len(self.kernel.run(code % ([good] * 1000)).shown), 65)

    def test_only_files_are_displays(self):
        for make in ("os.mkfifo(%r)", "os.mkdir(%r)", "os.symlink('/etc/passwd', %r)", "os.symlink(__file__, %r)"):
            got = self.kernel.run("import os, signal\nos.chdir(os.path.dirname(__file__))\n" + make % "shown-1" +
                                  "\nos.kill(os.getppid(), signal.SIGUSR1)\ndisplay(5)")
            self.assertEqual((got.code, got.shown), (0, [("text/plain", "5", "")]))

    def test_a_run_that_removes_its_directory_goes_on(self):
        got = self.kernel.run("import os, shutil\nshutil.rmtree(os.path.dirname(__file__))\ndisplay(5)\nprint(6)")
        self.assertEqual((got.code, got.shown, got.out), (0, [], "6\n"))
        self.assertIn("belljar: a value cannot be shown: ", got.err)


def png_size(path):
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"), len(data)


class Once(unittest.TestCase):
    """A run in an interpreter that becomes the run, where it differs from one that a zygote forks."""

    def setUp(self):
        self.kernel = OnceKernel()
        self.addCleanup(self.kernel.end)

    def test_values_are_sent_in_order(self):
        got = self.kernel.run("display(1); print('a'); display({'b': 2}); 'c'")
        self.assertEqual([text for _, text, _ in got.shown], ["1", "{'b': 2}", "'c'"])
        self.assertEqual((got.out, got.err, got.code), ("a\n", "", 0))

    def test_forked_processes_and_threads_display_whole_frames(self):
        got = self.kernel.run("import os, threading\ndef show(): [display('x' * 20000) for _ in range(6)]\n"
                              "pid = os.fork()\nthreads = [threading.Thread(target=show) for _ in range(3)]\n"
                              "[t.start() for t in threads]\n[t.join() for t in threads]\n"
                              "if pid: os.waitpid(pid, 0);\n")
        self.assertEqual({text for _, text, _ in got.shown}, {repr('x' * 20000)})
        self.assertEqual(len(got.shown), 36)

    def test_names_of_earlier_runs_are_hinted_at(self):
        self.kernel.run("value = 1\ndef f(): pass")
        self.assertEqual(self.kernel.former.split(), ["value", "f"])
        self.assertIn("an earlier run set 'value'", self.kernel.run("print(value)").err)
        zygote = Kernel(former="value f")
        self.addCleanup(zygote.end)
        self.assertIn("an earlier run set 'f'", zygote.run("f()").err)

    def test_names_are_found_without_a_syntax_tree(self):
        self.kernel.run("import os.path as p, sys\nfor i in 'a': j, (k, *l) = 1, 'bc'\nj += 1\nprint(len(l))")
        self.assertEqual(sorted(self.kernel.former.split()), ["i", "j", "k", "l", "p", "sys"])

    def test_classes_of_syntax_trees_are_not_made(self):
        """That would take a tenth of the time of a short run. Python 3.14 has no _filters_mutated."""
        got = self.kernel.run("import _warnings\nprint([c for c in object.__subclasses__() if c.__name__ == 'AST'"
                              " and hasattr(_warnings, '_filters_mutated')])")
        self.assertEqual((got.out, got.err), ("[]\n", ""))

    def test_last_expression_is_the_same_without_a_syntax_tree(self):
        zygote = Kernel()
        self.addCleanup(zygote.end)
        for code in ("a = 5; a", "1; 2;", "3 # ;", "a = 1", "(1 +\n2)", "if 1:\n    2", "'''\na\n'''", "str('''\nb\n''')",
                     "1\n# c", "[\n1,\n]", "import sys\nsys.stdout.write('d')", "@str\ndef f(): pass\nf == 1", "(lambda: 1)()",
                     "from __future__ import annotations\n6", "# coding: latin-1\n7", "", "8\\\n+ 1", "'e'\f", "(yield)"):
            got, expected = self.kernel.run(code), zygote.run(code)
            self.assertEqual((got.shown, got.out, got.code), (expected.shown, expected.out, expected.code), code)

    def test_programs_that_the_code_starts_do_not_get_the_socket(self):
        self.assertNotIn("socket", self.kernel.run("import os; os.system('ls -l /proc/self/fd')").out)

    def test_text_is_used_where_the_compiled_code_does_not_fit(self):
        kernel = OnceKernel(code=bytes(4))
        self.addCleanup(kernel.end)
        got = kernel.run("print(6 * 7)")
        self.assertEqual((got.out, got.err, got.code), ("42\n", "", 0))

    def test_low_limit_of_open_files_is_no_failure(self):
        kernel = OnceKernel(argv=["/bin/sh", "-c", "ulimit -n 100; exec \"$0\" -c \"$1\"", PYTHON, LOADER.read_text()])
        self.addCleanup(kernel.end)
        got = kernel.run("display(1)")
        self.assertEqual((got.shown, got.err), ([("text/plain", "1", "")], ""))


class WholeLines(unittest.TestCase):
    """print() writes its arguments one by one; lines of several threads and processes are not mixed."""
    THREADS = ("from concurrent.futures import ThreadPoolExecutor\n"
               "def f(i):\n    for n in range(100): print('line', i, n)\n"
               "with ThreadPoolExecutor(8) as pool: _n = list(pool.map(f, range(8)))\n")
    CHILD = ("import os\n(a, b), (c, d) = os.pipe(), os.pipe()\n"
             "class Slow:\n    def __str__(self): os.write(b, b'.'); return os.read(c, 1).decode()\n"
             "if os.fork() == 0:\n    print('child', Slow())\n    os._exit(0)\n"
             "_n = os.read(a, 1); print('parent'); _n = os.write(d, b'x'); _n = os.wait()\n")

    def run_each(self, code):
        for kernel in Kernel(), OnceKernel(), Kernel(session=True):
            self.addCleanup(kernel.end)
            got = kernel.run(code)
            self.assertEqual((got.err, got.code), ("", 0))
            yield got

    def test_lines_of_threads_are_whole(self):
        for got in self.run_each(self.THREADS):
            self.assertEqual(sorted(got.out.splitlines()), sorted("line %d %d" % (i, n) for i in range(8) for n in range(100)))

    def test_lines_of_forked_children_are_whole(self):
        for got in self.run_each(self.CHILD):
            self.assertEqual(got.out, "parent\nchild x\n")

    def test_lines_of_the_parent_are_whole(self):
        code = ("import os\n(a, b), (c, d) = os.pipe(), os.pipe()\n"
                "if os.fork() == 0:\n    _n = os.read(a, 1); print('child'); _n = os.write(d, b'x')\n    os._exit(0)\n"
                "class Slow:\n    def __str__(self): os.write(b, b'.'); return os.read(c, 1).decode()\n"
                "print('parent', Slow()); _n = os.wait()\n")
        for got in self.run_each(code):
            self.assertEqual(got.out, "child\nparent x\n")

    def test_unfinished_lines_are_not_lost_in_a_process_that_is_killed(self):
        start = ("import threading\nthreading.Thread(target=int).start()\n", "import os\nif os.fork() == 0: os._exit(0)\n",
                 "from multiprocessing import Pool\nwith Pool(1) as pool: _n = pool.map(print, 'a')\n")
        for code in start:
            for kernel in Kernel(), OnceKernel(), Kernel(session=True):
                self.addCleanup(kernel.end)
                try:
                    out = kernel.run(code + "import os\nprint('s', 1, sep='.', end=' ')\nos.kill(os.getpid(), 9)\n").out
                except EOFError as ended:  # the interpreter of a session
                    out = ended.args[0][1].decode()
                self.assertEqual(out.replace("a\n", ""), "s.1 ")

    def test_print_of_a_process_with_threads_is_print(self):
        code = ("import io, pickle, threading\nbefore = print\nt = threading.Thread(target=int); t.start(); t.join()\n"
                "text = io.StringIO()\nprint(1, 2, sep='-', end='.', file=text)\n"
                "print(text.getvalue(), pickle.loads(pickle.dumps(print)) is print, print.__name__)\n"
                "class Bad:\n    def __str__(self): raise ValueError('bad')\nprint(Bad(), end='')\n")
        for kernel in Kernel(), OnceKernel(), Kernel(session=True):
            self.addCleanup(kernel.end)
            got = kernel.run(code)
            self.assertEqual(got.out, "1-2. True print\n")
            text = got.error[2] if got.error else got.err
            self.assertEqual(re.findall(r'File "(.*?)", line \d+, in (\S+)', text)[-1][1], "__str__")
            self.assertEqual(len(re.findall(r'File "', text)), 2)

    def test_end_of_a_line_is_not_lost(self):
        for got in self.run_each("import threading\nt = threading.Thread(target=print, args='a', kwargs={'end': ''})\n"
                                 "t.start(); t.join()\nimport contextlib, io, sys\nsys.stdout = io.StringIO()\n"):
            self.assertEqual(got.out, "a")

    def test_streams_that_the_code_has_taken_apart_are_no_failure(self):
        for take in "sys.stdout = io.TextIOWrapper(sys.stdout.detach(), 'utf-8')", "sys.__stdout__.close(); sys.stdout = sys.stderr = None":
            for got in self.run_each("import io, os, sys, threading\n%s\nt = threading.Thread(target=os.write, args=(1, b'a'))\n"
                                     "t.start(); t.join()\nif os.fork() == 0: os.write(1, b'b'); os._exit(0)\n_ = os.wait()" % take):
                self.assertEqual(got.out, "ab")


@unittest.skipUnless(has("matplotlib"), "no matplotlib")
class FreshPictures(unittest.TestCase):
    make_kernel = Kernel

    def setUp(self):
        self.kernel = self.make_kernel()
        self.addCleanup(self.kernel.end)

    PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n"

    def expect(self, got, count, first=1):
        self.assertEqual(got.shown, [("image/png", "", "%s/.belljar/figure-%d.png" % (self.kernel.home, n))
                                     for n in range(first, first + count)], got.err)
        return [png_size(path) for _, _, path in got.shown]

    def test_open_figures_are_saved_once_even_if_the_run_fails(self):
        got = self.kernel.run(self.PLOT)
        self.expect(got, 1)
        self.assertEqual((got.out, got.err, got.code), ("", "", 0))
        got = self.kernel.run(self.PLOT + "plt.figure(); plt.show(); plt.show(); print(plt.get_fignums())")
        self.expect(got, 2, 2)
        self.assertEqual((got.out, got.err), ("[]\n", ""))
        got = self.kernel.run(self.PLOT + "1/0")
        self.expect(got, 1, 4)
        self.assertTrue(got.err.endswith("ZeroDivisionError: division by zero\n"))
        self.assertEqual((got.err.count("File"), got.code), (1, 1))
        self.expect(self.kernel.run(self.PLOT + "import sys; sys.exit(3)"), 1, 5)
        self.expect(self.kernel.run("from matplotlib.pyplot import plot, show\nplot([1]); show()"), 1, 6)

    def test_forked_child_shows_no_figures(self):
        self.expect(self.kernel.run(self.PLOT + "import os; pid = os.fork(); pid and os.waitpid(pid, 0);"), 1)

    def test_figures_keep_to_the_limits(self):
        (width, height, _), = self.expect(self.kernel.run(
            "import matplotlib.pyplot as plt; plt.figure(figsize=(20, 10)); plt.plot([1])", pixels=50000), 1)
        self.assertLessEqual(width * height, 50000)
        self.assertGreater(width * height, 20000)
        (_, _, size), = self.expect(self.kernel.run(
            "import numpy, matplotlib.pyplot as plt; plt.imshow(numpy.random.rand(500, 500))", bytes=20000), 1, 2)
        self.assertLessEqual(size, 20000)

    def test_figures_that_cannot_be_saved_are_told(self):
        (self.kernel.home / ".belljar").write_text("")
        got = self.kernel.run(self.PLOT)
        self.assertEqual((got.out, got.err, got.code), ("", "", 0))
        self.assertRegex(got.shown[0][1], "^a picture could not be saved below ")

    def test_kernel_does_not_import_pyplot(self):
        self.assertEqual(self.kernel.run("import sys, matplotlib; print('matplotlib.pyplot' in sys.modules)").out,
                         "False\n")


class OncePictures(FreshPictures):
    make_kernel = OnceKernel


class Cells(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.kernel = Kernel(session=True)
        self.addCleanup(self.kernel.end)

    def shows(self, code, *texts, **options):
        got = self.kernel.cell(code, **options)
        self.assertEqual((got.shown, got.error, got.code),
                         ([("text/plain", text, "") for text in texts], None, 0), got.err)
        return got

    def test_only_the_name_of_a_cell_has_its_number(self):
        """Digits of another name would make In a list of that length."""
        self.assertEqual(self.kernel.run("len(In)", name="/tmp/7/test-1234/56").shown[0][1], "2")
        self.assertEqual(self.kernel.run("len(In)", name="<cell 3>").shown[0][1], "4")

    def fails(self, code, name, message, traceback):
        got = self.kernel.cell(code)
        self.assertEqual(got.error, (name, message, traceback))
        self.assertEqual((got.code, got.signal, got.is_exit), (1, 0, 0))
        return got

    def test_variables_survive_and_the_last_value_is_shown(self):
        self.shows("x = 20")
        self.shows("x + 1", "21")
        self.shows("_ * 2", "42")
        self.shows("x;")
        self.shows("x  ; # no")
        self.shows("'a;'", "'a;'")
        self.shows("None")
        self.shows("if x:\n    x")
        self.shows("")
        self.shows("# nothing")
        self.shows("def f(): return 7\nf()", "7")
        self.shows("class A: pass\nimport pickle\ntype(pickle.loads(pickle.dumps(A()))) is A", "True")
        self.shows("__name__, '__file__' in globals()", "('__main__', False)")
        self.shows("import sys; sys.modules['__main__'].x", "20")

    def test_output_comes_with_its_cell(self):
        got = self.kernel.cell("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.stdout.write('end');")
        self.assertEqual((got.out, got.err), ("out\nend", "err\n"))
        self.assertEqual(self.kernel.cell("1").out, "")

    def test_display_shows_values_in_order(self):
        self.shows("display(1, 'two'); display(); display([3])", "1", "'two'", "[3]")

    def test_tracebacks_have_frames_of_cells_only(self):
        self.kernel.cell("def f(x):\n    raise ValueError('bad')")
        got = self.kernel.cell("y = 1\nf(y)")
        self.assertEqual(got.error[:2], ("ValueError", "bad"))
        lines = [line for line in got.error[2].splitlines() if set(line.strip()) - set("~^")]
        self.assertEqual(lines, ["Traceback (most recent call last):", '  File "<cell 2>", line 2, in <module>',
                                 "    f(y)", '  File "<cell 1>", line 2, in f',
                                 "    raise ValueError('bad')", "ValueError: bad"])
        got = self.kernel.cell("import json\njson.loads('{')")
        self.assertEqual(got.error[0], "JSONDecodeError")
        self.assertNotIn("belljar", got.error[2])
        got = self.kernel.cell("x = (")
        self.assertEqual(got.error[0], "SyntaxError")
        self.assertTrue(got.error[2].startswith('  File "<cell 4>", line 1\n    x = ('), got.error[2])
        got = self.kernel.cell("def r(): r()\nr()")
        self.assertEqual(got.error[0], "RecursionError")
        self.assertLess(len(got.error[2]), 70000)
        got = self.kernel.cell(b"1\0")
        self.assertIn(got.error[0], ("SyntaxError", "ValueError"))
        self.assertEqual(self.kernel.cell("class E(Exception):\n  def __str__(self): 1/0\nraise E()").error[:2], ("E", ""))
        got = self.kernel.cell("raise ValueError('x' * 1000000)")
        self.assertLess(sum(map(len, got.error)), 70000)
        self.shows("1", "1")

    def test_await_works_at_the_top_level(self):
        self.shows("import asyncio\nq = asyncio.Queue()\nasync def g(n):\n    await asyncio.sleep(.01)\n    return n")
        self.shows("await g(3)", "3")
        self.shows("t = asyncio.ensure_future(g(4))\nawait asyncio.sleep(0)")
        self.shows("await t", "4")
        self.shows("async with asyncio.Lock(): x = 5\nx", "5")
        self.shows("asyncio.run(g(6))", "6")
        self.shows("await g(7)", "7")
        got = self.kernel.cell("async def bad(): 1/0\nawait bad()")
        self.assertEqual(got.error[0], "ZeroDivisionError")
        self.assertNotIn("asyncio", got.error[2])

    def test_future_imports_apply_to_later_cells(self):
        self.shows("from __future__ import annotations")
        self.shows("def f(x: nothing): pass")
        self.shows("f.__annotations__", "{'x': 'nothing'}")

    def test_inspect_finds_the_source_of_cells(self):
        self.shows("def f():\n    return 1\n")
        self.shows("import inspect\ninspect.getsource(f)", repr("def f():\n    return 1\n"))

    def interrupt(self, code):
        self.kernel.send("print('on', flush=True)\n" + code, is_cell=True)
        self.kernel.await_line()
        os.kill(self.kernel.pid, 2)
        return self.kernel.finish()

    def test_interrupt_ends_the_cell_and_not_the_session(self):
        self.shows("x = 2; import time, asyncio")
        got = self.interrupt("while True: pass")
        self.assertEqual((got.error[:2], got.code), (("KeyboardInterrupt", ""), 1))
        self.assertRegex(got.error[2], 'last.:\\n  File "<cell 2>", line [12], in <module>')
        self.assertNotIn("belljar", got.error[2])
        self.assertEqual(self.interrupt("time.sleep(50)").error[0], "KeyboardInterrupt")
        self.assertEqual(self.interrupt("await asyncio.sleep(50)").error[0], "KeyboardInterrupt")
        self.shows("x", "2")
        for _ in range(20):
            os.kill(self.kernel.pid, 2)
        time.sleep(0.1)
        self.shows("x", "2")
        self.shows("import signal; signal.getsignal(2) is signal.default_int_handler", "True")

    def test_interrupts_at_any_moment_do_not_end_the_session(self):
        for number in range(1000):
            self.kernel.send("x = 1" if number % 2 else "1 / 0", is_cell=True)
            late = time.perf_counter() + 0.0006 * random.random()
            while time.perf_counter() < late:
                pass
            os.kill(self.kernel.pid, 2)
            got = self.kernel.finish()
            self.assertIn(got.code, (0, 1))
        self.shows("1", "1")

    def test_sigint_handler_of_the_user_stays(self):
        self.shows("import signal, time\nhits = []\nsignal.signal(2, lambda *a: hits.append(1));")
        os.kill(self.kernel.pid, 2)  # idle
        time.sleep(0.1)
        self.shows("hits", "[]")
        self.assertIsNone(self.interrupt("time.sleep(1)").error)
        self.shows("hits", "[1]")

    def test_exit_ends_the_cell_and_not_the_session(self):
        self.shows("x = 1")
        for code, status, err in (("exit()", 0, ""), ("quit(3)", 3, ""), ("import sys; sys.exit('why')", 1, "why\n"),
                                  ("raise SystemExit(258)", 2, ""), ("sys.exit()", 0, "")):
            with self.subTest(code=code):
                got = self.kernel.cell("print('last')\n" + code + "\nprint('not reached')")
                self.assertEqual((got.out, got.err, got.code, got.is_exit, got.error, got.shown),
                                 ("last\n", err, status, 0, None, []))
                self.shows("x", "1")
        self.shows("input()", "'in'", stdin=b"in\n")

    def test_cells_get_stdin_arguments_environment_and_directory(self):
        other = self.kernel.home / "other"
        other.mkdir()
        self.shows("import os, sys, subprocess\nos.environ['A']", "'1'", env=["A=1"])
        self.shows("os.getcwd() == %r" % str(other), "True", cwd=str(other))
        self.shows("os.chdir('/')", cwd=str(other))
        self.shows("os.getcwd() == %r" % str(other), "True", cwd=str(other))
        self.shows("os.chdir('/')")
        self.shows("os.getcwd()", "'/'")
        self.shows("input()", "'one'", stdin=b"one\ntwo\n")
        self.assertEqual(self.kernel.cell("input()").error[0], "EOFError")
        self.shows("subprocess.run('cat', stdout=subprocess.PIPE).stdout", "b'three'", stdin=b"three")
        self.shows("sys.stdin.read()", "''")
        self.shows("sys.argv[1:]", "['x', 'y z']", args=["x", "y z"])
        self.shows("sys.argv[1:]", "['x', 'y z']")
        self.assertEqual(self.kernel.cell("1", cwd="/nowhere").error[0], "FileNotFoundError")

    def test_environment_of_a_cell_is_restored_after_it(self):
        self.shows("import os, time; os.environ['B'] = 'was'")
        self.shows("os.environ['A'], os.environ['B'], os.getenv('C')", "('2', 'y', '3')", env=["A=1", "A=2", "B=y", "C=3"])
        self.shows("os.getenv('A'), os.environ['B'], os.getenv('C')", "(None, 'was', None)")
        self.shows("os.environ['A'] = 'mine'; del os.environ['B']", env=["A=1", "B=y"])
        self.shows("os.getenv('A'), os.getenv('B')", "('mine', None)")
        self.shows("before = time.tzname")
        self.shows("time.tzname", "('JST', 'JST')", env=["TZ=Asia/Tokyo"])
        self.shows("time.tzname == before", "True")
        self.assertEqual(self.kernel.cell("1/0", env=["A=1"]).error[0], "ZeroDivisionError")
        self.shows("os.getenv('A')", "'mine'")
        self.shows("os.environ = None", env=["A=1"])
        self.shows("1", "1")

    def test_interrupt_does_not_cut_a_frame(self):
        self.shows("class A:\n    def __repr__(self): return 'x' * 60000\na = A()")
        self.kernel.send("print('on', flush=True)\nfor i in range(60): display(a)", is_cell=True)
        self.kernel.await_line()
        time.sleep(0.3)  # the socket is full now: the kernel waits in the middle of a frame
        os.kill(self.kernel.pid, 2)
        time.sleep(0.1)
        got = self.kernel.finish()
        self.assertEqual(got.error[0], "KeyboardInterrupt")
        self.assertEqual({len(text) for _, text, _ in got.shown}, {60000})
        self.shows("import signal; signal.getsignal(2) is signal.default_int_handler", "True")

    def test_forked_children_do_not_speak_for_the_session(self):
        got = self.kernel.cell("import os\npid = os.fork()\nif pid == 0: display('child'); 1/0\n"
                               "os.waitpid(pid, 0)[1]")
        self.assertEqual((got.shown, got.out, got.error), ([("text/plain", "256", "")], "'child'\n", None))
        self.assertIn("ZeroDivisionError", got.err)
        got = self.kernel.cell("pid = os.fork()\n'both' if pid == 0 else os.waitpid(pid, 0)[1]")
        self.assertEqual((got.shown, got.out), ([("text/plain", "0", "")], "'both'\n"))
        self.shows("import multiprocessing as m\ndef f(x): return x * x\n"
                   "with m.get_context('fork').Pool(2) as p: r = p.map(f, range(4))\nr", "[0, 1, 4, 9]")
        got = self.kernel.cell("os.system('ls -l /proc/self/fd');")
        self.assertIn("/dev/null", got.out)
        self.assertNotIn("socket", got.out)

    def test_display_of_a_thread_after_its_cell_is_printed(self):
        self.shows("import os, threading, time\ndef f():\n    while not os.path.exists('go'): time.sleep(.01)\n"
                   "    display('late'); print('done', flush=True); open('gone', 'w')\n"
                   "t = threading.Thread(target=f); t.start()")
        (self.kernel.home / "go").write_text("")
        deadline = time.monotonic() + 60
        while not (self.kernel.home / "gone").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertIn("'late'\ndone\n", self.kernel.cell("t.join()").out)

    def test_values_with_rich_forms_are_shown(self):
        for code, *want in (
                ("_repr_html_(s): return '<b>'", ("text/plain", "<A>", ""), ("text/html", "<b>", "")),
                ("_repr_html_(s): return 'x' * 70000", ("text/plain", "<A>", ""), ("text/html", "", "%s/.belljar/page-1.html" % self.kernel.home)),
                ("_repr_html_(s): return None", ("text/plain", "<A>", "")),
                ("_repr_markdown_(s): return '# a'", ("text/plain", "<A>", ""), ("text/markdown", "# a", "")),
                ("_repr_latex_(s): return '$x$', {}", ("text/plain", "<A>", ""), ("text/latex", "$x$", "")),
                ("_repr_json_(s): return {'a': [1, 'é']}", ("text/plain", "<A>", ""), ("application/json", '{"a": [1, "é"]}', "")),
                ("_repr_mimebundle_(s, include=None, exclude=None): return {'text/html': '<i>'}", ("text/plain", "<A>", ""), ("text/html", "<i>", "")),
                ("_repr_html_(s): raise KeyError(1)", ("text/plain", "<A>", ""),
                 ("text/plain", "(it could not be shown otherwise: KeyError: 1)", "")),
                ("__getattr__(s, name): return lambda: 'all'", ("text/plain", "<A>", "")),
                ("_repr_svg_(s): return '<svg/>'", ("text/plain", "<A>", ""), ("image/svg+xml", "<svg/>", "")),
                ("_repr_png_(s): return b'no png'", ("text/plain", "<A>", ""))):
            with self.subTest(code=code):
                got = self.kernel.cell("class A:\n    def %s\n    def __repr__(self): return '<A>'\nA()" % code)
                self.assertEqual((got.shown, got.error), (want, None))
        got = self.kernel.cell("class A:\n    def __repr__(self): 1/0\nA()")
        self.assertEqual(got.shown, [("text/plain", "<A cannot be shown: ZeroDivisionError: division by zero>", "")])
        self.assertEqual(self.kernel.cell("A").shown, [("text/plain", "<class '__main__.A'>", "")])
        got = self.kernel.cell("'x' * 100000")
        self.assertTrue(got.shown[0][1].endswith("... (38562 more characters)"), got.shown[0][1][-50:])
        self.assertEqual(self.kernel.cell("'\\ud800'").shown[0][1], "'\\ud800'")
        self.assertEqual(self.kernel.cell("import sys\nclass S:\n    def __repr__(self): return chr(0xd800)\nS()").shown[0][1], "\\ud800")

    def test_redirected_stdout_does_not_stop_the_session(self):
        got = self.kernel.cell("import os, sys\nprint('before')\nsys.stdout.flush()\n"
                               "os.dup2(os.open('elsewhere', os.O_WRONLY | os.O_CREAT), 1);")
        self.assertEqual(got.out, "before\n")
        self.assertEqual((self.kernel.home / "elsewhere").read_text(), "")
        self.shows("1", "1")

    def test_number_of_shown_values_is_limited(self):
        got = self.kernel.cell("for i in range(1000): display(i)")
        self.assertEqual(len(got.shown), 65)
        self.assertEqual(got.shown[64], ("text/plain", "More values were left out: at most 64 are shown.", ""))
        self.shows("1", "1")

    def test_usage_counts_the_cell_only(self):
        got = self.kernel.cell("import time\nend = time.process_time() + .2\nwhile time.process_time() < end: pass")
        self.assertGreater(sum(got.usage[:2]), 150000)
        self.assertLess(sum(self.kernel.cell("1").usage[:2]), 100000)


class CellPictures(unittest.TestCase):
    def setUp(self):
        self.kernel = Kernel(session=True)
        self.addCleanup(self.kernel.end)

    def paths(self, got):
        self.assertEqual((got.error, got.err), (None, ""))
        for mime, text, path in got.shown:
            if path:
                png_size(path)
        return [os.path.basename(path) or text for _, text, path in got.shown]

    @unittest.skipUnless(has("matplotlib"), "no matplotlib")
    def test_each_figure_is_shown_once(self):
        cell = self.kernel.cell
        self.assertEqual(self.paths(cell("import matplotlib.pyplot as plt\nplt.plot([1]);")), ["figure-1.png"])
        self.assertEqual(self.paths(cell("plt.get_fignums()")), ["[]"])
        self.assertEqual(self.paths(cell("f, a = plt.subplots(); f")), ["figure-2.png"])
        self.assertEqual(self.paths(cell("f = plt.figure(); display(f); plt.figure(); plt.show(); print(1)")),
                         ["figure-3.png", "figure-4.png"])
        self.assertEqual(self.paths(cell("from matplotlib.figure import Figure\nFigure()")), ["figure-5.png"])
        got = cell("plt.plot([1])\n1/0")
        self.assertEqual((len(got.shown), got.error[0]), (1, "ZeroDivisionError"))

    @unittest.skipUnless(has("PIL"), "no PIL")
    def test_images_are_scaled_to_the_limits(self):
        cell = self.kernel.cell
        self.assertEqual(self.paths(cell("from PIL import Image\ni = Image.new('RGB', (300, 200))\ni")), ["image-1.png"])
        for mode in "1", "L", "P", "RGBA", "CMYK", "F", "I;16":
            with self.subTest(mode=mode):
                got = cell("Image.new(%r, (300, 200))" % mode, pixels=6000)
                self.assertEqual(png_size(got.shown[0][2])[0:2], (94, 63))
        got = cell("import os\nImage.frombytes('RGB', (400, 400), os.urandom(480000))", bytes=30000)
        self.assertLessEqual(png_size(got.shown[0][2])[2], 30000)

    @unittest.skipUnless(has("pandas"), "no pandas")
    def test_tables_are_text_and_a_file(self):
        got = self.kernel.cell("import pandas as pd\npd.DataFrame({'a': [1, 2]})")
        self.assertEqual(got.shown[0], ("text/plain", "   a\n0  1\n1  2", ""))
        self.assertEqual(got.shown[1], ("text/html", "", "%s/.belljar/table-1.html" % self.kernel.home))
        got = self.kernel.cell("pd.DataFrame({i: range(1000) for i in range(100)})")
        self.assertIn("[1000 rows x 100 columns]", got.shown[0][1])
        self.assertLess(len(got.shown[0][1]), 16384)
        self.assertEqual(self.kernel.cell("pd.Series([1])").shown, [("text/plain", "0    1\ndtype: int64", "")])


if __name__ == "__main__":
    tap.main()
