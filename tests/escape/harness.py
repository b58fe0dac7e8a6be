"""What the escape tests are written with.

A test is a function with the number of the attack and the modes it concerns:

    @test("FS-04", "chroot does not lead out")
    def chroot_escape(box):
        assert box.c("chroot_escape").code != 0
        assert box.sh("cd /tmp && pwd").out == "/tmp\n"      # the harmless twin

It runs the attack inside through the real belljar, then looks from the host whether anything
happened (canaries, processes, mounts, files), never trusting what the program itself says, and
shows beside it that the harmless relative of the attack works. AssertionError: it failed.
"""
import contextlib
import ctypes
import os
import pathlib
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# As whom belljar runs. U and S are users without a name; harness_main() gives U subordinate ids.
MODES = {
    "R": dict(uid=0, what="root"),
    "U": dict(uid=61001, what="an ordinary user with subordinate ids"),
    "S": dict(uid=61002, what="an ordinary user with one id"),
}
SUBORDINATE_FIRST = 700000
SUBORDINATE_COUNT = 65536

TESTS = []
NOT_HERE = []

# On a machine that is emulated everything takes longer, and every deadline follows this clock.
SLOWER = int(os.environ.get("ESCAPE_SLOWER", "1"))
if SLOWER != 1:
    monotonic = time.monotonic
    time.monotonic = subprocess._time = lambda: monotonic() / SLOWER


def not_here(number, why):
    """An attack of the catalogue that has no test, and why: printed at the end of a run."""
    NOT_HERE.append((number, why))


def test(number, what, modes="RUS", long=False):
    """Registers a test. `modes` leaves out those it makes no sense in; say why in the text."""
    def register(function):
        TESTS.append(dict(number=number, what=what, modes=modes, long=long, run=function))
        return function
    return register


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"code {self.code}\n--- out\n{self.out[-3000:]}\n--- err\n{self.err[-3000:]}"


class Box:
    """Belljar in one mode, with a state directory of its own. Each call is a sandbox of its own
    unless `sandbox` names one, which then stays until the test ends."""

    def __init__(self, mode, belljar, directory):
        self.mode, self.belljar, self.directory = mode, belljar, directory
        self.uid = MODES[mode]["uid"]
        self.state = directory / "state"
        self.offered = directory / "offered"     # sandboxes see it as /escape, read-only
        self.canary = directory / "canary"       # a secret of the host: must never be read
        self.secret = "belljar-canary-" + os.urandom(16).hex()
        for path in (self.state, self.offered):
            path.mkdir(mode=0o755)
        self.canary.write_text(self.secret + "\n")
        os.chmod(self.canary, 0o644)
        os.utime(self.canary, (1, 1))            # whoever reads it changes that
        for path in (self.state, directory):
            os.chown(path, self.uid, self.uid)
        for program in (directory.parent / "programs").iterdir():
            os.link(program, self.offered / program.name)
        self.running = []
        self.around = []                         # a command that belljar is started by

    # --- how belljar is started

    def as_user(self):
        line = list(self.around)
        if self.uid:
            line += ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"]
        return line

    def command(self, argv, options=(), sandbox=None):
        """The command line of `belljar exec`, as the mode's user."""
        line = self.as_user() + [str(self.belljar), "exec", "--state-dir", str(self.state),
                                 "--mounts", f"{self.offered}:/escape", *options]
        if sandbox:
            line += ["--sandbox", sandbox]
        return line + ["--", *argv]

    def environment(self):
        return {"PATH": os.environ["PATH"], "HOME": str(self.directory), "LANG": "C.UTF-8"}

    def start(self, *argv, options=(), sandbox=None, stdin=subprocess.DEVNULL):
        """In the background; ended with the test. A subprocess.Popen with pipes."""
        process = subprocess.Popen(self.command(argv, options, sandbox), stdin=stdin,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace", env=self.environment(), cwd="/")
        self.running.append(process)
        return process

    def exec(self, *argv, options=(), sandbox=None, input=None, timeout=60):
        process = self.start(*argv, options=options, sandbox=sandbox,
                             stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL)
        try:
            out, err = process.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"no end after {timeout} s: {argv}\n{out[-2000:]}\n{err[-2000:]}")
        self.running.remove(process)
        return Result(process.returncode, out, err)

    def sh(self, script, **more):
        return self.exec("sh", "-c", script, **more)

    def python(self, source, *args, **more):
        return self.exec("python3", "-c", source, *args, **more)

    def c(self, name, *args, **more):
        """programs/<name>.c, compiled statically on the host."""
        return self.exec(f"/escape/{name}", *args, **more)

    def belljar_verb(self, *argv):
        line = self.as_user() + [str(self.belljar), *argv]
        done = subprocess.run(line, capture_output=True, text=True, env=self.environment(),
                              timeout=60)
        return Result(done.returncode, done.stdout, done.stderr)

    # --- what the host sees

    def processes(self, process):
        """Host pids of what runs in the sandbox of a started belljar, its agent first. A spare
        one, made ahead, runs no program below a keeper: it is not meant."""
        found = []
        for spawner in children(process.pid):
            for agent in children(spawner):
                if in_other_pid_namespace(agent) and any(map(children, children(agent))):
                    found += [agent, *descendants(agent)]
        return found

    def wait_for(self, process, text, timeout=20):
        """Reads its stdout until a line holds the text."""
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            line = process.stdout.readline()
            if text in line:
                return line
            if not line:
                break
        raise AssertionError(f"'{text}' never came; {process.stderr.read() if process.poll() is not None else ''}")

    def check_canary(self):
        """The host's secret is unread and unchanged."""
        seen = os.stat(self.canary)
        assert (seen.st_atime, seen.st_mtime) == (1, 1), f"the canary was read or written: {seen}"
        assert self.canary.read_text() == self.secret + "\n", "the canary was changed"

    def finish(self):
        for process in self.running:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                with contextlib.suppress(OSError):
                    pipe and pipe.close()
        self.running = []


