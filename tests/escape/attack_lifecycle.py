"""Kills at arbitrary moments: whichever process is killed, the next start finds and removes all that has
no owner any more.

lc_step.c kills server, spawner or agent just before the nth system call that one of them makes. So every
step of every set-up can be hit, and a failure names the step: run lc_step with the same numbers to
repeat it. A failure also prints the seed: ESCAPE_SEED repeats the whole sequence, and with ESCAPE_ALL
the test goes on after a failure, up to five failures.
"""
import contextlib
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

import on_docker
from harness import Leftovers, children, descendants, not_tested, status_of, test

SEED = int(os.environ.get("ESCAPE_SEED", random.randrange(1 << 32)))
ROLES = ("server", "spawner", "agent", "helper")
DATA = "data that must survive"


class Inventory:
    """All that belongs to one state directory: rows, directories, claims of ids, processes, cgroups."""

    def __init__(self, box):
        self.box = box
        self.leftovers = Leftovers(box)
        self.claims = pathlib.Path("/var/lib/belljar/ids") if box.mode == "R" \
            else box.home / ".local/state/belljar/ids"

    def rows(self):
        """The rows of the registry, from a copy: SQLite would leave files of root beside the database."""
        source = self.box.state / "db"
        with tempfile.TemporaryDirectory() as copy:
            for name in os.listdir(source) if source.exists() else []:
                with contextlib.suppress(OSError):
                    shutil.copy(source / name, copy)
            path = pathlib.Path(copy) / "belljar.db"
            if not path.exists() or path.stat().st_size == 0:
                return []
            database = sqlite3.connect(path)
            try:
                return database.execute("SELECT id, name, state, instance FROM sandboxes").fetchall()
            finally:
                database.close()

    def directories(self):
        if self.box.mode == "D":
            return on_docker.sandboxes(self.box.state)
        path = self.box.state / "sandboxes"
        return set(os.listdir(path)) if path.exists() else set()

    def claimed(self):
        found = []
        for name in os.listdir(self.claims) if self.claims.exists() else []:
            with contextlib.suppress(OSError):
                state, sandbox = os.readlink(self.claims / name).rsplit("|", 1)
                if state == str(self.box.state):
                    found.append(sandbox)
        return sorted(found)

    def wait_for_exits(self, timeout=120):
        """Waits until no process that was started runs any more."""
        until = time.monotonic() + timeout
        while self.leftovers.snapshot()["processes"] - self.leftovers.before["processes"]:
            assert time.monotonic() < until, \
                f"still running: {self.leftovers.snapshot()['processes'] - self.leftovers.before['processes']}"
            time.sleep(0.005)

    def check(self, names):
        """Checks that exactly these sandboxes exist, asleep, each with one directory and one claim."""
        self.leftovers.check()
        rows = self.rows()
        wrong = [row for row in rows if row[2:] != ("asleep", "") or row[1] not in names]
        assert not wrong, f"rows left: {wrong}"
        ids = {row[0] for row in rows}
        assert {row[1] for row in rows} == set(names), f"expected {names}, found {rows}"
        assert self.directories() == ids, f"directories {self.directories()}, rows {rows}"
        if self.box.mode not in "SD":
            assert self.claimed() == sorted(ids), f"claims {self.claimed()}, rows {rows}"
        locks = os.listdir(self.box.state / "servers")
        assert not locks, f"locks of servers left: {locks}"
        if self.box.mode in "US":                # root's other servers have skeletons there too
            skeletons = set(os.listdir(self.claims.parent / "skeleton")) - {"list"}
            assert len(skeletons) == 1, f"skeletons left: {skeletons}"
        own = {"docker-id", "docker-id.lost", "empty"} if self.box.mode == "D" else {"sandboxes"}
        assert set(os.listdir(self.box.state)) <= {"db", "servers"} | own, \
            f"in the state directory: {os.listdir(self.box.state)}"


def can_remove(box):
    return "\n  rm " in box.belljar_verb("help").out


def remove_line(box, name):
    line = box.command([])
    line = line[: line.index("exec")]
    return line + ["rm", "--state-dir", str(box.state), name]


def run_step(box, watched, n, victims, line):
    """Runs a command line of belljar under lc_step."""
    return run_line(box, [str(box.offered / "lc_step"), watched, str(n), victims, *line])


