"""An attack that runs in the background while its use of resources is measured from the host and another
sandbox is used again and again."""
import contextlib
import os
import threading
import time

from harness import descendants, status_of

MIB = 1 << 20
MEMORY, PIDS, DISK = 64, 64, 16
LIMITS = ("--memory", f"{MEMORY}M", "--pids", str(PIDS), "--disk", f"{DISK}M", "--cpu", "1000")
NEIGHBOUR_TIMEOUT = 60  # seconds for `true` in another sandbox, on a machine that may be busy anyway


def used_below(directory):
    """The disk space below a directory, in MiB. Files that vanish meanwhile do not count."""
    blocks = 0
    for _, _, names, descriptor in os.fwalk(directory, onerror=None):
        for name in names:
            with contextlib.suppress(OSError):
                blocks += os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_blocks
    return blocks * 512 // MIB


def unlinked_files(pids):
    """The disk space, in MiB, of files without names that these processes have open or mapped."""
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            tasks = [f"/proc/{pid}/task/{task}/fd" for task in os.listdir(f"/proc/{pid}/task")]
            for directory in [*tasks, f"/proc/{pid}/map_files"]:
                for name in os.listdir(directory):
                    with contextlib.suppress(OSError):
                        seen = os.stat(f"{directory}/{name}")
                        if seen.st_nlink == 0:
                            found[seen.st_dev, seen.st_ino] = seen.st_blocks
    return sum(found.values()) * 512 // MIB


def used_in(path):
    """What is used of a file system, in MiB; 0 if the path does not exist (any more)."""
    with contextlib.suppress(OSError):
        space = os.statvfs(path)
        return (space.f_blocks - space.f_bfree) * space.f_frsize // MIB
    return 0


def timed_true(box):
    """Runs `true` in a sandbox of its own. Returns the seconds it took."""
    begin = time.monotonic()
    answer = box.exec("true")
    assert answer.code == 0, f"the other sandbox: {answer}"
    return time.monotonic() - begin


class WatchedAttack:
    """Runs an attack to its end. The attributes are the maxima that were measured meanwhile: threads,
    disk, anonymous and shared memory of its processes, /dev/shm, memory of belljar itself, and seconds
    that `true` took in another sandbox. All of them are measured at this attack's own processes and
    files, since others may be using the machine."""

    def __init__(self, box, *argv, options=LIMITS, sandbox=None, ask=True, timeout=240):
        self.box = box
        self.disk = self.processes = self.slowest = self.sum = self.shm = self.server = 0
        self.neighbour_timeout = max(NEIGHBOUR_TIMEOUT, 6 * timed_true(box)) if ask else 0
        self.used = used_below(box.state)
        self.process = box.start(*argv, options=options, sandbox=sandbox)
        reader = threading.Thread(target=self.read)
        watcher = threading.Thread(target=self.watch)
        reader.start()
        watcher.start()
        until = time.monotonic() + timeout
        try:
            while reader.is_alive():
                if ask:
                    self.use_neighbour()
                assert time.monotonic() < until, f"still running after {timeout} s: {self}"
                reader.join(0.3)
        finally:
            if reader.is_alive():
                self.process.kill()
            reader.join()
            watcher.join()
            box.running.remove(self.process)
        self.code = self.process.returncode

    def read(self):
        self.out, self.err = self.process.communicate()

    def watch(self):
        while self.process.poll() is None:
            inside = self.box.processes(self.process)
            self.disk = max(self.disk, used_below(self.box.state) - self.used + unlinked_files(inside))
            if inside:
                self.shm = max(self.shm, used_in(f"/proc/{inside[0]}/root/dev/shm"))
            self.count_processes(inside)
            time.sleep(0.1)

    def count_processes(self, inside):
        threads = kib = 0
        for pid in inside:
            try:
                status = status_of(pid)
            except OSError:
                continue
            threads += int(status.get("Threads", 1))
            kib += int(status.get("RssAnon", "0").split()[0])
            kib += int(status.get("RssShmem", "0").split()[0])
        self.processes = max(self.processes, threads)
        self.sum = max(self.sum, kib // 1024)
        for pid in [self.process.pid, *descendants(self.process.pid)]:
            if pid not in inside:
                try:
                    self.server = max(self.server, int(status_of(pid)["VmHWM"].split()[0]) // 1024)
                except (OSError, KeyError):
                    pass

    def use_neighbour(self):
        took = timed_true(self.box)
        assert took < self.neighbour_timeout, f"`true` in another sandbox took {took:.1f} s"
        self.slowest = max(self.slowest, took)

    def check_disk_freed(self, timeout=120):
        """Checks that the sandbox's files are removed. Files without names vanish with the processes."""
        until = time.monotonic() + timeout
        while (left := used_below(self.box.state) - self.used) > 4:
            assert time.monotonic() < until, f"{left} MiB are still used"
            time.sleep(0.2)

    def __repr__(self):
        return (f"code {getattr(self, 'code', '?')}; at most {self.processes} threads, {self.disk} MiB "
                f"of disk, {self.sum} MiB in processes, {self.shm} MiB in /dev/shm, belljar "
                f"{self.server} MiB, another sandbox {self.slowest:.2f} s\n"
                f"--- out\n{getattr(self, 'out', '')[-600:]}\n--- err\n{getattr(self, 'err', '')[-600:]}")


def check_limit_named(attack, word):
    """Checks that belljar's own message names the limit that was reached."""
    lines = [line for line in attack.err.splitlines() if line.startswith("belljar: ")]
    assert any(word in line for line in lines), f"'{word}' is not named: {attack}"
