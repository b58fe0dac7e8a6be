"""Ends at bad moments: whoever is killed, whenever, the next start leaves nothing that nobody owns.

lc_step.c kills by system call, not by clock: server, spawner or agent, just before the nth call one
of them makes. So every step of every set-up can be hit, and a failure says which: run lc_step with
the same numbers to see it again. The seed is printed with a failure: ESCAPE_SEED repeats it, and
ESCAPE_ALL goes on after a failure, to five.
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

from harness import Leftovers, children, descendants, not_here, status_of, test

SEED = int(os.environ.get("ESCAPE_SEED", random.randrange(1 << 32)))
ROLES = ("server", "spawner", "agent", "helper")
DATA = "what must not be lost"


class World:
    """All that one state directory has: on disk, in the kernel, in the claims of ids."""

    def __init__(self, box):
        self.box = box
        self.leftovers = Leftovers(box)
        self.claims = pathlib.Path("/var/lib/belljar/ids") if box.mode == "R" \
            else box.directory / ".local/state/belljar/ids"

    def rows(self):
        """From a copy: opening the database itself might leave a file of root's beside it."""
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

    def wait_for_deaths(self, patience=8):
        """Until nothing that was started runs any more."""
        until = time.monotonic() + patience
        while self.leftovers.look()["processes"] - self.leftovers.before["processes"]:
            assert time.monotonic() < until, \
                f"still running: {self.leftovers.look()['processes'] - self.leftovers.before['processes']}"
            time.sleep(0.005)

    def check(self, names):
        """Only the sandboxes named are there, asleep, each with one directory and one claim."""
        self.leftovers.check()
        rows = self.rows()
        wrong = [row for row in rows if row[2:] != ("asleep", "") or row[1] not in names]
        assert not wrong, f"rows left: {wrong}"
        ids = {row[0] for row in rows}
        assert {row[1] for row in rows} == set(names), f"{names} wanted, there is {rows}"
        assert self.directories() == ids, f"directories {self.directories()}, rows {rows}"
        if self.box.mode != "S":
            assert self.claimed() == sorted(ids), f"claims {self.claimed()}, rows {rows}"
        locks = os.listdir(self.box.state / "servers")
        assert not locks, f"locks of servers left: {locks}"
        skeletons = os.listdir(self.box.state / "skeleton")
        assert len(skeletons) == 1, f"skeletons left: {skeletons}"
        assert set(os.listdir(self.box.state)) <= {"db", "servers", "sandboxes", "skeleton"}, \
            f"in the state directory: {os.listdir(self.box.state)}"


def can_remove(box):
    return "\n  rm " in box.belljar_verb("help").out


def remove_line(box, name):
    line = box.command([])
    line = line[: line.index("exec")]
    return line + ["rm", "--state-dir", str(box.state), name]


def run_step(box, watched, n, victims, line):
    """belljar's command line under lc_step."""
    return run_line(box, [str(box.offered / "lc_step"), watched, str(n), victims, *line])


