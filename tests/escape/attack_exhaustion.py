"""Exhaustion: who takes all there is takes only what is theirs, the host and the neighbours notice
nothing, and the result says which limit it was.

Without cgroups (U and S on a machine that delegates none, and here) memory is watched, and without
project quotas disks are: both may be overshot by what is taken between two looks."""
import os
import pathlib
import signal
import subprocess
import time

from harness import children, not_here, status_of, test
from siege import DISK, LIMITS, MEMORY, MIB, PATIENCE, PIDS, Siege, named, timed_true

OVERSHOT = 160  # MiB: what may be written between two looks, and what others write meanwhile
NOISE = 64      # MiB: what others share meanwhile


# --- processes


def bombard(box, *argv):
    siege = Siege(box, *argv, options=(*LIMITS, "--timeout", "3"))
    # Its time is up, or so many processes need more memory than there is: both are limits.
    assert siege.code == 124 or (siege.code == 137 and "memory:" in siege.err), siege
    assert siege.processes <= PIDS + 10, siege
    if box.mode == "R" and siege.code == 124:  # elsewhere nobody counts what was refused
        named(siege, "pids")
    return siege


@test("RX-01", "a fork bomb of the shell stays in its limit")
def fork_bomb_shell(box):
    bombard(box, "bash", "-c", "b() { b | b & }; b; wait; sleep 9")


@test("RX-01", "a fork bomb in python stays in its limit")
def fork_bomb_python(box):
    bombard(box, "python3", "-c", "import os\nwhile True:\n try: os.fork()\n except OSError: pass")


@test("RX-01", "a fork bomb in C stays in its limit")
def fork_bomb_c(box):
    bombard(box, "/escape/rx_fork")


@test("RX-01", "a bomb of threads with vfork stays in its limit")
def fork_bomb_vfork(box):
    bombard(box, "/escape/rx_fork", "vfork")


@test("RX-01", "after a fork bomb the same sandbox works again")
def after_fork_bomb(box):
    box.exec("/escape/rx_fork", options=(*LIMITS, "--timeout", "1"), sandbox="bombed")
    assert box.sh("echo again | cat", options=LIMITS, sandbox="bombed").out == "again\n"


@test("RX-02", "a hundred thousand threads are not to be had")
def threads(box):
    siege = Siege(box, "/escape/rx_threads", "100000")
    assert siege.code == 0 and "threads, then: Resource temporarily unavailable" in siege.out, siege
    assert PIDS // 2 < int(siege.out.split()[0]) <= PIDS + 8 and siege.processes <= PIDS + 10, siege
    if box.mode == "R":
        named(siege, "pids")


# --- memory


def swallow(box, program, kind, mib=400, seconds=4, sandbox=None):
    """Whatever way it is taken, it does not get much more than the limit."""
    siege = Siege(box, f"/escape/{program}", kind, str(mib), str(seconds), sandbox=sandbox)
    assert "held" not in siege.out, siege
    return siege


@test("RX-03", "memory beyond the limit is refused or ends the program; the sandbox lives on")
def malloc(box):
    siege = swallow(box, "rx_memory", "malloc", sandbox="hungry")
    assert siege.sum <= MEMORY + 32, siege
    if box.mode == "R":
        assert siege.code == 128 + signal.SIGKILL, siege
        named(siege, "memory")
    else:
        assert siege.code == 1 and "refused: Cannot allocate memory" in siege.err, siege
    assert box.sh("echo again", options=LIMITS, sandbox="hungry").out == "again\n"


@test("RX-03", "shared mappings beyond the limit end the program, and memory is named")
def shared_mappings(box):
    siege = swallow(box, "rx_memory", "shared", sandbox="hungry")
    assert box.sh("echo again", options=LIMITS, sandbox="hungry").out == "again\n"
    named(siege, "memory")


@test("RX-03", "tables of pages count, and memory is named")
def page_tables(box):
    named(swallow(box, "rx_memory", "tables", mib=300), "memory")