def run_line(box, line, timeout=180):
    """Runs a command line. Returns its status and output, which goes to a file: processes that are left
    behind would keep a pipe open."""
    before = set(descendants(os.getpid()))
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                   env=box.environment(), cwd="/")
        box.running.append(process)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            tree = []
            for pid in set(descendants(os.getpid())) - before:
                with contextlib.suppress(OSError):
                    tree.append((pid, status_of(pid)["Name"], status_of(pid)["State"]))
                    os.kill(pid, signal.SIGKILL)
            process.wait()
            raise AssertionError(f"belljar hangs: {tree}") from None
        finally:
            box.running.remove(process)
        said.seek(0)
        return process.returncode, said.read()


def count_steps(box, line):
    code, said = run_step(box, "server", 0, "other", line)
    assert code == 0, f"lc_step: {code} {said}"
    words = said.splitlines()[-1].split()
    return {words[i]: int(words[i + 1]) for i in range(0, len(words), 2)}


class Moments:
    """Operations of belljar, the steps in them, and which process to kill at which step."""

    def __init__(self, box):
        self.box, self.inventory, self.count = box, Inventory(box), 0
        self.random = random.Random(f"{SEED} {box.mode}")
        self.with_rm = can_remove(box)
        self.names = {"kept"}
        made = box.sh(f"echo '{DATA}' > /workspace/data", sandbox="kept")
        assert made.code == 0, made
        self.operations = {
            "run": lambda: box.command(["true"]),
            "write": lambda: box.command(["sh", "-c", "mkdir -p a/b/c && seq 200 > a/b/c/d"]),
            "create": lambda: box.command(["true"], sandbox=self.new_name()),
            "wake": lambda: box.command(["sh", "-c", "date > /workspace/other"], sandbox="kept"),
        }
        if self.with_rm:
            self.operations["delete"] = self.delete_line
        self.steps = {name: count_steps(box, line()) for name, line in self.operations.items()}
        self.check_next_start()

    def new_name(self):
        self.count += 1
        return f"new{self.count}"

    def delete_line(self):
        name = self.new_name()
        made = self.box.sh("mkdir -p a/b/c && seq 200 > a/b/c/d", sandbox=name)
        assert made.code == 0, made
        return remove_line(self.box, name)

    def check_next_start(self):
        """Starts belljar once more and checks that the registry is consistent and all sandboxes work."""
        self.inventory.wait_for_exits()
        seen = self.box.exec("cat", "/workspace/data", sandbox="kept")
        assert seen.code == 0 and seen.out == DATA + "\n", f"the next start: {seen}"
        names = {row[1] for row in self.inventory.rows()}
        assert not {n for n in names if n not in self.names and not (n or "").startswith("new")}, names
        self.inventory.check(names)
        for name in names - self.names:
            used = self.box.exec("true", sandbox=name)
            assert used.code == 0, f"{name} is in the registry but cannot be used: {used}"
            if self.with_rm:
                self.inventory.wait_for_exits()
                done = subprocess.run(remove_line(self.box, name), capture_output=True, text=True,
                                      env=self.box.environment(), timeout=60)
                assert done.returncode == 0, done
                self.inventory.check({"kept"})
            else:
                self.names.add(name)

    def kill_at_random(self):
        choice = self.random
        operation = choice.choice(sorted(self.operations))
        steps = self.steps[operation]
        watched = choice.choice([role for role in ROLES if steps[role] > 0])
        victims = choice.choice(["server", "spawner", "agent", "server,spawner", "spawner,agent",
                                 "server,agent", "server,spawner,agent", watched, watched])
        n = choice.randint(1, steps[watched])
        self.kill_at(operation, watched, n, victims)

    def kill_at(self, operation, watched, n, victims):
        try:
            run_step(self.box, watched, n, victims, self.operations[operation]())
            self.check_next_start()
        except AssertionError as error:
            raise AssertionError(f"{operation}: lc_step {watched} {n} {victims} (seed {SEED}, "
                                 f"steps {self.steps[operation]}): {error}") from None


def kill_many_times(box, count):
    moments = Moments(box)
    wrong = []
    for _ in range(count):
        try:
            moments.kill_at_random()
        except AssertionError as error:
            wrong.append(str(error))
            if len(wrong) == 5 or not os.environ.get("ESCAPE_ALL"):
                break
    assert not wrong, "\n".join(wrong)