def run_line(box, line, timeout=20):
    """Its status and what it said: into a file, since who is left behind would hold a pipe open."""
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
            raise AssertionError(f"it hangs: {tree}") from None
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
    """Operations, and when whom to kill in them."""

    def __init__(self, box):
        self.box, self.world, self.count = box, World(box), 0
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
        self.settle()

    def new_name(self):
        self.count += 1
        return f"new{self.count}"

    def delete_line(self):
        name = self.new_name()
        made = self.box.sh("mkdir -p a/b/c && seq 200 > a/b/c/d", sandbox=name)
        assert made.code == 0, made
        return remove_line(self.box, name)

    def settle(self):
        """The next start. What is in the registry then is whole, and sandboxes can be used."""
        self.world.wait_for_deaths()
        seen = self.box.exec("cat", "/workspace/data", sandbox="kept")
        assert seen.code == 0 and seen.out == DATA + "\n", f"the next start: {seen}"
        names = {row[1] for row in self.world.rows()}
        assert not {n for n in names if n not in self.names and not (n or "").startswith("new")}, names
        self.world.check(names)
        for name in names - self.names:
            used = self.box.exec("true", sandbox=name)
            assert used.code == 0, f"{name}, which there is, cannot be used: {used}"
            if self.with_rm:
                self.world.wait_for_deaths()
                done = subprocess.run(remove_line(self.box, name), capture_output=True, text=True,
                                      env=self.box.environment(), timeout=60)
                assert done.returncode == 0, done
                self.world.check({"kept"})
            else:
                self.names.add(name)

    def moment(self):
        choice = self.random
        operation = choice.choice(sorted(self.operations))
        steps = self.steps[operation]
        watched = choice.choice([role for role in ROLES if steps[role] > 0])
        victims = choice.choice(["server", "spawner", "agent", "server,spawner", "spawner,agent",
                                 "server,agent", "server,spawner,agent", watched, watched])
        n = choice.randint(1, steps[watched])
        self.strike(operation, watched, n, victims)

    def strike(self, operation, watched, n, victims):
        try:
            run_step(self.box, watched, n, victims, self.operations[operation]())
            self.settle()
        except AssertionError as error:
            raise AssertionError(f"{operation}: lc_step {watched} {n} {victims} (seed {SEED}, "
                                 f"steps {self.steps[operation]}): {error}") from None


def some_moments(box, how_many):
    moments = Moments(box)
    wrong = []
    for _ in range(how_many):
        try:
            moments.moment()
        except AssertionError as error:
            wrong.append(str(error))
            if len(wrong) == 5 or not os.environ.get("ESCAPE_ALL"):
                break
    assert not wrong, "\n".join(wrong)


@test("LC-01", "kill -9 of server, spawner or agent at random steps")
def random_kills(box):
    some_moments(box, 20)


@test("LC-02", "the same, 250 times", long=True)
def many_random_kills(box):
    some_moments(box, 250)


# --- the first start ------------------------------------------------------------------------

@test("LC-05", "kill -9 at random steps of the very first start")
def first_start(box):
    choice = random.Random(f"{SEED} first {box.mode}")
    steps = None
    for _ in range(6):
        clear(box.state)
        world = World(box)
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
            world.wait_for_deaths()
            seen = box.sh("echo works")
            assert seen.out == "works\n", f"the next start: {seen}"
            world.check(set())
        except AssertionError as error:
            raise AssertionError(f"{where}: {error}") from None


def clear(state):
    for path in state.iterdir():
        shutil.rmtree(path)


# --- deaths while something runs ------------------------------------------------------------

@test("LC-03", "an agent that is killed is an error to the client, and not the end of its files")
def killed_agent(box):
    world = World(box)
    process = box.start("sh", "-c", "echo kept > /workspace/f; echo up; sleep 60", sandbox="kept")
    box.wait_for(process, "up")
    agent = box.processes(process)[0]
    os.kill(agent, signal.SIGKILL)
    _, err = process.communicate(timeout=10)
    box.running.remove(process)
    assert process.returncode == 1 and err.startswith("belljar: "), (process.returncode, err)
    world.check({"kept"})
    assert box.exec("cat", "f", sandbox="kept").out == "kept\n"


def start_many(box, count):
    processes = [box.start("sh", "-c", "echo up; sleep 100 & sleep 100") for _ in range(count)]
    for process in processes:
        box.wait_for(process, "up", timeout=60)
    return processes


def all_die(box, victim):
    world = World(box)
    processes = start_many(box, 8)
    inside = [pid for process in processes for pid in box.processes(process)]
    assert len(inside) >= 8 * 3, inside
    begin = time.monotonic()
    for process in processes:
        for pid in victim(process):
            os.kill(pid, signal.SIGKILL)
    while any(is_running(pid) for pid in inside):
        assert time.monotonic() - begin < 5, "sandboxes outlive their server by 5 s"
        time.sleep(0.01)
    for process in processes:
        process.communicate(timeout=10)
        box.running.remove(process)
    world.wait_for_deaths()
    assert box.exec("true").code == 0
    world.check(set())


def is_running(pid):
    with contextlib.suppress(OSError):
        return not status_of(pid)["State"].startswith("Z")
    return False