@test("RX-03", "what many children take counts together, and memory is named")
def children_together(box):
    # With cgroups one of them is killed, the first program may get to its end.
    siege = Siege(box, "/escape/rx_memory", "children", "400", "3")
    named(siege, "memory")


@test("RX-03", "what children of a second thread take counts as well")
def children_of_thread(box):
    siege = Siege(box, "/escape/rx_memory", "threads-children", "400", "4")
    named(siege, "memory")


LEADERLESS = r"""
import ctypes, mmap, os, threading, time
def take():
    time.sleep(0.3)
    taken = mmap.mmap(-1, 400 << 20)
    for i in range(400): taken.write(b"x" * (1 << 20))
    time.sleep(2); print("held", flush=True); os._exit(0)
threading.Thread(target=take).start()
ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
"""


@test("RX-03", "what a process takes counts after its first thread has gone")
def leaderless(box):
    siege = Siege(box, "python3", "-c", LEADERLESS)
    assert "held" not in siege.out, siege
    named(siege, "memory")


@test("RX-03", "memory nobody maps counts: memfd")
def memory_memfd(box):
    named(swallow(box, "rx_hidden", "memfd"), "memory")


# Without cgroups nobody counts these (SECURITY.md says so).
@test("RX-03", "memory nobody maps counts: shared memory of System V", "R")
def memory_sysv(box):
    named(swallow(box, "rx_hidden", "sysv"), "memory")


@test("RX-04", "/dev/shm takes no more than it may")
def memory_shm(box):
    siege = swallow(box, "rx_hidden", "shm")
    assert siege.shmem <= 64 + NOISE, siege
    if box.mode == "R":
        named(siege, "memory")
    else:
        assert "refused" in siege.out, siege


@test("RX-04", "/tmp is disk and /run is small")
def memory_tmp(box):
    siege = Siege(box, "sh", "-c", "head -c 8M /dev/zero > /tmp/a; head -c 8M /dev/zero > /run/a; "
                  "stat -c %s /tmp/a /run/a; df /run | tail -n 1")
    assert siege.out.split()[0] == str(8 * MIB) and int(siege.out.split()[1]) <= MIB, siege


@test("RX-05", "files larger than the memory can be written and read")
def page_cache(box):
    options = ("--memory", "64M", "--disk", "1G")
    siege = Siege(box, "sh", "-c", "head -c 300M /dev/zero > big; wc -c < big; rm big", options=options)
    assert siege.code == 0 and siege.out == f"{300 * MIB}\n", siege
    siege.disk_is_back()


# --- disk


def fill(box, *argv, options=LIMITS, word="disk"):
    """Ended, and told why; or refused from the beginning, as what takes much at once may be."""
    siege = Siege(box, *argv, options=options)
    assert "held" not in siege.out, siege
    assert siege.disk <= DISK + OVERSHOT, siege
    siege.disk_is_back()
    if "refused: Operation not supported" not in siege.err:
        named(siege, word)


for kind, what in (("write", "one large file"), ("files", "many files"), ("fallocate", "fallocate"),
                   ("mmap", "sparse files and mappings")):
    test("RX-05", f"the disk is not filled: {what}")(
        lambda box, kind=kind: fill(box, "/escape/rx_disk", kind, "400"))

@test("RX-05", "the disk is not filled: large pieces by fallocate")
def disk_pieces(box):
    fill(box, "python3", "-c", "import os\nfor i in range(40): os.posix_fallocate("
         "os.open(f'f{i}', os.O_CREAT | os.O_RDWR), 0, 100 << 20)\nprint('held')")


for kind, what in (("unlinked", "open files without names"), ("tmpfile", "O_TMPFILE"),
                   ("mapped", "files without names that are mapped only"),
                   ("thread", "files without names, open in a second thread only"),
                   ("leaderless", "files without names, open after the first thread has gone"),
                   ("reserve", "ioctl for fallocate")):
    test("RX-05", f"the disk is not filled: {what}")(
        lambda box, kind=kind: fill(box, "/escape/rx_disk", kind, "400"))