@test("LC-01", "SIGKILL of server, spawner or agent at random steps leaves nothing behind")
def random_kills(box):
    kill_many_times(box, 20 if box.mode != "D" else 5)


@test("LC-02", "SIGKILL at 250 random steps leaves nothing behind", long=True)
def many_random_kills(box):
    kill_many_times(box, 250)


# --- the first start

@test("LC-05", "SIGKILL at random steps of the very first start leaves nothing behind")
def first_start(box):
    choice = random.Random(f"{SEED} first {box.mode}")
    steps = None
    for _ in range(6):
        clear(box.state)
        inventory = Inventory(box)
        line = box.command(["true"])
        if steps is None:
            steps = count_steps(box, line)
            clear(box.state)
        watched = choice.choice(["server", "spawner", "spawner"])
        n = choice.randint(1, steps[watched])
        victims = choice.choice(["server", "spawner", "server,spawner"])
        where = f"lc_step {watched} {n} {victims} (seed {SEED})"
        try:
            run_step(box, watched, n, victims, line)
            inventory.wait_for_exits()
            seen = box.sh("echo works")
            assert seen.out == "works\n", f"the next start: {seen}"
            inventory.check(set())
        except AssertionError as error:
            raise AssertionError(f"{where}: {error}") from None


def clear(state):
    for path in state.iterdir():
        path.unlink() if path.is_file() else shutil.rmtree(path)


# --- kills while a program runs

@test("LC-03", "a killed agent is reported to the client, and its files are kept")
def killed_agent(box):
    inventory = Inventory(box)
    process = box.start("sh", "-c", "echo kept > /workspace/f; echo up; sleep 60", sandbox="kept")
    box.wait_for(process, "up")
    agent = box.processes(process)[0]
    os.kill(agent, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    box.running.remove(process)
    assert process.returncode == 1 and err.startswith("belljar: "), (process.returncode, err)
    inventory.check({"kept"})
    assert box.exec("cat", "f", sandbox="kept").out == "kept\n"


def start_many(box, count):
    processes = [box.start("sh", "-c", "echo up; sleep 100 & sleep 100") for _ in range(count)]
    for process in processes:
        box.wait_for(process, "up", timeout=240)
    return processes


def check_all_exit(box, victim):
    inventory = Inventory(box)
    processes = start_many(box, 8)
    inside = [pid for process in processes for pid in box.processes(process)]
    assert len(inside) >= 8 * 3, inside
    until = time.monotonic() + 60
    for process in processes:
        for pid in victim(process):
            os.kill(pid, signal.SIGKILL)
    while any(is_running(pid) for pid in inside):
        assert time.monotonic() < until, "processes in sandboxes still run after 60 s"
        time.sleep(0.01)
    for process in processes:
        process.communicate(timeout=120)
        box.running.remove(process)
    inventory.wait_for_exits()
    assert box.exec("true").code == 0
    inventory.check(set())


def is_running(pid):
    with contextlib.suppress(OSError):
        return not status_of(pid)["State"].startswith("Z")
    return False


@test("LC-12", "sandboxes end when their server is killed")
def server_dies(box):
    check_all_exit(box, lambda process: [process.pid])


@test("LC-17", "sandboxes end when their spawner is killed")
def spawner_dies(box):
    check_all_exit(box, lambda process: children(process.pid))


@test("LC-19", "several signals at once end belljar without a use after free")
def signals_at_once(box):
    inventory = Inventory(box)
    for wait in (None, "up"):                    # during set-up, and while the program runs
        process = box.start("sh", "-c", "trap '' TERM; echo up; sleep 100")
        if wait:
            box.wait_for(process, wait)
        else:
            time.sleep(0.03)
        os.kill(process.pid, signal.SIGSTOP)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(process.pid, number)
        os.kill(process.pid, signal.SIGCONT)
        _, err = process.communicate(timeout=120)
        box.running.remove(process)
        assert process.returncode in (129, 130, 143, -1, -2, -15) and "Sanitizer" not in err, \
            (process.returncode, err)
    inventory.wait_for_exits()
    assert box.exec("true").code == 0
    inventory.check(set())


@test("LC-20", "stdout and stderr are still blocking after belljar has exited")
def lent_descriptors(box):
    reader, writer = os.pipe()
    try:
        done = subprocess.run(box.command(["echo", "x"]), stdin=subprocess.DEVNULL, stdout=writer,
                              stderr=writer, env=box.environment(), cwd="/", timeout=60)
        assert done.returncode == 0 and os.read(reader, 100) == b"x\n", done
        assert os.get_blocking(writer), "the pipe was left non-blocking"
    finally:
        os.close(reader)
        os.close(writer)


@test("LC-04", "a server that was stopped for a while continues")
def stopped_server(box, seconds=3):
    process = box.start("sh", "-c", "echo up; for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.1; "
                        "done; seq 100000 | tail -n 1")
    box.wait_for(process, "up")
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(process.pid, signal.SIGCONT)
    out, err = process.communicate(timeout=120)
    box.running.remove(process)
    assert process.returncode == 0 and out.endswith("\n100000\n"), (process.returncode, out, err)


@test("LC-16", "server and spawner continue after being stopped for 20 s", long=True)
def long_stopped_server(box):
    stopped_server(box, 20)
    process = box.start("sh", "-c", "echo up; sleep 2; echo done")
    box.wait_for(process, "up")
    spawner = children(process.pid)[0]
    os.kill(spawner, signal.SIGSTOP)
    time.sleep(20)
    os.kill(spawner, signal.SIGCONT)
    out, err = process.communicate(timeout=120)
    box.running.remove(process)
    assert process.returncode == 0 and out == "done\n", (process.returncode, out, err)


@test("LC-15", "a sandbox that was left frozen is removed", modes="R")  # the other modes may have no cgroups
def frozen(box):
    inventory = Inventory(box)
    process = box.start("sh", "-c", "echo up; sleep 100", sandbox="kept")
    box.wait_for(process, "up")
    inside = box.processes(process)
    spawner = children(process.pid)[0]
    groups = {path for path, _, _ in os.walk("/sys/fs/cgroup")
              if inventory.leftovers.group in path}
    freezers = [pathlib.Path(path) / name for path in groups
                for name in ("freezer.state", "cgroup.freeze")
                if (pathlib.Path(path) / name).exists() and has_process(path, inside)]
    assert freezers, groups
    for path in freezers:
        path.write_text("FROZEN" if path.name == "freezer.state" else "1")
    for pid in (spawner, process.pid):
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=120)
    box.running.remove(process)
    assert box.exec("true", sandbox="kept").code == 0
    inventory.wait_for_exits()
    inventory.check({"kept"})


