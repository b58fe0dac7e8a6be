"""Two sandboxes do not see, signal, trace, reach, lock or read each other, and a later sandbox finds
nothing of an earlier one. The other sandbox is called the neighbour here."""
import contextlib
import os
import pathlib
import time

from harness import live_statuses, not_tested, test

WAIT = "import time; print('ready', flush=True); time.sleep(600)"


def neighbour(box, source, options=()):
    """Starts a sandbox that runs `source`, prints "ready" and then waits."""
    process = box.start("python3", "-c", source + "\n" + WAIT, options=options)
    box.wait_for(process, "ready")
    return process


# --- processes


@test("SC-11", "a neighbour's processes are neither seen nor counted")
def see_processes(box):
    process = neighbour(box, "")
    assert box.processes(process), "the neighbour does not run"
    seen = box.python("import os\n"
                      "for p in os.listdir('/proc'):\n"
                      "    if p.isdigit(): print(p, open(f'/proc/{p}/cmdline').read().split(chr(0))[0])")
    pids = [int(line.split()[0]) for line in seen.out.splitlines()]
    assert seen.code == 0 and pids and max(pids) < 50 and len(pids) <= 3, seen


@test("SC-11", "a neighbour's processes cannot be signalled, traced or opened by their host pids")
def reach_processes(box):
    process = neighbour(box, "")
    inside = box.processes(process)
    tried = box.python("""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for text in sys.argv[1:]:
    pid = int(text)
    try: os.kill(pid, 9); print("SIGNALLED", pid)
    except OSError: pass
    if libc.ptrace(16, pid, 0, 0) == 0: print("TRACED", pid)
    for name in ("mem", "root/etc/passwd", "environ", "maps", "fd", "ns/net", "cwd"):
        try: os.stat(f"/proc/{pid}/{name}"); print("OPENED", pid, name)
        except OSError: pass
    try: os.pidfd_open(pid); print("PIDFD", pid)
    except OSError: pass
print("done")
""", *[str(pid) for pid in inside if pid > 60])
    assert tried.out == "done\n", tried
    box.python("import os; os.kill(-1, 9)")  # reaches only processes of its own sandbox
    time.sleep(0.2)
    assert process.poll() is None and set(inside) <= set(box.processes(process)), "the neighbour was killed"


@test("SC-07", "two sandboxes have different host ids", modes="RU")
def ids_do_not_overlap(box):
    # Mode S has a single id: there only namespaces and the filter separate sandboxes.
    first, second = neighbour(box, ""), neighbour(box, "")
    users, ranges = [], []
    for process in (first, second):
        inside = box.processes(process)
        users.append({int(word) for status in live_statuses(inside) for word in status["Uid"].split()})
        used = set()
        for line in pathlib.Path(f"/proc/{inside[0]}/uid_map").read_text().splitlines():
            begin, outside, count = map(int, line.split())
            if begin != 0:  # the owner of files that all sandboxes see; no process has this id
                used |= set(range(outside, outside + count))
        ranges.append(used)
        groups = pathlib.Path(f"/proc/{inside[0]}/gid_map").read_text()
        assert len(groups.splitlines()) == len(
            pathlib.Path(f"/proc/{inside[0]}/uid_map").read_text().splitlines()), groups
    assert not users[0] & users[1], users
    assert not ranges[0] & ranges[1], (min(ranges[0]), min(ranges[1]))
    assert 0 not in users[0] | users[1] | ranges[0] | ranges[1] and box.uid not in ranges[0], users


@test("SC-07", "two sandboxes share no namespace")
def namespaces_differ(box):
    first, second = neighbour(box, ""), neighbour(box, "")
    one, two = box.processes(first)[0], box.processes(second)[0]
    for name in ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts"):
        if box.mode == "D" and name in ("cgroup", "user"):
            continue  # the daemon decides about both, and doctor reports the second
        links = {os.readlink(f"/proc/{pid}/ns/{name}") for pid in (one, two, "self")}
        assert len(links) == 3, (name, links)


# --- shared files: locks and events


LOCK = """
import fcntl, sys
for name in {names!r}:
    file = open(name, "rb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB); print("flock", name, flush=True)
    except OSError as e: print("REFUSED flock", name, e, flush=True)
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB); print("lockf", name, flush=True)
    except OSError as e: print("REFUSED lockf", name, e, flush=True)
    globals()["keep" + name] = file
"""
SHARED = ["/escape/sc_ipc", "/usr/bin/env", "/etc/passwd"]


@test("SC-01", "a lock on a shared file does not affect other sandboxes")
def locks(box):
    names = SHARED
    neighbour(box, LOCK.format(names=names))
    second = box.python(LOCK.format(names=names))
    assert second.code == 0 and "REFUSED" not in second.out, second
    assert second.out.count("flock") == len(names), second