@test("RX-05", "files without names within the limit are nobody's business")
def disk_nameless(box):
    for kind in ("unlinked", "tmpfile", "mapped", "thread", "leaderless"):
        result = box.sh(f"/escape/rx_disk {kind} 12; dd if=/dev/zero of=f bs=1M count=2 status=none; "
                        f"sleep 0.2; echo whole", options=LIMITS)
        refused = kind == "tmpfile" and "Operation not supported" in result.err    # by older kernels
        assert result.out == "held\nwhole\n" or refused, (kind, result)


# The large file comes after the chain whoever counts cannot get out of: its `..` is another one.
MOVING = r"""
import multiprocessing, os, time
os.mkdir("top"); os.mkdir("other"); os.chdir("top")
os.mkdir("chain")
for n in range(100):
    open(f"big{n}", "w").close()
    if os.listdir(".").index("chain") < os.listdir(".").index(f"big{n}"): break
    os.unlink(f"big{n}")
big = os.path.abspath(f"big{n}")
for name in ("chain", "../other"):
    os.makedirs(name + "/d" * 10); os.chdir(name + "/d" * 10)
    for i in range(90): os.mkdir("d"); os.chdir("d")
    for i in range(300): open(f"f{i}", "w").close()
    os.chdir("/workspace/top")
def mover():
    while True:
        for level in range(1, 60):
            a, b = "chain" + "/d" * level, "../other" + "/d" * level
            os.rename(a, "../t"); os.rename(b, a); os.rename("../t", b)
multiprocessing.Process(target=mover, daemon=True).start()
with open(big, "wb") as file:
    for i in range(300):
        file.write(bytes(1 << 20)); file.flush(); time.sleep(0.005)
print("held", flush=True); os._exit(0)
"""


@test("RX-05", "the disk is not filled while directories move, so that nobody can count them")
def disk_moving(box):
    fill(box, "python3", "-c", MOVING, options=("--memory", "256M", "--pids", "64", "--disk", "16M"))


@test("RX-05", "the disk is not filled while others remove their files")
def disk_others_free(box):
    ballast = box.directory / "ballast"
    with open(ballast, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 600 * MIB)
    process = box.start("sh", "-c", "echo ready; sleep 2; /escape/rx_disk write 300", options=LIMITS)
    box.wait_for(process, "ready")
    ballast.unlink()
    out, err = process.communicate(timeout=40)
    box.running.remove(process)
    assert "held" not in out, f"300 MiB written with a limit of {DISK}: {out} {err}"


@test("RX-05", "a sandbox that was over its disk can be read and cleaned up, and grows no more")
def disk_after(box):
    box.sh("echo precious >result", options=LIMITS, sandbox="full")
    box.c("rx_disk", "write", "200", sandbox="full")
    # Something of the host is written meanwhile, so that the sandbox is counted.
    read = box.python("import time; time.sleep(0.5); print(open('result').read())", sandbox="full")
    assert read.code == 0 and "precious" in read.out, read
    more = box.c("rx_disk", "write", "400", sandbox="full")
    assert more.code != 0 and "disk" in more.err, more
    after = box.sh("rm -f f0; echo cleaned", sandbox="full")
    assert after.out == "cleaned\n", after
    small = box.sh("echo few > f1; sleep 1; cat f1", sandbox="full")
    assert small.out == "few\n", small


@test("RX-08", "files without end are not to be had, and the limit is named")
def inodes(box):
    fill(box, "sh", "-c", "/escape/rx_many file 60000 && sleep 2 && echo held",
         options=(*LIMITS[:-4], "--disk", "1G", "--inodes", "1000", "--cpu", "1000"), word="files")


