"""What the escape tests share: registering a test, running belljar, and looking at the host.

A test is a function with the id of the attack and the modes it concerns:

    @test("FS-04", "chroot does not lead out")
    def chroot_escape(box):
        assert box.c("chroot_escape").code != 0
        assert box.sh("cd /tmp && pwd").out == "/tmp\n"      # the harmless counterpart

The function runs the attack in a sandbox of the real belljar. Then it checks on the host that nothing
happened (canaries, processes, mounts, files), because output of the attacking program proves nothing,
and it runs a harmless counterpart of the attack, which must work. A failed check raises AssertionError.

Other sandboxes, users and servers may be on the machine, and it may be busy: checks look only at what
this test started, and deadlines are long enough for a loaded machine.
"""
import contextlib
import ctypes
import os
import pathlib
import subprocess
import time

import on_docker

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# The users that belljar runs as. U and S have no entry in /etc/passwd; run.py gives U subordinate ids. Limits of
# processes count a user's processes, so two runs of these tests side by side have different users.
FIRST_USER = int(os.environ.get("ESCAPE_FIRST_USER", "61001"))
MODES = {
    "R": dict(uid=0, what="root"),
    "U": dict(uid=FIRST_USER, what="an ordinary user with subordinate ids"),
    "S": dict(uid=FIRST_USER + 1, what="an ordinary user with one id"),
    # Only with --mode D, on the daemon that DOCKER_HOST names: tests/docker/run.sh escape
    "D": dict(uid=0, what="root, with the docker engine"),
}
SUBORDINATE_COUNT = 65536
SUBORDINATE_FIRST = 700000 + (FIRST_USER - 61001) * SUBORDINATE_COUNT

TESTS = []
NOT_TESTED = []

# On an emulated machine everything takes longer: deadlines are measured with a slower clock.
SLOWER = int(os.environ.get("ESCAPE_SLOWER", "1"))
if SLOWER != 1:
    monotonic = time.monotonic
    time.monotonic = subprocess._time = lambda: monotonic() / SLOWER


def applies(test, mode):
    """Whether a test is for the mode."""
    return on_docker.why_not(test) is None if mode == "D" else mode in test["modes"]


def not_tested(number, why):
    """Registers an attack of the catalogue that has no test, with the reason, for the table at the end."""
    NOT_TESTED.append((number, why))


def test(number, what, modes="RUS", long=False):
    """Registers a test. A comment says why a mode is left out of `modes`."""
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
    """Belljar in one mode, with a state directory of its own. Each call uses a temporary sandbox
    unless `sandbox` names one, which then exists until the test ends."""

    def __init__(self, mode, belljar, directory):
        self.mode, self.belljar, self.directory = mode, belljar, directory
        self.uid = MODES[mode]["uid"]
        self.state = directory / "state"
        self.home = directory.parent / "home"    # of all tests, whose sandboxes share a skeleton there
        self.offered = directory / "offered"     # mounted as /escape in sandboxes, read-only
        self.canary = directory / "canary"       # a file of the host that no sandbox may read
        self.secret = "belljar-canary-" + os.urandom(16).hex()
        for path in (self.state, self.offered):
            path.mkdir(mode=0o755)
        self.canary.write_text(self.secret + "\n")
        os.chmod(self.canary, 0o644)
        os.utime(self.canary, (1, 1))            # reading it changes the access time
        self.home.mkdir(mode=0o755, exist_ok=True)
        for path in (self.state, self.home, directory):
            os.chown(path, self.uid, self.uid)
        for program in (directory.parent / "programs").iterdir():
            os.link(program, self.offered / program.name)
        self.running = []
        self.around = []                         # a command line that starts belljar, if not empty

    # --- starting belljar

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
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8"}
        if self.mode == "D":
            variables.update(BELLJAR_ENGINE="docker", BELLJAR_IMAGE=os.environ["ESCAPE_IMAGE"],
                             DOCKER_HOST=os.environ["DOCKER_HOST"])
        return variables

    def start(self, *argv, options=(), sandbox=None, stdin=subprocess.DEVNULL):
        """Starts belljar in the background, as a subprocess.Popen with pipes; finish() kills it."""
        process = subprocess.Popen(self.command(argv, options, sandbox), stdin=stdin,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace", env=self.environment(), cwd="/")
        self.running.append(process)
        return process

    def exec(self, *argv, options=(), sandbox=None, input=None, timeout=180):
        process = self.start(*argv, options=options, sandbox=sandbox,
                             stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL)
        try:
            out, err = process.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"still running after {timeout} s: {argv}\n{out[-2000:]}\n{err[-2000:]}")
        self.running.remove(process)
        return Result(process.returncode, out, err)

    def sh(self, script, **more):
        return self.exec("sh", "-c", script, **more)

    def python(self, source, *args, **more):
        return self.exec("python3", "-c", source, *args, **more)

    def c(self, name, *args, **more):
        """Runs programs/<name>.c, which make has compiled statically on the host."""
        return self.exec(f"/escape/{name}", *args, **more)

    def belljar_verb(self, *argv):
        line = self.as_user() + [str(self.belljar), *argv]
        done = subprocess.run(line, capture_output=True, text=True, env=self.environment(),
                              timeout=180)
        return Result(done.returncode, done.stdout, done.stderr)

    # --- looking from the host

    def processes(self, process):
        """Host pids of the processes in the sandbox of a started belljar, the agent first. A spare
        sandbox does not count: it has no program below a keeper."""
        found = []
        if self.mode == "D":
            agents = on_docker.agents([process.pid, *descendants(process.pid)], self.state)
            return [pid for agent in agents if any(map(children, children(agent)))
                    for pid in [agent, *descendants(agent)]]
        for spawner in children(process.pid):
            for agent in children(spawner):
                if in_other_pid_namespace(agent) and any(map(children, children(agent))):
                    found += [agent, *descendants(agent)]
        return found

    def wait_for(self, process, text, timeout=120):
        """Reads the process's stdout until a line contains the text, and returns the line."""
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            line = process.stdout.readline()
            if text in line:
                return line
            if not line:
                process.wait(60)
                raise AssertionError(f"exit status {process.returncode} without a line with '{text}'; "
                                     f"{process.stderr.read()}")
        raise AssertionError(f"no line with '{text}' for {timeout} s")

    def check_canary(self):
        """Checks that the host's secret was neither read nor changed."""
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


