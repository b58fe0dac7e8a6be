"""A siege: an attack that runs while the host is watched and a neighbour is asked again and again."""
import contextlib
import os
import pathlib
import threading
import time

from harness import descendants, status_of

MIB = 1 << 20
MEMORY, PIDS, DISK = 64, 64, 16
LIMITS = ("--memory", f"{MEMORY}M", "--pids", str(PIDS), "--disk", f"{DISK}M", "--cpu", "1000")
PATIENCE = 6  # seconds a neighbour may need for `true`; more on a machine that is busy anyway


def free_bytes(path):
    space = os.statvfs(path)
    return space.f_bfree * space.f_frsize


def used_below(directory):
    """In MiB. What vanishes meanwhile does not count."""
    blocks = 0
    for _, _, names, descriptor in os.fwalk(directory, onerror=None):
        for name in names:
            with contextlib.suppress(OSError):
                blocks += os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_blocks
    return blocks * 512 // MIB


def memory_of_host(*names):
    """In MiB, from /proc/meminfo."""
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.split(":")[0] in names) // 1024


def timed_true(box):
    begin = time.monotonic()
    answer = box.exec("true")
    assert answer.code == 0, f"the neighbour: {answer}"
    return time.monotonic() - begin


class Siege:
    """An attack that runs while the host is watched and a neighbour is asked again and again."""

    def __init__(self, box, *argv, options=LIMITS, sandbox=None, ask=True, timeout=45):
        self.box = box
        self.free = free_bytes(box.state)
        self.disk = self.processes = self.slowest = self.sum = self.shmem = self.server = 0
        self.patience = max(PATIENCE, 6 * timed_true(box)) if ask else 0
        self.used = used_below(box.state)
        shmem = memory_of_host("Shmem")
        self.process = box.start(*argv, options=options, sandbox=sandbox)
        reader = threading.Thread(target=self.read)
        watcher = threading.Thread(target=self.watch, args=(shmem,))
        reader.start()
        watcher.start()
        until = time.monotonic() + timeout
        try:
            while reader.is_alive():
                if ask:
                    self.ask()
                assert time.monotonic() < until, f"no end after {timeout} s: {self}"
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

    def watch(self, shmem):
        look = 0
        while self.process.poll() is None:
            self.disk = max(self.disk, (self.free - free_bytes(self.box.state)) // MIB)
            self.shmem = max(self.shmem, memory_of_host("Shmem") - shmem)
            if look % 10 == 0:
                self.count_processes()
            look += 1
            time.sleep(0.02)

    def count_processes(self):
        inside = self.box.processes(self.process)
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

    def ask(self):
        took = timed_true(self.box)
        assert took < self.patience, f"the neighbour needed {took:.1f} s"
        self.slowest = max(self.slowest, took)

    def disk_is_back(self, patience=20):
        """Of the sandbox's files none is left; those without names went with the processes."""
        until = time.monotonic() + patience
        while (left := used_below(self.box.state) - self.used) > 4:
            assert time.monotonic() < until, f"{left} MiB of the disk stay away"
            time.sleep(0.2)

    def __repr__(self):
        return (f"code {getattr(self, 'code', '?')}; at most {self.processes} threads, {self.disk} MiB "
                f"of disk, {self.sum} MiB in processes, {self.shmem} MiB shared, belljar "
                f"{self.server} MiB, neighbour {self.slowest:.2f} s\n"
                f"--- out\n{getattr(self, 'out', '')[-600:]}\n--- err\n{getattr(self, 'err', '')[-600:]}")


def named(siege, word):
    """Belljar itself says which limit it was."""
    lines = [line for line in siege.err.splitlines() if line.startswith("belljar: ")]
    assert any(word in line for line in lines), f"'{word}' is not named: {siege}"