@test("RX-08", "names without end that are not there harm nobody")
def missing_names(box):
    siege = Siege(box, "/escape/rx_many", "missing", "300000")
    assert siege.code in (0, 137) and siege.server < 64, siege


@test("RX-08", "two thousand directories in each other are made, and removed afterwards")
def deep(box):
    siege = Siege(box, "/escape/rx_many", "deep", "2000", options=("--disk", "256M"))
    assert siege.out.startswith("2000 all"), siege
    siege.disk_is_back()
    left = [name for name in os.listdir(box.state / "sandboxes") if name.startswith("sb_")]
    assert not left, left


# --- processor


SPIN = "for i in $(seq 60); do while :; do :; done & done; sleep 6; kill 0"


@test("RX-06", "sixty spinning processes leave the neighbours their time")
def spinning(box):
    idle = min(timed_true(box) for _ in range(3))
    siege = Siege(box, "sh", "-c", SPIN, options=("--pids", "100", "--timeout", "7", "--memory", "256M"))
    assert siege.processes > 50, siege
    assert siege.slowest < max(10 * idle, 3), f"idle {idle:.2f} s; {siege}"


@test("RX-07", "no priority is to be gained")
def priority(box):
    tried = box.python("""
import os, resource
def attempt(name, call):
    try: call(); print("GOT", name)
    except (OSError, ValueError): print("refused", name)
attempt("nice", lambda: os.nice(-5))
attempt("fifo", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
attempt("rr", lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(99)))
attempt("agent", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
attempt("user", lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19))
attempt("affinity of the agent", lambda: os.sched_setaffinity(1, {0}))
attempt("limits of the agent", lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3)))
attempt("more files", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20)))
attempt("more processes", lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1 << 20, 1 << 20)))
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); os.nice(5); print("twins work")
""")
    assert "GOT" not in tried.out and "twins work" in tried.out, tried


# --- descriptors and what hangs on them


def count(result):
    assert result.code == 0 and result.out.split(), result
    return int(result.out.split()[0]), result.out.split()[1]


@test("RX-09", "descriptors end at the limit")
def descriptors(box):
    got, why = count(box.c("rx_many", "fd", "1000000", options=(*LIMITS, "--open-files", "100")))
    assert got <= 100 and why == "EMFILE", (got, why)


@test("RX-09", "descriptors under way in sockets have a limit, nested as well")
def descriptors_under_way(box):
    got, why = count(box.c("rx_scm", options=(*LIMITS, "--open-files", "256")))
    assert got <= 260 and why == "ETOOMANYREFS", (got, why)
    assert timed_true(box) < PATIENCE


HOLD = r"""
import os, sys, time
for i in range(int(sys.argv[1])): os.memfd_create("m")
for i in range(int(sys.argv[2])):
    if os.fork() == 0: time.sleep(99)
print("ready", flush=True); time.sleep(99)
"""


@test("RX-09", "half a million descriptors are counted by nobody who has something else to do")
def descriptors_looked_at(box):
    process = box.start("python3", "-c", HOLD, "4000", "120", options=("--pids", "200"))
    box.wait_for(process, "ready")
    time.sleep(3)
    assert process.poll() is None, process.communicate()
    for pid in [process.pid, *children(process.pid)]:  # the server, its spawner
        ticks = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        assert sum(map(int, ticks)) < 100, f"{status_of(pid)['Name']} has worked {ticks} ticks"


@test("RX-10", "memory of pipes has a limit")
def pipes(box):
    siege = Siege(box, "/escape/rx_hidden", "pipes", "2000", "2")
    assert "held" not in siege.out, siege


@test("RX-10", "memory of sockets has a limit", "R")
def sockets(box):
    siege = Siege(box, "/escape/rx_hidden", "sockets", "400", "2", options=LIMITS)
    assert "held" not in siege.out, siege