@test("LC-12", "no sandbox outlives its server by more than seconds")
def server_dies(box):
    all_die(box, lambda process: [process.pid])


@test("LC-17", "no sandbox outlives its spawner by more than seconds")
def spawner_dies(box):
    all_die(box, lambda process: children(process.pid))


@test("LC-19", "signals that come together end it, and nothing is touched after it was freed")
def signals_at_once(box):
    world = World(box)
    for wait in (None, "up"):                    # while it is made, and while it runs
        process = box.start("sh", "-c", "trap '' TERM; echo up; sleep 100")
        if wait:
            box.wait_for(process, wait)
        else:
            time.sleep(0.03)
        os.kill(process.pid, signal.SIGSTOP)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(process.pid, number)
        os.kill(process.pid, signal.SIGCONT)
        _, err = process.communicate(timeout=10)
        box.running.remove(process)
        assert process.returncode in (129, 130, 143, -1, -2, -15) and "Sanitizer" not in err, \
            (process.returncode, err)
    world.wait_for_deaths()
    assert box.exec("true").code == 0
    world.check(set())


@test("LC-20", "a terminal or pipe that was lent for stdout and stderr is given back as it was")
def lent_descriptors(box):
    reader, writer = os.pipe()
    try:
        done = subprocess.run(box.command(["echo", "x"]), stdin=subprocess.DEVNULL, stdout=writer,
                              stderr=writer, env=box.environment(), cwd="/", timeout=60)
        assert done.returncode == 0 and os.read(reader, 100) == b"x\n", done
        assert os.get_blocking(writer), "it is left non-blocking"
    finally:
        os.close(reader)
        os.close(writer)


@test("LC-04", "a server that was stopped for a while goes on")
def stopped_server(box, seconds=3):
    process = box.start("sh", "-c", "echo up; for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.1; "
                        "done; seq 100000 | tail -n 1")
    box.wait_for(process, "up")
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(process.pid, signal.SIGCONT)
    out, err = process.communicate(timeout=20)
    box.running.remove(process)
    assert process.returncode == 0 and out.endswith("\n100000\n"), (process.returncode, out, err)


@test("LC-16", "the same for 20 s, and for its spawner", long=True)
def long_stopped_server(box):
    stopped_server(box, 20)
    process = box.start("sh", "-c", "echo up; sleep 2; echo done")
    box.wait_for(process, "up")
    spawner = children(process.pid)[0]
    os.kill(spawner, signal.SIGSTOP)
    time.sleep(20)
    os.kill(spawner, signal.SIGCONT)
    out, err = process.communicate(timeout=20)
    box.running.remove(process)
    assert process.returncode == 0 and out == "done\n", (process.returncode, out, err)


@test("LC-15", "a sandbox that was left frozen is removed", modes="R")  # others have no groups here
def frozen(box):
    world = World(box)
    process = box.start("sh", "-c", "echo up; sleep 100", sandbox="kept")
    box.wait_for(process, "up")
    inside = box.processes(process)
    spawner = children(process.pid)[0]
    groups = {path for path, _, _ in os.walk("/sys/fs/cgroup")
              if world.leftovers.group in path}
    freezers = [pathlib.Path(path) / name for path in groups
                for name in ("freezer.state", "cgroup.freeze")
                if (pathlib.Path(path) / name).exists() and in_group(path, inside)]
    assert freezers, groups
    for path in freezers:
        path.write_text("FROZEN" if path.name == "freezer.state" else "1")
    for pid in (spawner, process.pid):
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=20)
    box.running.remove(process)
    assert box.exec("true", sandbox="kept").code == 0
    world.wait_for_deaths()
    world.check({"kept"})


def in_group(path, pids):
    found = pathlib.Path(path) / "cgroup.procs"
    with contextlib.suppress(OSError):
        return bool({int(word) for word in found.read_text().split()} & set(pids))
    return False


# --- two servers ----------------------------------------------------------------------------