@test("SC-01", "locks of sandboxes and of the host do not affect each other")
def locks_of_host(box):
    import fcntl
    neighbour(box, LOCK.format(names=["/escape/sc_ipc", "/usr/bin/env"]))
    for path in (box.offered / "sc_ipc", pathlib.Path("/usr/bin/env")):
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            inside = "/escape/sc_ipc" if path.name == "sc_ipc" else "/usr/bin/env"
            assert "REFUSED" not in box.python(LOCK.format(names=[inside])).out, path


LISTEN = """
import ctypes, os, select
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init()
for name in {names!r}:
    libc.inotify_add_watch(fd, name, 0xfff)
print("ready", flush=True)
ready, _, _ = select.select([fd], [], [], 3)
print("EVENT " + repr(os.read(fd, 4096)[:64]) if ready else "silence", flush=True)
"""


@test("SC-02", "inotify shows no events of a neighbour")
def events(box):
    names = [b"/escape", b"/escape/sc_ipc", b"/usr/bin", b"/usr/bin/env", b"/etc", b"/etc/passwd", b"/tmp",
             b"/workspace", b"/dev/shm", b"/"]
    process = box.start("python3", "-c", LISTEN.format(names=names))
    box.wait_for(process, "ready")
    quiet = box.sh("cat /escape/sc_ipc /usr/bin/env /etc/passwd > /dev/shm/x; ls /usr/bin /escape /etc / > /tmp/x;"
                   "echo x > /workspace/y; cat /usr/bin/env > /tmp/z")
    assert quiet.code == 0, quiet
    out = process.stdout.read()
    assert out == "silence\n", out
    own = box.python(LISTEN.format(names=names).replace("print(\"ready\"", "open('/tmp/own', 'w').close(); print(\"\""))
    assert "EVENT" in own.out, own  # its own events are shown


# R only: an ordinary user cannot create device nodes, so sandboxes have the host's own (SECURITY.md).
@test("SC-02", "inotify on a device shows no events of a neighbour", "R")
def events_of_devices(box):
    process = box.start("python3", "-c", LISTEN.format(names=[b"/dev/full"]))
    box.wait_for(process, "ready")
    box.sh("for i in 1 2 3; do head -c 1 /dev/full; done")
    out = process.stdout.read()
    assert out == "silence\n", f"the device has the inode of the host's node: {out}"


@test("SC-01", "a lock on a device does not affect other sandboxes", "R")
def locks_of_devices(box):
    neighbour(box, LOCK.format(names=["/dev/full"]))
    second = box.python(LOCK.format(names=["/dev/full"]))
    assert "REFUSED" not in second.out, f"the device has the inode of the host's node: {second}"


# --- objects of the kernel


@test("SC-03", "shared memory, queues, semaphores, keys and abstract sockets are not shared")
def kernel_names(box):
    process = box.start("/escape/sc_ipc", "make")
    made = []
    while not made or made[-1] != "done":
        line = process.stdout.readline().strip()
        assert line, f"it ended early: {made}"
        made.append(line)
    assert {"made shm", "made sysv-shm", "made sysv-sem", "made sysv-msg", "made abstract"} <= set(made), made
    assert not {"made key", "made keyring", "made vsock"} & set(made), made
    second = box.c("sc_ipc", "look")
    assert second.code == 0 and second.out == "done\n", second
    assert not os.path.exists("/dev/shm/belljar"), "the shared memory is on the host"


@test("SC-03", "a neighbour's servers cannot be connected to")
def servers(box):
    neighbour(box, """
import socket, os
held = []
for family, at in ((socket.AF_INET, ("0.0.0.0", 48123)), (socket.AF_UNIX, "/tmp/sock"),
                   (socket.AF_UNIX, "/dev/shm/sock"), (socket.AF_UNIX, "\\0neighbour-sock")):
    s = socket.socket(family); s.bind(at); s.listen(); held.append(s)
s = socket.create_connection(("127.0.0.1", 48123)); held.append(s)
""")
    tried = box.python("""
import socket
for family, at in ((socket.AF_INET, ("127.0.0.1", 48123)), (socket.AF_UNIX, "/tmp/sock"),
                   (socket.AF_UNIX, "/dev/shm/sock"), (socket.AF_UNIX, "\\0neighbour-sock")):
    s = socket.socket(family); s.settimeout(2)
    try: s.connect(at); print("CONNECTED", at)
    except OSError: pass
print("done", open("/proc/net/unix").read().count("sock"), open("/proc/net/tcp").read().count(":BBFB"))
""")
    assert tried.out == "done 0 0\n", tried