def has_process(path, pids):
    found = pathlib.Path(path) / "cgroup.procs"
    with contextlib.suppress(OSError):
        return bool({int(word) for word in found.read_text().split()} & set(pids))
    return False


# --- several servers

@test("LC-09", "two servers share a state directory, and killing one does not affect the other")
def two_servers(box):
    inventory = Inventory(box)
    first = box.start("sh", "-c", "echo up; cat; echo still here > f; cat f", sandbox="first",
                      stdin=subprocess.PIPE)
    box.wait_for(first, "up")
    second = box.start("sh", "-c", "echo up; sleep 100", sandbox="second")
    box.wait_for(second, "up")
    refused = box.exec("true", sandbox="second")
    assert refused.code == 1 and "in use by another server" in refused.err, refused
    if can_remove(box):
        removed = subprocess.run(remove_line(box, "second"), capture_output=True, text=True,
                                 env=box.environment(), timeout=60)
        assert removed.returncode == 1 and "in use by another server" in removed.stderr, removed
    for pid in (children(second.pid)[0], second.pid):
        os.kill(pid, signal.SIGKILL)
    second.communicate(timeout=120)
    box.running.remove(second)
    for _ in range(3):
        assert box.exec("true").code == 0
        assert box.exec("true", sandbox="second").code == 0, "the sandbox of a dead server cannot be used"
    out, err = first.communicate("", timeout=120)
    box.running.remove(first)
    assert first.returncode == 0 and out == "still here\n", (first.returncode, out, err)
    inventory.check({"first", "second"})