@test("RX-11", "terminals end at their limit, and the host has its own")
def terminals(box):
    process = box.start("sh", "-c", "/escape/rx_many pty 5000; echo done; sleep 60", options=LIMITS)
    line = box.wait_for(process, " ")
    assert int(line.split()[0]) <= 64, line
    master, slave = os.openpty()
    os.close(master)
    os.close(slave)
    assert count(box.c("rx_many", "pty", "4"))[0] == 4, "a neighbour has its own"


FULL = ("EMFILE", "ENOSPC", "ENOMEM", "ENFILE", "EPERM", "EACCES")


@test("RX-12", "epoll, eventfd, timerfd, inotify, queues and semaphores have limits")
def small_things(box):
    for kind in ("epoll", "eventfd", "timerfd", "inotify", "mq", "sem"):
        result = box.c("rx_many", kind, "1000000", options=(*LIMITS, "--open-files", "256"))
        if result.code == 128 + signal.SIGKILL and "belljar: memory" in result.err:
            continue  # they are memory of the kernel, and counted
        got, why = count(result)
        assert got < 40000 and why in FULL, (kind, got, why)
    assert timed_true(box) < PATIENCE
    descriptor = os.eventfd(0)
    os.close(descriptor)


# --- output


@test("RX-13", "a flood of output takes no memory of belljar")
def flood(box):
    with open("/dev/null", "w") as nowhere:
        process = subprocess.Popen(box.command(["sh", "-c", "yes | head -c 1G"], LIMITS),
                                   stdin=subprocess.DEVNULL, stdout=nowhere, stderr=subprocess.PIPE,
                                   env=box.environment(), cwd="/")
    box.running.append(process)
    most = 0
    until = time.monotonic() + 60
    while process.poll() is None:
        assert time.monotonic() < until, "a GiB takes more than a minute"
        try:
            most = max(most, int(status_of(process.pid).get("VmHWM", "0").split()[0]))
        except (OSError, KeyError, IndexError):
            break
        time.sleep(0.05)
    assert process.wait(20) == 0
    assert 0 < most < 24 * 1024, f"{most} KiB"
    assert box.sh("yes | head -c 3000001 | wc -c").out == "3000001\n"


@test("RX-14", "a hundred thousand writes of one byte arrive, all of them")
def one_byte_writes(box):
    siege = Siege(box, "/escape/rx_noise", "bytes", "100000")
    assert siege.code == 0 and len(siege.out) == 50000 and siege.err.count("x") == 50000, siege


@test("RX-15", "output nobody reads holds up nobody else, and ends when the reader goes")
def no_reader(box):
    process = box.start("sh", "-c", "yes & yes >&2; wait", options=LIMITS)
    time.sleep(2)
    first = int(status_of(process.pid)["VmRSS"].split()[0])
    assert timed_true(box) < PATIENCE
    time.sleep(1)
    assert int(status_of(process.pid)["VmRSS"].split()[0]) - first < 2048, "grows while nobody reads"
    process.stdout.close()
    process.stderr.close()
    process.wait(10)
    box.running.remove(process)


@test("RX-16", "sync of a sandbox is none of the host")
def sync_storm(box):
    siege = Siege(box, "sh", "-c", "for i in $(seq 16); do /escape/rx_noise sync 200000 & done; wait")
    assert siege.code == 0 and siege.out.count("0 died") == 16, siege


# --- time


@test("RX-17", "a program that stops itself is ended when its time is up")
def stopped(box):
    siege = Siege(box, "sh", "-c", "(trap '' TERM INT HUP; kill -STOP $$) ; sleep 99",
                  options=(*LIMITS, "--timeout", "2"))
    assert siege.code == 124 and "ended after 2 s" in siege.err, siege


@test("RX-17", "a program that ignores all signals is ended when its time is up, with its children")
def ignoring(box):
    siege = Siege(box, "sh", "-c", "trap '' TERM INT HUP QUIT; setsid sleep 99 & sleep 99",
                  options=(*LIMITS, "--timeout", "2"))
    assert siege.code == 124, siege


