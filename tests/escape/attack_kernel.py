"""The kernel: interfaces that were used to attack it are refused with the exact error, and those that
programs need work."""
import os
import pathlib
import platform
import subprocess
import sys
from errno import ENOMEM, EOPNOTSUPP

import calls
from calls import EAFNOSUPPORT, EINVAL, ENOMEM, ENOSYS, EPERM, PROFILES, SIGSYS, expect
from harness import live_statuses, not_tested, test

IS_X86 = platform.machine() == "x86_64"
NAMESPACES = dict(mnt=0x20000, cgroup=0x2000000, uts=0x4000000, ipc=0x8000000, user=0x10000000,
                  pid=0x20000000, net=0x40000000)
SIGCHLD = 17


def profile(name):
    return ("--calls", name)


def kernel_complaints():
    """Lines of the kernel's log about faults of the kernel itself. "traps: NAME[PID] general protection fault"
    is a fault of a program (ki_sweep's, for instance, which may run beside this test), so it does not count."""
    log = subprocess.run(["dmesg"], capture_output=True, text=True).stdout
    words = ("BUG:", "WARNING:", "Oops", "general protection", "KASAN", "UBSAN",
             "kernel NULL pointer", "refcount_t")
    return [line for line in log.splitlines()
            if any(word in line for word in words) and "traps: " not in line]