# --- side channels


@test("SC-04", "mincore and cachestat do not tell which pages of shared files are cached")
def page_cache(box):
    seen = box.c("sc_cache", "/usr/bin/python3")
    assert seen.code == 0 and "SOME" not in seen.out and "cachestat ANSWERS" not in seen.out, seen
    strict = box.c("sc_cache", "/usr/bin/python3", options=("--calls", "strict"))
    assert "mincore EPERM" in strict.out or "mincore ENOSYS" in strict.out, strict


@test("SC-05", "files of /proc that could carry data between sandboxes are empty")
def proc_files(box):
    names = ["interrupts", "softirqs", "locks", "schedstat", "diskstats", "zoneinfo", "buddyinfo", "slabinfo",
             "vmallocinfo", "timer_list", "sched_debug", "keys", "key-users", "pressure/cpu", "pagetypeinfo"]
    read = box.python("import sys\n"
                      "for n in sys.argv[1:]:\n"
                      "    try: print(n, len(open('/proc/' + n).read()))\n"
                      "    except OSError: pass\n"
                      "print('cpus', open('/proc/cpuinfo').read().count('processor'))", *names)
    lines = dict(line.split() for line in read.out.splitlines())
    assert int(lines.pop("cpus")) > 0, "/proc/cpuinfo is not readable"
    assert not {name: size for name, size in lines.items() if size != "0"}, lines


@test("SC-06", "reading a shared file does not change its access time")
def access_times(box):
    source = box.offered / "sc_ipc"
    os.utime(source, (1000, 1000))
    neighbour(box, "open('/escape/sc_ipc', 'rb').read()")
    seen = box.python("import os; print(os.stat('/escape/sc_ipc').st_atime)")
    assert seen.out == "1000.0\n" and os.stat(source).st_atime == 1000, seen
    refused = box.python("import os\ntry: os.utime('/escape/sc_ipc'); print('SET')\nexcept OSError: print('no')")
    assert refused.out == "no\n", refused


@test("SC-08", "files of a temporary sandbox are removed")
def removed_files(box):
    marker = "remains-" + os.urandom(8).hex()
    wrote = box.sh(f"for d in /tmp /workspace /dev/shm /var/tmp ~ /run; do echo {marker} > $d/m; done; "
                   f"mkdir -p /tmp/a/b; echo {marker} > /tmp/a/b/{marker}; cat /tmp/m")
    assert marker in wrote.out, wrote
    found = box.sh(f"grep -rl {marker} /tmp /workspace /dev/shm /var /home /run /mnt /srv /opt; echo searched")
    assert found.out == "searched\n", found
    for path in box.state.rglob("*"):
        assert marker not in str(path), path
        with contextlib.suppress(OSError):
            if path.is_file() and path.stat().st_size < 64 << 20:
                assert marker.encode() not in path.read_bytes(), path


@test("SC-08", "a neighbour's files are not reachable")
def files(box):
    marker = "files-" + os.urandom(8).hex()
    neighbour(box, f"open('/workspace/{marker}', 'w').write('{marker}'); open('/tmp/{marker}', 'w')")
    found = box.sh(f"find / -xdev -name '{marker}*' 2>/dev/null; ls {box.state} 2>/dev/null; "
                   f"cat /workspace/{marker} 2>/dev/null; echo searched")
    assert found.out == "searched\n", found


@test("SC-09", "power and temperature are not readable")
def powercap(box):
    seen = box.sh("ls /sys/class /sys/devices/virtual /sys/firmware /sys/module 2>/dev/null; "
                  "find /sys -type f | grep -v -e /cpu/ -e transparent_hugepage; echo done")
    assert seen.out == "done\n", seen


@test("SC-10", "host name and machine id are not readable")
def machine_names(box):
    seen = box.sh("hostname; cat /etc/machine-id 2>/dev/null; cat /etc/hostname; "
                  "cat /sys/class/dmi/id/product_uuid /sys/class/net/*/address 2>/dev/null; ls /sys/class/net")
    host = {os.uname().nodename}
    with contextlib.suppress(OSError):
        host.add(pathlib.Path("/etc/machine-id").read_text().strip())
    host.discard("")
    assert not host & set(seen.out.split()), seen


@test("SC-12", "memory merging and core scheduling are refused")
def merging(box):
    seen = box.c("sc_cache", "/usr/bin/python3")
    assert "merge refused" in seen.out and "core refused" in seen.out, seen


not_tested("SC-13", "there is no shared DNS proxy yet")
not_tested("SC-14", "belljar exec has one owner; tests/e2e asks for sandboxes of other owners")