@test("LC-21", "several servers that create the same sandbox at once all get it")
def same_name(box):
    inventory = Inventory(box)
    processes = [box.start("sh", "-c", "echo x >> f", sandbox="new") for _ in range(4)]
    for process in processes:
        _, err = process.communicate(timeout=240)
        box.running.remove(process)
        assert process.returncode == 0, (process.returncode, err)
    assert box.exec("cat", "f", sandbox="new").out == "x\n" * 4
    inventory.check({"new"})


@test("LC-22", "sandboxes are not removed if the database is lost")
def lost_database(box):
    inventory = Inventory(box)
    assert box.sh(f"echo '{DATA}' > data", sandbox="kept").code == 0
    before = inventory.directories()
    database = box.state / "db/belljar.db"
    aside = box.state / "db/aside"
    for loss in (lambda: None, database.touch):  # missing, and empty
        os.rename(database, aside)
        loss()
        for line in (box.command(["true"]), remove_line(box, "kept")):
            refused = subprocess.run(line, capture_output=True, text=True, env=box.environment(),
                                     timeout=60)
            assert refused.returncode == 1 and "the database that knows them is gone" \
                in refused.stderr, refused
            assert inventory.directories() == before
        os.rename(aside, database)
    assert box.exec("cat", "data", sandbox="kept").out == DATA + "\n"
    inventory.check({"kept"})


@test("LC-23", "other limits for an existing sandbox are refused")
def other_limits(box):
    made = ("--memory", "64M")
    assert box.exec("true", options=made, sandbox="small").code == 0
    assert box.exec("true", options=made, sandbox="small").code == 0
    assert box.exec("true", sandbox="small").code == 0
    for other in (("--memory", "128M"), ("--pids", "99"), ("--calls", "strict")):
        refused = box.exec("true", options=other, sandbox="small")
        assert refused.code == 1 and refused.err.startswith(
            f"belljar: {other[0]}: sandbox 'small' was created with another value"), refused


@test("LC-24", "ps lists sandboxes with their state")
def listed(box):
    name = "n" * 40
    process = box.start("sh", "-c", "echo up; sleep 100")
    box.wait_for(process, "up")
    assert box.exec("true", sandbox=name).code == 0
    line = box.command([])
    line = line[: line.index("exec")] + ["ps", "--state-dir", "state"]
    seen = subprocess.run(line, capture_output=True, text=True, env=box.environment(), timeout=60,
                          cwd=box.directory)
    rows = [row.split() for row in seen.stdout.splitlines()[1:]]
    assert [row[1:3] for row in rows] == [[name, "asleep"], ["-", "awake"]], seen
    removed = subprocess.run(remove_line(box, rows[1][0]), capture_output=True, text=True,
                             env=box.environment(), timeout=60)
    assert removed.returncode == 1 and "in use by another server" in removed.stderr, removed


@test("LC-25", "belljar works without HOME if a state directory is given", modes="US")
def without_home(box):
    line = ["env", "-u", "HOME", *box.command(["echo", "x"])]
    done = subprocess.run(line, capture_output=True, text=True, env=box.environment(), timeout=60,
                          cwd="/")
    assert done.returncode == 0 and done.stdout == "x\n", done


@test("LC-18", "many servers start and are killed at once in one state directory")
def crowd(box):
    inventory = Inventory(box)
    choice = random.Random(f"{SEED} crowd {box.mode}")
    for _ in range(3):
        processes = [box.start("sh", "-c", "echo up; sleep 0.2", sandbox=f"c{i}" if i % 2 else None)
                     for i in range(8)]
        killed = choice.sample(processes, 4)
        for process in killed:
            time.sleep(choice.random() * 0.1)
            process.kill()
        for process in processes:
            _, err = process.communicate(timeout=240)
            box.running.remove(process)
            assert process in killed or process.returncode == 0, (process.args, process.returncode, err)
        inventory.wait_for_exits()
    assert box.exec("true").code == 0
    names = {row[1] for row in inventory.rows()}
    assert names <= {"c1", "c3", "c5", "c7"}, inventory.rows()
    inventory.check(names)


not_tested("LC-07", "a hard reset needs a virtual machine")
not_tested("LC-10", "setting the clock affects the whole machine; timers are monotonic, see tests/unit/loop")
not_tested("LC-11", "replacing the binary: agent and spawner run from memory")
not_tested("LC-13", "operations in any order: tests/unit/sandbox/test_lifecycle.c")
not_tested("LC-14", "a hanging FUSE file system needs a virtual machine")