def try_namespace_unfiltered(pid, kind):
    """Enters the sandbox's user namespace from the host, as its user but without its filter, and tries to
    create a namespace. Returns the errno."""
    source = (
        "import ctypes, os, sys\n"
        "c = ctypes.CDLL(None, use_errno=True)\n"
        "user, flag = os.open(f'/proc/{sys.argv[1]}/ns/user', os.O_RDONLY), int(sys.argv[2])\n"
        "if c.setns(user, 0x10000000) or (flag == 0x10000000 and\n"
        "        (os.setresgid(1000, 1000, 1000) or os.setresuid(1000, 1000, 1000))):\n"
        "    sys.exit('cannot enter: ' + os.strerror(ctypes.get_errno()))\n"
        "sys.stdout.write(str(ctypes.get_errno() if c.unshare(flag) else 0))\n")
    done = subprocess.run([sys.executable, "-c", source, str(pid), str(NAMESPACES[kind])],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@test("KI-01", "no namespace can be created, with the filter and without it")
def namespaces(box):
    for name in PROFILES:
        table = {"clone3:p,88": ENOSYS, "setns:0,0": EPERM, "setns:0,0x10000000": EPERM}
        for flag in [*NAMESPACES.values(), 0x80]:
            table[f"unshare:{flag}"] = EPERM
        for flag in NAMESPACES.values():
            table[f"clone:{flag | SIGCHLD}"] = EPERM
            table[f"clone:{flag | SIGCHLD | 1 << 32}"] = EPERM
        expect(box, table, options=profile(name))
    sleeper = box.start("sh", "-c", "echo started; exec sleep 300")
    box.wait_for(sleeper, "started")
    agent = box.processes(sleeper)[0]
    for kind in NAMESPACES if box.mode != "D" else []:  # a container is in the host's user namespace
        assert try_namespace_unfiltered(agent, kind) == 28, f"ENOSPC for a namespace: {kind}"
    for status in live_statuses(box.processes(sleeper)):
        assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1", status
    # Threads and processes can be created.
    done = box.python("import threading, subprocess\n"
                      "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
                      "print(subprocess.check_output(['echo', 'child']).decode())")
    assert done.out.split() == ["thread", "child"], done


@test("KI-02", "fsopen and fsconfig are refused (CVE-2022-0185)")
def fsconfig(box):
    expect(box, {"fsopen:/ext4,0": EPERM, "fsconfig:3,1,/a,/b,0": EPERM, "fsmount:3,0,0": EPERM,
                 "fspick:-100,/,0": EPERM})
    assert box.sh("grep -c ext4 /proc/filesystems >&2; touch new && ls new").out == "new\n"


@test("KI-03", "release_agent of cgroups cannot be set (CVE-2022-0492)")
def release_agent(box):
    files = [path for path in pathlib.Path("/sys/fs/cgroup").glob("*/release_agent")]
    before = [path.read_text() for path in files]
    done = box.sh("unshare -UrmC sh -c 'mkdir /tmp/c && mount -t cgroup -o rdma cgroup /tmp/c && "
                  "echo /escape/x > /tmp/c/release_agent && echo DONE'; unshare -C true; "
                  "mkdir -p /tmp/d; mount -t cgroup -o memory cgroup /tmp/d; ls /sys/fs/cgroup; true")
    assert "DONE" not in done.out and done.err.count("Operation not permitted") >= 2, done
    assert [path.read_text() for path in files] == before
    assert box.sh("mkdir /tmp/c && touch /tmp/c/release_agent && ls /tmp/c").out == "release_agent\n"


def hash_of(path):
    return subprocess.run(["sha256sum", str(path)], capture_output=True, text=True).stdout


@test("KI-04", "Dirty Pipe does not change a read-only file (CVE-2022-0847)")
def dirty_pipe(box):
    target = box.offered / "target"
    target.write_bytes(b"as it was\n" * 1000)
    before = hash_of(target), hash_of("/usr/bin/env")
    for path in ("/escape/target", "/usr/bin/env"):
        done = box.c("ki_dirty_pipe", path)
        assert done.code == 0 and "splice ok" in done.out, done
    assert (hash_of(target), hash_of("/usr/bin/env")) == before
    done = box.c("ki_dirty_pipe", "/escape/target", options=profile("strict"))
    assert "splice errno 22" in done.out, done
    # Copying works without splice.
    done = box.sh("cat /escape/target | head -c 10; cp /escape/target t && wc -c < t",
                  options=profile("strict"))
    assert done.out == "as it was\n10000\n", done


@test("KI-05", "Dirty COW does not change a read-only file (CVE-2016-5195)")
def dirty_cow(box):
    target = box.offered / "target"
    target.write_bytes(b"as it was\n" * 410)
    before = hash_of(target)
    done = box.c("ki_dirty_cow", "/escape/target")
    assert done.code == 0 and "own memory changed" in done.out, done
    assert hash_of(target) == before


@test("KI-06", "AF_ALG sockets are refused (CVE-2026-31431)")
def af_alg(box):
    for name in PROFILES:
        expect(box, {"socket:38,5,0": EAFNOSUPPORT, "socket:38,2,0": EAFNOSUPPORT,
                     "socket:0x100000026,5,0": EAFNOSUPPORT, "setsockopt:0,279,1,p,16": EPERM},
               options=profile(name))
    if IS_X86:
        assert box.c("ki_int80", "socketcall").code == 128 + SIGSYS
    assert box.python("import hashlib; print(hashlib.sha256(b'').hexdigest()[:8])").out == "e3b0c442\n"


@test("KI-07", "RxRPC, netlink of IPsec and ESP in TCP are refused (CVE-2026-43284, -43500, -46300)")
def dirty_frag(box):
    expect(box, {"socket:33,2,2": EAFNOSUPPORT, "socket:33,2,10": EAFNOSUPPORT,
                 "socket:16,3,6": EAFNOSUPPORT, "socket:16,0x80003,6": EAFNOSUPPORT,
                 "socket:15,3,2": EAFNOSUPPORT})
    done = box.python("import socket\n"
                      "s = socket.create_server(('127.0.0.1', 0))\n"
                      "c = socket.create_connection(s.getsockname()); a = s.accept()[0]\n"
                      "for name in (b'espintcp', b'tls', b'mptcp', b'smc'):\n"
                      "    try: c.setsockopt(6, 31, name + b'\\0'); print('SET', name)\n"
                      "    except OSError as e: print(e.errno)\n"
                      "c.setsockopt(6, socket.TCP_NODELAY, 1); c.send(b'x'); print(a.recv(1))")
    assert done.out == "1\n1\n1\n1\nb'x'\n", done


@test("KI-08", "io_uring is refused")
def io_uring(box):
    for name in PROFILES:
        expect(box, {"io_uring_setup:8,p": ENOSYS, "io_uring_enter:0,1,1,0,0,0": ENOSYS,
                     "io_uring_register:-1,14,p,1": ENOSYS}, options=profile(name))
    assert box.python("import select; print(select.epoll().fileno() > 2)").out == "True\n"


@test("KI-09", "administrative calls fail with the exact error")
def administration(box):
    known = calls.numbers()
    extra = {"bpf:0,p,128": EPERM, "bpf:5,p,128": EPERM, "perf_event_open:p,0,-1,-1,0": EPERM,
             "userfaultfd:0": ENOSYS, "userfaultfd:1": ENOSYS,
             "add_key:/user,/name,p,8,-2": ENOSYS, "request_key:/user,/name,0,-2": ENOSYS,
             "keyctl:0,-3,0": ENOSYS, "keyctl:1,/name": ENOSYS, "keyctl:22,-1,-4": ENOSYS,
             "kcmp:1,1,0,0,0": EPERM, "move_pages:0,0,0,0,0,0": EPERM, "quotactl:0,0,0,0": EPERM,
             "syslog:3,p,4096": EPERM, "syslog:10,0,0": EPERM, "syslog:8,0,0": EPERM,
             "memfd_secret:0": EPERM, "name_to_handle_at:-100,/,p,p,0": EPERM,
             "open_by_handle_at:-100,p,0": EPERM, "process_madvise:-1,p,0,4,0": EPERM,
             "lsm_list_modules:p,p,0": EPERM, "adjtimex:p": EPERM, "clock_adjtime:0,p": EPERM,
             "get_mempolicy:p,0,0,0,0": EPERM, "cachestat:0,p,p,0": ENOSYS,
             "seccomp:1,8,p": EPERM, "seccomp:1,0x100000008,p": EPERM, "prctl:35,1,0,0,0": EPERM,
             "prctl:57,1,0,0,0": EPERM, "prctl:62,0,0,0,0": EPERM, "prctl:67,1,0,0,0": EPERM,
             "prctl:0x100000043,1,0,0,0": EPERM, "prctl:78,1,1048576,0,0": EINVAL,
             "memfd_create:/huge,4": EPERM, "mmap:0,0x200000,3,0x40022,-1,0": ENOMEM,
             "shmget:0,0x200000,0x980": EPERM}
    for name in PROFILES:
        table = {f"{call}:{arg}": error for call, error in calls.refusals(name).items()
                 if call in known and error for arg in ("0,0,0,0,0,0", "-1,-1,-1,-1,-1,-1")}
        table.update({call: error for call, error in extra.items()
                      if call.partition(":")[0] in known})
        expect(box, table, options=profile(name))
        # Success without effect. msync of an address that is not mapped shows that the kernel does not see it.
        faked = ["sync", "syncfs:0", "msync:4096,4096,4"]
        assert calls.make(box, faked, options=profile(name)) == {call: ("ok", 0) for call in faked}
        expect(box, {"msync:4096,4096,1": ENOMEM}, options=profile(name))
        # A file's flags and project id, also the flag that makes all its writes synchronous.
        expect(box, {"ioctl:0,0x40086602,p": EOPNOTSUPP, "ioctl:0,0x401c5820,p": EOPNOTSUPP},
               options=profile(name))
    done = box.sh("nproc; sync; date +%Y; uname -s; dd if=/dev/zero of=f bs=1k count=1 conv=fsync")
    assert done.code == 0 and "Linux" in done.out, done


@test("KI-10", "every call that mounts is refused (CVE-2021-41133)")
def mounts(box):
    table = {"mount:/none,/tmp,/tmpfs,0,0": EPERM, "mount:/tmp,/mnt,0,4096,0": EPERM,
             "mount:0,/,0,0x44020,0": EPERM, "umount2:/proc,2": EPERM, "umount2:/tmp,8": EPERM,
             "open_tree:-100,/,1": EPERM, "open_tree:-100,/,0": EPERM,
             "move_mount:-100,/tmp,-100,/mnt,0": EPERM, "fsmount:0,0,0": EPERM,
             "mount_setattr:-100,/,0,p,32": EPERM, "open_tree_attr:-100,/,1,p,32": EPERM,
             "pivot_root:/,/": EPERM, "chroot:/tmp": EPERM, "statmount:p,p,4096,0": EPERM,
             "listmount:p,p,16,0": EPERM, "listns:p,p,16,0": EPERM, "swapon:/tmp/x,0": EPERM}
    sleeper = box.start("sh", "-c", "echo started; exec sleep 300", sandbox="one")
    box.wait_for(sleeper, "started")
    mounted = pathlib.Path(f"/proc/{box.processes(sleeper)[0]}/mountinfo")
    before = mounted.read_text()
    for name in PROFILES:
        expect(box, table, options=profile(name))
    box.sh("mount -t tmpfs none /tmp; mount --bind /tmp /mnt; umount -l /proc; umount /dev/shm")
    assert mounted.read_text() == before
    done = box.sh("df /; findmnt -n -o FSTYPE /")
    assert done.out.endswith("overlay\n"), done


@test("KI-11", "x32 calls kill the process")
def x32(box):
    if not IS_X86:
        return
    for name in PROFILES:
        expect(box, {f"{0x40000000 | number}:0,0,0": -SIGSYS for number in
                     (0, 1, 2, 39, 41, 59, 101, 165, 272, 308, 321, 425, 512, 520, 521, 535, 547)},
               options=profile(name))
    assert calls.make(box, ["getpid"])["getpid"][0] == "ok"


@test("KI-12", "32-bit calls (int 0x80) kill the process")
def i386(box):
    if not IS_X86:
        return
    for name in PROFILES:
        for what in ("getpid", "socketcall", "ptrace", "mount"):
            done = box.c("ki_int80", what, options=profile(name))
            assert done.code == 128 + SIGSYS and "PASSED" not in done.out, (name, what, done)
    assert box.c("ki_int80", "syscall").out == "a call of 64 bits\n"


@test("KI-13", "unknown call numbers fail with ENOSYS")
def unknown_numbers(box):
    above = [f"{number}:0,0,0,0,0,0" for number in [*range(calls.LAST + 1, 1001), 1024, 4096,
                                                    65535, 65536, 0xffffff, 0x3fffffff]]
    table = {call: ENOSYS for call in above}
    if IS_X86:
        table.update({f"{number}:0,0,0": ENOSYS for number in range(337, 424)})
        table.update({"0x80000000:0": -SIGSYS, "0xc0000000:0": -SIGSYS, "0xfffffffe:0": -SIGSYS,
                      "0x7fffffff:0": -SIGSYS})
    table["-1:0"] = table["0xffffffff:0"] = ENOSYS
    for name in PROFILES:
        expect(box, table, options=profile(name))


# Calls to which the kernel itself answers EPERM if all arguments are 0 or -1.
EPERM_ANYWAY = """setsid setgroups setuid setgid setreuid setregid setresuid setresgid fchmod fchown
capset""".split()
# Calls that are refused depending on their arguments.
BY_ARGUMENTS = "socket socketpair clone ioctl mknod mknodat seccomp personality shmget memfd_create".split()


@test("KI-14", "every call number is refused or allowed as the filter says")
def sweep(box):
    names = {number: name for name, number in calls.numbers().items()}
    for which in PROFILES:
        refused = calls.refusals(which)
        done = box.c("ki_sweep", options=profile(which), timeout=120)
        assert done.code == 0 and len(done.out.splitlines()) == 2 * 601, done
        wrong, reached = [], set()
        for line in done.out.splitlines():
            number, arg, kind, value = line.split()
            name = names.get(int(number))
            seen = (kind, int(value))
            if name is None:
                right = seen == ("errno", ENOSYS)
            elif name in calls.UNFILTERED:
                right = seen in (("errno", EPERM), ("errno", 6), ("signal", 4), ("errno", ENOSYS))
            elif name in refused:
                right = seen == (("errno", refused[name]) if refused[name] else ("ok", 0))
            else:
                reached.add(name)
                right = seen != ("errno", EPERM) or name in EPERM_ANYWAY + BY_ARGUMENTS
                right = right and seen != ("signal", SIGSYS)
                # Docker's own filter refuses more.
                right = right or (box.mode == "D" and seen == ("errno", EPERM))
            if not right:
                wrong.append((name, line))
        assert not wrong, (which, wrong)
        # A new call in the headers must be added to the filter's table first.
        if IS_X86:
            assert len(reached) == dict(standard=283, strict=248, debug=286)[which], \
                (which, len(reached))


@test("KI-15", "weakening personalities and memory at address 0 are refused")
def personality(box):
    allowed = ["personality:0", "personality:8", "personality:0x20000", "personality:0x20008",
               "personality:0xffffffff"]
    for name in PROFILES:
        table = {f"personality:{value}": EPERM for value in
                 ("0x400000", "0x100000", "0x440000", "0x0200000", "0x8000000", "0x1000000",
                  "0x100400000", "1", "6", "0x4000008", "0xfffffffe")}
        if name != "debug":
            table["personality:0x40000"] = EPERM
        elif box.mode != "D":  # Docker's own filter refuses it
            allowed = [*allowed, "personality:0x40000"]
        expect(box, table, options=profile(name))
        found = calls.make(box, allowed, options=profile(name))
        assert all(kind == "ok" for kind, _ in found.values()), found
        found = calls.make(box, ["mmap:0,4096,3,0x32,-1,0", "mmap:0,4096,3,0x22,-1,0"],
                           options=profile(name))
        assert found["mmap:0,4096,3,0x32,-1,0"] == ("errno", EPERM), found
        assert found["mmap:0,4096,3,0x22,-1,0"][0] == "ok", found


@test("KI-16", "netfilter is out of reach (CVE-2024-1086, 2022-34918, 2023-32233, 2021-22555)")
def netfilter(box):
    table = {"unshare:0x50000000": EPERM, "socket:16,3,12": EAFNOSUPPORT}
    for level, option in ((0, 64), (0, 65), (41, 64), (41, 65), (0, 96), (0, 97), (0, 128), (0, 129)):
        table[f"setsockopt:0,{level},{option},p,4096"] = EPERM
        table[f"setsockopt:0,{level | 1 << 32},{option | 1 << 32},p,4096"] = EPERM
    expect(box, table)
    done = box.python("import socket\ns = socket.socket()\n"
                      "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
                      "s.setsockopt(0, socket.IP_TTL, 9)\nprint(s.getsockopt(0, socket.IP_TTL))")
    assert done.out == "9\n", done


@test("KI-17", "packet sockets are refused (CVE-2017-7308, 2020-14386, 2016-8655)")
def packet_ring(box):
    expect(box, {"socket:17,3,0x300": EAFNOSUPPORT, "socket:17,2,0": EAFNOSUPPORT,
                 "socket:17,10,0": EAFNOSUPPORT, "socketpair:17,3,0,p": EAFNOSUPPORT,
                 "socket:0x100000011,3,0": EAFNOSUPPORT})
    assert calls.make(box, ["socket:2,2,0"])["socket:2,2,0"][0] == "ok"


@test("KI-18", "session keyrings are refused (CVE-2016-0728)")
def keyring(box):
    expect(box, {"keyctl:1,/one": ENOSYS, "keyctl:1,0": ENOSYS, "keyctl:0,-3,1": ENOSYS,
                 "keyctl:11,-3,p,4096": ENOSYS})
    # Keys of the host are not listed: /proc/keys is covered by an empty file.
    assert box.sh("cat /proc/keys /proc/key-users").out == ""


@test("KI-19", "ptrace is refused except with the filter 'debug' (CVE-2019-13272)")
def traceme(box):
    for name in ("standard", "strict"):
        expect(box, {"ptrace:0,0,0,0": EPERM, "ptrace:16,1,0,0": EPERM, "ptrace:0x4206,1,0,0": EPERM,
                     "ptrace:0x100000000,0,0,0": EPERM}, options=profile(name))
    done = box.c("ki_debugger", options=profile("debug"))
    assert done.out == "its child stopped, its memory was changed, it went on\n", done
    assert "EPERM" in box.c("ki_debugger").out


@test("KI-20", "DCCP, SCTP and other protocols of modules are refused (CVE-2017-6074)")
def protocols(box):
    table = {}
    for family in (2, 10):
        for kind, protocol in ((6, 33), (6, 0), (1, 132), (5, 132), (1, 262), (2, 136), (3, 1),
                               (3, 255), (2, 1), (2, 58), (1, 256), (1, 0x100000106), (5, 0),
                               (1, 1), (2, 115)):
            table[f"socket:{family},{kind},{protocol}"] = EAFNOSUPPORT
    for name in PROFILES:
        expect(box, table, options=profile(name))
        allowed = [f"socket:{family},{kind},{protocol}" for family in (2, 10)
                 for kind, protocol in ((1, 0), (1, 6), (2, 0), (2, 17), (0x80801, 0))]
        allowed += ["socket:1,1,0", "socket:1,2,0", "socket:1,5,0", "socketpair:1,1,0,p"]
        found = calls.make(box, allowed, options=profile(name))
        assert all(kind == "ok" for kind, _ in found.values()), found


def loaded():
    """Names of modules, file systems, line disciplines and protocols that the kernel has loaded."""
    text = {}
    for name in ("modules", "filesystems", "tty/ldiscs", "net/protocols"):
        path = pathlib.Path("/proc") / name
        text[name] = "".join(sorted(word.split()[0] + "\n" for word in
                                    path.read_text().replace("nodev", "").splitlines() if word.split())) \
            if path.exists() else "none"
    return text


@test("KI-21", "no call makes the host load a module")
def autoload(box):
    before = loaded()
    attempts = [f"socket:{family},{kind},{protocol}" for family in range(0, 51)
                for kind, protocol in ((1, 0), (2, 0), (3, 0), (5, 0))]
    attempts += [f"socket:16,3,{family}" for family in range(0, 32)]
    attempts += [f"mount:/none,/tmp,/{kind},0,0" for kind in ("xfs", "btrfs", "nfs", "cifs", "f2fs")]
    attempts += [f"ioctl:0,{command},p" for command in (0x5423, 0x89a2, 0x8946, 0x8933)]
    found = calls.make(box, attempts)
    opened = {call for call, (kind, _) in found.items() if kind == "ok" and call.startswith("socket")}
    families = {int(call.split(":")[1].split(",")[0]) for call in opened}
    assert families == {1, 2, 10}, families
    # Programs of unknown formats, for which the kernel would look for a binfmt module.
    box.sh("cp /escape/ki_calls x; printf '\\x7fELF\\xff\\xff' > y; chmod +x y; ./y; "
           "printf '\\x01\\x02\\x03\\xff' > z; chmod +x z; ./z; true")
    new = {name: [word for word in text.split() if word not in before[name].split()]
           for name, text in loaded().items()}
    assert not any(new.values()), new


MASKED = """acpi asound interrupts kallsyms kcore keys key-users kmsg kpagecount kpageflags kpagecgroup
latency_stats pagetypeinfo sched_debug schedstat scsi slabinfo timer_list timer_stats vmallocinfo
sysrq-trigger config.gz locks diskstats buddyinfo zoneinfo iomem ioports modules pressure
softirqs dynamic_debug partitions swaps consoles dma fb mdstat misc mtrr bootconfig vmcore cmdline bus fs irq
allocinfo spl""".split()


@test("KI-22", "files in /proc and /sys show nothing hidden and nothing of the host")
def proc_leaks(box):
    done = box.exec("python3", "/escape/ki_read_all.py", str(box.state), box.secret,
                    *MASKED, timeout=180)
    assert done.code == 0, done
    words = done.out.split()
    assert words[0] == "read" and int(words[1]) > 300, done
    # Disks and mounts of the host are not visible.
    text = box.sh("cat /proc/self/mountinfo /proc/self/mounts /proc/self/mountstats").out
    for path in (str(box.directory), "/dev/vd", "/dev/sd", "/dev/nvme", "/dev/loop"):
        assert path not in text, (path, text)
    done = box.sh("cat /proc/self/status /proc/meminfo /proc/cpuinfo /proc/loadavg /proc/uptime "
                  "/proc/stat /proc/version /proc/self/maps | wc -l")
    assert int(done.out) > 50, done


@test("KI-23", "a crash leaves no core file and starts no handler of the host")
def core(box):
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text()
    script = ("ulimit -c {0} && echo set; cd /tmp; /escape/ki_crash; echo code $?; "
              "grep 'core file' /proc/self/limits; find / -xdev -name 'core*' -newer /tmp/mark "
              "-size +0 2>/dev/null; find /tmp /dev/shm /run -name 'core*' -type f")
    for amount in ("unlimited", "0", "1000"):
        done = box.sh("touch /tmp/mark; " + script.format(amount))
        assert done.out.splitlines()[:2] == ["set", "code 139"], done
        assert done.out.splitlines()[2].split()[-3:] == ["1", "1", "bytes"], done
        assert len(done.out.splitlines()) == 3, f"a core: {done}"
    found = calls.make(box, ["prlimit64:1,4,p,0", "prlimit64:0,4,p,0", "setrlimit:4,p", "prlimit64:0,4,0,p"])
    assert found["prlimit64:1,4,p,0"] == ("errno", EPERM), found
    assert set(list(found.values())[1:]) == {("ok", 0)}, found
    crasher = box.start("sh", "-c", "ulimit -c unlimited; echo started; exec sleep 300")
    box.wait_for(crasher, "started")
    for pid in box.processes(crasher):
        limit = [line.split() for line in pathlib.Path(f"/proc/{pid}/limits").read_text().splitlines()
                 if line.startswith("Max core")][0]
        assert limit[-3:-1] == ["1", "1"], (pid, limit)
    assert pathlib.Path("/proc/sys/kernel/core_pattern").read_text() == pattern
    # The signal is reported, without the core-dumped flag.
    assert box.c("ki_crash").code == 128 + 11
    # Other limits can be changed.
    assert box.sh("ulimit -n 64; ulimit -n; ulimit -S -c").out == "64\n0\n"  # 512 bytes are one


@test("KI-24", "no program format can be registered, and odd interpreters fail")
def binfmt(box):
    done = box.sh("echo ':x:M::MZ::/escape/x:' > /proc/sys/fs/binfmt_misc/register; ls "
                  "/proc/sys/fs/binfmt_misc; mount -t binfmt_misc none /proc/sys/fs/binfmt_misc; "
                  "for i in /proc/1/exe /dev/null /proc/self/fd/0 . /proc/kcore; do printf '#!%s\\n' \"$i\" > s; chmod +x s; ./s; "
                  "echo code $?; done; printf '#!/bin/sh\\necho works\\n' > t; chmod +x t; ./t")
    lines = done.out.splitlines()
    assert lines[-1] == "works" and "code 0" not in lines, done
    misc = pathlib.Path("/proc/sys/fs/binfmt_misc")
    assert not (misc / "x").exists()


def fuzz_devices(box, seconds):
    before = kernel_complaints()
    done = box.c("ki_ioctls", str(seconds), timeout=seconds + 180)
    assert done.code == 0 and int(done.out.split()[1]) > 1000, done
    logged = set(kernel_complaints()) - set(before)
    assert not logged, f"the kernel logged a fault: {logged}"
    assert box.sh("echo x > /dev/null; head -c 3 /dev/zero | wc -c; tty; stty -a < /dev/ptmx | wc -l"
                  ).out.startswith("3\n")


@test("KI-25", "random ioctls on every device do no harm")
def device_commands(box):
    fuzz_devices(box, 2)


@test("KI-25", "random ioctls on every device do no harm, for ten minutes", modes="S", long=True)
def device_commands_long(box):
    fuzz_devices(box, 600)


@test("KI-25", "times of the host's device nodes cannot be changed")
def device_times(box):
    names = ("null", "zero", "full", "random", "urandom", "tty")
    before = {name: os.stat(f"/dev/{name}").st_mtime_ns for name in names}
    box.sh("touch -a -m /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /proc/kallsyms; "
           "for f in /dev/null /dev/full; do : >> $f; done; chmod 600 /dev/null; chown 1000 /dev/null; "
           "setfattr -n user.x -v 1 /dev/null; touch own && chmod 600 own")
    after = {name: os.stat(f"/dev/{name}").st_mtime_ns for name in names}
    changed = [name for name in names if before[name] != after[name]]
    assert not changed, f"changed from inside: {changed}"


not_tested("KI-26", "syzkaller needs a virtual machine and a day")