def children(pid):
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                text = pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text()
                found += [int(word) for word in text.split()]
    return found


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def in_other_pid_namespace(pid):
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/pid") != os.readlink("/proc/self/ns/pid")
    return False


def status_of(pid):
    """/proc/<pid>/status as a dict of texts."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {line.split(":", 1)[0]: line.split(":", 1)[1].strip() for line in lines}


def adopt_orphans():
    """Whatever loses its parent below us becomes our child: so we find what belljar left, and
    only that, however many others work on the machine."""
    PR_SET_CHILD_SUBREAPER = 36
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError("prctl(PR_SET_CHILD_SUBREAPER)")


class Leftovers:
    """What belljar may leave nothing of: processes, mounts, cgroups, loop devices."""

    def __init__(self, box):
        # Its groups have a word for the state directory in their names.
        state = os.stat(box.state)
        self.group = f"belljar-{(state.st_ino ^ (state.st_dev << 40)) & (2**64 - 1):x}-"
        self.directory = str(box.directory)
        self.box = box
        self.before = self.look()

    def look(self):
        processes = set()
        for pid in descendants(os.getpid()):
            with contextlib.suppress(OSError, ChildProcessError):
                status = status_of(pid)
                if status["State"].startswith("Z") and int(status["PPid"]) == os.getpid() \
                        and pid not in [process.pid for process in self.box.running]:
                    os.waitpid(pid, os.WNOHANG)
                else:
                    processes.add((pid, status["Name"]))
        groups = {name for name, _, _ in os.walk("/sys/fs/cgroup") if self.group in name}
        mounts = set(pathlib.Path("/proc/self/mountinfo").read_text().splitlines())
        loops = set()
        for backing in pathlib.Path("/sys/block").glob("*/loop/backing_file"):
            with contextlib.suppress(OSError):
                if backing.read_text().startswith(self.directory):
                    loops.add(str(backing))
        return dict(groups=groups, processes=processes, mounts=mounts, loops=loops)

    def check(self, patience=5):
        """Nothing new; what is dying may take a moment."""
        until = time.monotonic() + patience
        while True:
            now = self.look()
            new = {kind: now[kind] - self.before[kind] for kind in now}
            if not any(new.values()):
                return
            if time.monotonic() > until:
                raise AssertionError(f"left behind: { {k: v for k, v in new.items() if v} }")
            time.sleep(0.05)
