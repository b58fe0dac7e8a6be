"""What the soak measures: processes, descriptors, memory, cgroups, mounts, files and rows, as series whose
table shows growth."""
import contextlib
import ctypes
import os
import pathlib
import sqlite3
import statistics
import time


def adopt_orphans():
    """Makes this process the reaper of its orphaned descendants, so that none is overlooked."""
    PR_SET_CHILD_SUBREAPER = 36
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError("prctl(PR_SET_CHILD_SUBREAPER)")


def children(pid):
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found += map(int, pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


def descendants(pid):
    return [one for child in children(pid) for one in (child, *descendants(child))]


def status_of(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {line.split(":", 1)[0]: line.split(":", 1)[1].strip() for line in lines}


def measure_process(pid, name):
    status = status_of(pid)
    return {f"{name} memory KiB": int(status["VmRSS"].split()[0]), f"{name} threads": int(status["Threads"]),
            f"{name} descriptors": len(os.listdir(f"/proc/{pid}/fd"))}


def measure_server(pid):
    """The server, its spawner with the spawner's mounts, and its porter."""
    found = measure_process(pid, "server")
    for child in children(pid):
        name = pathlib.Path(f"/proc/{child}/comm").read_text().strip().removeprefix("belljar-")
        if name in ("spawner", "porter"):
            found |= measure_process(child, name)
        if name == "spawner":
            found["spawner mounts"] = len(pathlib.Path(f"/proc/{child}/mountinfo").read_text().splitlines())
    return found


class Host:
    """What belljar uses of the host, as far as it can be told apart from other programs."""

    def __init__(self, state):
        self.state = state
        seen = os.stat(state)
        # The names of belljar's cgroups contain an identifier of the state directory.
        self.group = f"belljar-{(seen.st_ino ^ (seen.st_dev << 40)) & (2**64 - 1):x}-"
        self.mounts = self.read_mounts()
        self.zombies = {}  # pid: when it was seen first

    def read_mounts(self):
        """Mounts that have to do with the state directory; other programs mount and unmount, too."""
        lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
        return {line for line in lines if str(self.state) in line}

    def groups(self):
        return [name for name, _, _ in os.walk("/sys/fs/cgroup") if self.group in name]

    def directories(self):
        with contextlib.suppress(OSError):
            return os.listdir(self.state / "sandboxes")
        return []

    def database(self):
        """The size, and the number of rows of each table."""
        rows, size = {}, 0
        for path in (self.state / "db").glob("*"):
            with contextlib.suppress(OSError):
                size += path.stat().st_size
        for path in (self.state / "db").glob("*.db"):
            with contextlib.suppress(sqlite3.Error), \
                    contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as store:
                for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                    rows[name] = store.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
        return size, rows

    def processes(self):
        """Descendants of this process, without those that it adopted and will reap itself."""
        found = {}
        for pid in descendants(os.getpid()):
            with contextlib.suppress(OSError, KeyError):
                status = status_of(pid)
                if status["State"][0] != "Z" or int(status["PPid"]) != os.getpid():
                    found[pid] = (status["Name"], status["State"][0])
        return found

    def old_zombies(self, processes, seconds=60):
        """Zombies below belljar's processes that have not been reaped for so long."""
        now = time.monotonic()
        zombies = {pid for pid, (_, state) in processes.items() if state == "Z"}
        self.zombies = {pid: self.zombies.get(pid, now) for pid in zombies}
        return [pid for pid, since in self.zombies.items() if now - since > seconds]

    def measure(self):
        memory = dict(line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
        size, rows = self.database()
        processes = self.processes()
        return {"processes": len(processes), "zombies": len(self.zombies),
                "zombies of 60 s": len(self.old_zombies(processes)), "cgroups": len(self.groups()),
                "directories": len(self.directories()), "database KiB": size // 1024,
                "database rows": sum(rows.values()),
                **{f"host {name} MiB": int(memory[name].split()[0]) // 1024
                   for name in ("MemAvailable", "Slab", "SUnreclaim")}}


class Series:
    def __init__(self):
        self.begin, self.points = time.monotonic(), {}

    def add(self, values):
        for name, value in values.items():
            self.points.setdefault(name, []).append((time.monotonic() - self.begin, value))

    def after_warm_up(self, name):
        """Without the first quarter: caches fill, interpreters are started."""
        points = self.points.get(name, [])
        return points[len(points) // 4:]

    def median(self, name):
        return statistics.median(value for _, value in self.points[name])

    def slope_per_hour(self, name):
        points = self.after_warm_up(name)
        if len(points) < 3 or points[-1][0] - points[0][0] < 1:
            return 0.0
        return statistics.linear_regression(*zip(*points)).slope * 3600

    def growth(self, name):
        """From the first third after the warm-up to the last third."""
        values = [value for _, value in self.after_warm_up(name)]
        third = max(1, len(values) // 3)
        return statistics.median(values[-third:]) - statistics.median(values[:third]) if values else 0

    def print_table(self, title):
        print(f"# {title}\n# {'':24}{'min':>10}{'median':>10}{'max':>10}{'last':>10}{'growth':>10}{'per hour':>12}")
        for name, points in self.points.items():
            values = [value for _, value in points]
            print(f"# {name:24}{min(values):>10}{statistics.median(values):>10.0f}{max(values):>10}"
                  f"{values[-1]:>10}{self.growth(name):>10.0f}{self.slope_per_hour(name):>12.1f}")