def threads(pids):
    """All threads of the processes, in the form in which status_of takes them."""
    return [f"{pid}/task/{task.name}" for pid in pids for task in pathlib.Path(f"/proc/{pid}/task").glob("*")]


def live_statuses(pids):
    """The status of every process that has not exited meanwhile."""
    found = []
    for pid in pids:
        with contextlib.suppress(OSError):
            found.append(status_of(pid))
    return found


def adopt_orphans():
    """Makes this process the reaper of its orphaned descendants. So all processes that belljar left
    behind are found below this one, and no process of anybody else."""
    PR_SET_CHILD_SUBREAPER = 36
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError("prctl(PR_SET_CHILD_SUBREAPER)")


class Leftovers:
    """Finds what belljar left behind: processes, mounts, cgroups, loop devices, containers."""

    def __init__(self, box):
        # The names of belljar's cgroups contain an identifier of the state directory.
        state = os.stat(box.state)
        self.group = f"belljar-{(state.st_ino ^ (state.st_dev << 40)) & (2**64 - 1):x}-"
        self.directory = str(box.directory)
        self.box = box
        self.before = self.snapshot()

    def snapshot(self):
        processes = set()
        for pid in descendants(os.getpid()):
            with contextlib.suppress(OSError, ChildProcessError):
                status = status_of(pid)
                if status["State"].startswith("Z") and int(status["PPid"]) == os.getpid() \
                        and pid not in [process.pid for process in self.box.running]:
                    os.waitpid(pid, os.WNOHANG)
                else:
                    processes.add((pid, status["Name"]))
        # find(1) does not look at the files of a directory without subdirectories; os.walk() looks at them all.
        # It complains of groups that vanish meanwhile.
        groups = set(subprocess.run(["find", "/sys/fs/cgroup", "-type", "d", "-path", f"*{self.group}*"],
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.split())
        # Other suites mount things below their own directories of /tmp.
        mounts = {line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
                  if self.directory in line or "/tmp/" not in line}
        loops = set()
        for backing in pathlib.Path("/sys/block").glob("*/loop/backing_file"):
            with contextlib.suppress(OSError):
                if backing.read_text().startswith(self.directory):
                    loops.add(str(backing))
        containers = {container["Names"][0] for container in on_docker.of_state("containers", self.box.state)} \
            if self.box.mode == "D" else set()
        return dict(groups=groups, processes=processes, mounts=mounts, loops=loops, containers=containers)

    def check(self, timeout=60):
        """Checks that nothing new is there. Killed processes may take a moment to exit."""
        until = time.monotonic() + timeout
        while True:
            now = self.snapshot()
            new = {kind: now[kind] - self.before[kind] for kind in now}
            if not any(new.values()):
                return
            if time.monotonic() > until:
                raise AssertionError(f"left behind: { {k: v for k, v in new.items() if v} }")
            time.sleep(0.05)