# --- many sandboxes


def growth(box, rounds):
    """Of a machine on which sandboxes come and go: nothing. Groups and processes: Leftovers."""
    def look():
        mounts = len(pathlib.Path("/proc/self/mountinfo").read_text().splitlines())
        return dict(files=int(pathlib.Path("/proc/sys/fs/file-nr").read_text().split()[0]),
                    mounts=mounts, entries=len(list(box.state.rglob("*"))))
    for _ in range(3):
        timed_true(box)
    before = look()
    for number in range(rounds):
        argv = [["true"], ["sh", "-c", "sleep 9 & echo data > kept"], ["sleep", "9"]][number % 3]
        if number % 3 == 2:  # killed while it runs
            process = box.start(*argv, options=LIMITS)
            time.sleep(0.05 + number % 7 * 0.02)
            process.kill()
            process.communicate()
            box.running.remove(process)
        else:
            assert box.exec(*argv, options=LIMITS).code == 0
    timed_true(box)
    time.sleep(1)
    after = look()
    assert after["mounts"] <= before["mounts"], (before, after)
    assert after["entries"] <= before["entries"] + 2, (before, after)
    assert after["files"] <= before["files"] + 2000, (before, after)


@test("RX-22", "sixty sandboxes come and go and leave nothing")
def come_and_go(box):
    growth(box, 60)


@test("RX-22", "three hundred sandboxes come and go and leave nothing", long=True)
def come_and_go_more(box):
    growth(box, 300)


@test("RX-22", "ten thousand sandboxes come and go and leave nothing", long=True, modes="R")
def come_and_go_long(box):
    growth(box, 10000)


@test("RX-21", "twelve sandboxes at once all get their turn")
def at_once(box):
    processes = [box.start("sh", "-c", f"sleep 1; echo {i}", options=LIMITS) for i in range(12)]
    for i, process in enumerate(processes):
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, f"{i}\n"), err
        box.running.remove(process)


# --- the logs of the host


def kernel_lines():
    return len(subprocess.run(["dmesg"], capture_output=True).stdout.splitlines())


@test("RX-23", "crashes leave no core files, in the sandbox or on the host")
def core_files(box):
    siege = Siege(box, "sh", "-c", "ulimit -c unlimited; /escape/rx_noise crash 50; ls -A /workspace")
    assert siege.code == 0 and siege.out == "50 died\n", siege


@test("RX-24", "two thousand crashes do not flood the log of the kernel")
def log_flood(box):
    before = kernel_lines()
    crash = Siege(box, "/escape/rx_noise", "crash", "1000")
    sigsys = Siege(box, "/escape/rx_noise", "sigsys", "1000")
    assert (crash.out, sigsys.out) == ("1000 died\n", "1000 died\n"), (crash, sigsys)
    assert kernel_lines() - before < 200, kernel_lines() - before


@test("RX-25", "a host with five hundred mounts makes sandboxes as fast", modes="R", long=True)
def many_mounts(box):
    before = min(timed_true(box) for _ in range(5))
    top = box.directory / "mounts"
    for i in range(500):
        (top / str(i)).mkdir(parents=True)
        subprocess.run(["mount", "--bind", str(top / str(i)), str(top / str(i))], check=True)
    try:
        after = min(timed_true(box) for _ in range(5))
    finally:
        for i in range(500):
            subprocess.run(["umount", "-l", str(top / str(i))], check=True)
    assert after < before * 2 + 0.5, (before, after)


not_here("RX-18", "belljar exec ends with its program; sleeping sandboxes are the server's")
not_here("RX-19", "archives are unpacked by the agent's own tests: tests/unit, tests/fuzz")
not_here("RX-20", "results of tools are the server's, and text to it")
not_here("RX-26", "a range of ids ends only with tens of thousands of sandboxes that are kept")