@test("LC-09", "two servers share a state directory; one's end is not the other's")
def two_servers(box):
    world = World(box)
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
    second.communicate(timeout=10)
    box.running.remove(second)
    for _ in range(3):
        assert box.exec("true").code == 0
        assert box.exec("true", sandbox="second").code == 0, "a dead server's is free"
    out, err = first.communicate("", timeout=20)
    box.running.remove(first)
    assert first.returncode == 0 and out == "still here\n", (first.returncode, out, err)
    world.check({"first", "second"})


@test("LC-21", "several ask for the same new sandbox at once: one makes it, all get it")
def same_name(box):
    world = World(box)
    processes = [box.start("sh", "-c", "echo x >> f", sandbox="new") for _ in range(4)]
    for process in processes:
        _, err = process.communicate(timeout=40)
        box.running.remove(process)
        assert process.returncode == 0, (process.returncode, err)
    assert box.exec("cat", "f", sandbox="new").out == "x\n" * 4
    world.check({"new"})


@test("LC-22", "without its database no sandbox is taken for nobody's and removed")
def lost_database(box):
    world = World(box)
    assert box.sh(f"echo '{DATA}' > data", sandbox="kept").code == 0
    before = world.directories()
    database = box.state / "db/belljar.db"
    aside = box.state / "db/aside"
    for loss in (lambda: None, database.touch):  # gone, and empty
        os.rename(database, aside)
        loss()
        for line in (box.command(["true"]), remove_line(box, "kept")):
            refused = subprocess.run(line, capture_output=True, text=True, env=box.environment(),
                                     timeout=60)
            assert refused.returncode == 1 and "the database that knows them is gone" \
                in refused.stderr, refused
            assert world.directories() == before
        os.rename(aside, database)
    assert box.exec("cat", "data", sandbox="kept").out == DATA + "\n"
    world.check({"kept"})


@test("LC-23", "limits asked of a sandbox that has others are refused, not forgotten")
def other_limits(box):
    made = ("--memory", "64M")
    assert box.exec("true", options=made, sandbox="small").code == 0
    assert box.exec("true", options=made, sandbox="small").code == 0
    assert box.exec("true", sandbox="small").code == 0
    for other in (("--memory", "128M"), ("--pids", "99"), ("--calls", "strict")):
        refused = box.exec("true", options=other, sandbox="small")
        assert refused.code == 1 and refused.err.startswith(
            f"belljar: {other[0]}: sandbox 'small' was created with another value"), refused


@test("LC-24", "ps tells what is awake, when it was used, and takes the same directories as exec")
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


@test("LC-25", "without HOME a state directory that is named is enough", modes="US")
def homeless(box):
    line = ["env", "-u", "HOME", *box.command(["echo", "x"])]
    done = subprocess.run(line, capture_output=True, text=True, env=box.environment(), timeout=60,
                          cwd="/")
    assert done.returncode == 0 and done.stdout == "x\n", done


@test("LC-18", "many servers start, run and are killed at once in one state directory")
def crowd(box):
    world = World(box)
    choice = random.Random(f"{SEED} crowd {box.mode}")
    for _ in range(3):
        processes = [box.start("sh", "-c", "echo up; sleep 0.2", sandbox=f"c{i}" if i % 2 else None)
                     for i in range(8)]
        killed = choice.sample(processes, 4)
        for process in killed:
            time.sleep(choice.random() * 0.1)
            process.kill()
        for process in processes:
            _, err = process.communicate(timeout=40)
            box.running.remove(process)
            assert process in killed or process.returncode == 0, (process.args, process.returncode, err)
        world.wait_for_deaths()
    assert box.exec("true").code == 0
    names = {row[1] for row in world.rows()}
    assert names <= {"c1", "c3", "c5", "c7"}, world.rows()
    world.check(names)


not_here("LC-07", "a hard reset needs a virtual machine of its own")
not_here("LC-10", "the clock is the whole machine's; timers are monotonic, see tests/unit/loop")
not_here("LC-11", "the agent and the spawner are part of the one binary, which runs from memory")
not_here("LC-13", "calls in a bad order: tests/unit/sandbox/test_lifecycle.c")
not_here("LC-14", "a hanging FUSE file system needs /dev/fuse and a second machine to be safe")
