"""Tables and memory of the kernel that all processes of the host share: one sandbox gets a share of each,
or its memory limit counts them. doc/kernel-resources.md has the list."""
import pathlib
import subprocess

from harness import children, test
from watched_attack import LIMITS, WatchedAttack, check_limit_named

SHARE = 8  # one sandbox gets at most an eighth
FEWEST_FILES = 128


def setting(name):
    return int(pathlib.Path("/proc/sys", name).read_text())


def hold(box, *args, options=LIMITS):
    """Starts rx_kernel, which holds its objects. Returns the process, how many, and why not more."""
    process = box.start("/escape/rx_kernel", *args, options=options)
    words = box.wait_for(process, " ").split()
    return process, int(words[0]), words[1]


@test("RX-40", "one sandbox gets an eighth of the user's inotify instances")
def inotify_instances(box):
    most = min(setting("fs/inotify/max_user_instances") // SHARE, 64)
    process, got, why = hold(box, "inotify", "3", "1000")
    assert 0 < got <= most and why == "EMFILE", (got, why)
    # Another sandbox, with its own server, and the user outside have instances left.
    assert box.c("rx_many", "inotify", "2").out == "2 all\n"
    outside = [*box.as_user(), str(box.offered / "rx_many"), "inotify", "2"]
    assert subprocess.run(outside, capture_output=True, text=True).stdout == "2 all\n"
    if box.mode != "R":  # root's sandboxes have no user namespace of the server above them
        spawner = children(process.pid)[0]
        shown = subprocess.run(["nsenter", "--user", "--preserve-credentials", "--target",
                                str(spawner), "cat", "/proc/sys/user/max_inotify_instances"], capture_output=True, text=True)
        assert int(shown.stdout) == setting("fs/inotify/max_user_instances") // 2, shown


@test("RX-40", "inotify watches have a limit, and fanotify none to give")
def inotify_watches(box):
    shown = box.sh("cd /proc/sys/user; cat max_inotify_watches max_fanotify_groups max_fanotify_marks").out.split()
    assert 0 < int(shown[0]) <= max(setting("fs/inotify/max_user_watches") // SHARE, 1), shown
    assert shown[1:] == ["0", "0"], shown
    # The programs that watch files: one instance for each process, one watch for each directory.
    assert box.python("import ctypes; libc = ctypes.CDLL(None); fd = libc.inotify_init(); "
                      "print(min(libc.inotify_add_watch(fd, d, 2) for d in (b'/tmp', b'/usr', b'/etc')))"
                      ).out == "1\n"


@test("RX-41", "a sandbox's processes and their files fill at most an eighth of the file table")
def file_table(box):
    share = setting("fs/file-max") // SHARE
    for pids in (64, 512):
        options = ("--memory", "256M", "--pids", str(pids), "--disk", "16M")
        files = int(box.sh("ulimit -Hn", options=options).out)
        assert files == min(4096, max(share // pids, FEWEST_FILES)), (pids, files, share)
    many = setting("fs/file-max") // 2 // FEWEST_FILES + 1
    if many < 60000:  # more than the machine has
        lowered = box.sh("true", options=("--pids", str(many)))
        assert lowered.code == 0 and f"pids: {many} is more than this machine has" in lowered.err, lowered


@test("RX-41", "two sandboxes that open all files they can leave the others enough")
def file_table_filled(box):
    options = ("--memory", "1G", "--pids", "200")
    total = sum(hold(box, "files", "150", "5000", options=options)[1] for _ in range(2))
    assert total <= 2 * setting("fs/file-max") // SHARE, total
    assert box.sh("echo again | cat").out == "again\n"


# R only: without a memory cgroup nothing counts these (see doc/kernel-resources.md).
COUNTED = (("timers", 150, 4000), ("memfds", 100, 4000), ("watches", 30, 200000),
           ("mappings", 60, 60000), ("messages", 16, 400000), ("semaphores", 4, 3000))


@test("RX-42", "kernel objects count as memory", "R")
def counted_objects(box):
    for kind, processes, objects in COUNTED:
        attack = WatchedAttack(box, "/escape/rx_kernel", kind, str(processes), str(objects), ask=False,
                               options=("--memory", "32M", "--pids", "200", "--timeout", "120"))
        assert f"{processes * objects} all" not in attack.out, (kind, attack)
        check_limit_named(attack, "memory")


# A directory that both layers of the overlay have: the kernel keeps a list of its names for each open
# descriptor, and no cgroup counts that list. Such a directory has one link; others have two or more.
# Not S: the user's own id owns every directory, and can make each writable (see doc/kernel-resources.md).
@test("RX-43", "no directory that programs may write to is a merged one", "RU")
def merged_directories(box):
    look = "find / -xdev -type d -links 1 -writable 2>/dev/null; ls -ld / >&2"
    for _ in range(2):  # when it is new, and after it woke
        found = box.sh(look, sandbox="kept")
        assert found.out == "", found
    assert box.sh("mkdir /new").code != 0
    for name in ("/tmp", "/var/tmp", "/opt", "/mnt", "/srv", "/workspace", "/home/coderunner"):
        assert box.sh(f"mkdir {name}/d && echo x >{name}/d/f && cat {name}/d/f", sandbox="kept").out == "x\n", name


DATABASE = r"""
import sqlite3, threading
def connect():
    base = sqlite3.connect("/workspace/base", timeout=60); base.execute("pragma journal_mode=wal"); return base
connect().execute("create table t(n)")
def insert():
    base = connect()
    for n in range(50):
        with base: base.execute("insert into t values(?)", (n,))
threads = [threading.Thread(target=insert) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(connect().execute("select count(*) from t").fetchone()[0])
"""


@test("RX-44", "a database with locks and a shared log works")
def database(box):
    assert box.python(DATABASE).out == "200\n"


# Processes and locks of each: more than one sandbox may have, and few enough for any. The honest one has
# threads, which share their locks.
MANY_LOCKS = ("20", "25000")
FEW_LOCKS = r"""
import fcntl, threading, time
f = open("/workspace/locked", "w")
for n in range(8000): fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 2 * n)
for n in range(32): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print("locked", flush=True)
time.sleep(600)
"""


@test("RX-45", "a sandbox that holds hundreds of thousands of record locks is ended, others are not")
def record_locks(box):
    honest = box.start("python3", "-c", FEW_LOCKS)
    assert box.wait_for(honest, "\n") == "locked\n"
    attack = WatchedAttack(box, "/escape/rx_kernel", "locks", *MANY_LOCKS, ask=False,
                           options=(*LIMITS, "--timeout", "100"))
    check_limit_named(attack, "locks")
    assert honest.poll() is None, "the sandbox with few locks has ended"


@test("RX-45", "locks of open file descriptions are refused as on a kernel without them")
def description_locks(box):
    for name in ("standard", "strict", "debug"):
        _, got, why = hold(box, "description-locks", "1", "10", options=(*LIMITS, "--calls", name))
        assert (got, why) == (0, "EINVAL"), (name, got, why)
