"""System calls that fail and a full disk: belljar reports a clear error, does not hang, and leaves nothing
behind."""
import errno
import os
import shlex
import subprocess
import time

from attack_lifecycle import DATA, Inventory, can_remove, remove_line, run_line
from harness import descendants, live_statuses, test

# Calls of the set-up by their x86-64 numbers, the error they fail with, and whether the sandbox must not
# start without the call.
FAULTS = [("clone3", 435, "EAGAIN", True), ("unshare", 272, "ENOSPC", True),
          ("pivot_root", 155, "EPERM", True), ("fsopen", 430, "ENOSYS", True),
          ("fsmount", 432, "ENOMEM", True), ("move_mount", 429, "EPERM", True),
          ("mount_setattr", 442, "ENOSYS", True), ("open_tree", 428, "EMFILE", False),
          ("openat2", 437, "ENOSYS", False), ("seccomp", 317, "EINVAL", True),
          ("capset", 126, "EPERM", True), ("setresuid", 117, "EAGAIN", True),
          ("memfd_create", 319, "ENFILE", False), ("socketpair", 53, "EMFILE", True),
          ("pipe2", 293, "EMFILE", True), ("symlinkat", 266, "ENOSPC", False),
          ("mkdirat", 258, "ENOSPC", True), ("setrlimit", 160, "EPERM", False),
          ("prlimit64", 302, "EPERM", True), ("sethostname", 170, "EPERM", True),
          ("flock", 73, "ENOLCK", True), ("renameat2", 316, "ENOSPC", False),
          ("fchownat", 260, "EPERM", False), ("close_range", 436, "ENOSYS", True),
          ("landlock_create_ruleset", 444, "ENOMEM", False), ("signalfd4", 289, "EMFILE", True),
          ("keyctl", 250, "EDQUOT", True), ("setsid", 112, "ENOMEM", True)]


@test("LC-06", "a failing system call during set-up is reported and leaves nothing behind")
def refused_calls(box):
    inventory = Inventory(box)
    assert box.exec("true").code == 0
    wrong = []
    for name, number, failure, needed in FAULTS:
        line = [str(box.offered / "lc_refuse"), str(number), str(getattr(errno, failure)),
                *box.command(["sh", "-c", "echo works"])]
        begin = time.monotonic()
        try:
            code, said = run_line(box, line)
        except AssertionError as error:
            wrong.append(f"{name} {failure}: {error}")
            continue
        if code == 0 and (said != "works\n" or needed):
            wrong.append(f"{name} {failure}: the program ran: {said!r}")
        if code != 0 and ("works" in said or "belljar: " not in said and "setpriv: " not in said):
            wrong.append(f"{name} {failure}: no clear error: {code} {said!r}")
        try:
            inventory.wait_for_exits()
            assert box.exec("true").code == 0, "the next start fails"
            inventory.check(set())
        except AssertionError as error:
            wrong.append(f"{name} {failure} ({time.monotonic() - begin:.1f} s): {error}")
    assert not wrong, "\n".join(wrong)


@test("LC-08", "a full disk is reported and leaves nothing behind")
def full_disk(box):
    def mount(*options):
        subprocess.run(["mount", "-t", "tmpfs", *options, "belljar-full", str(box.state)], check=True)
    owner = f"uid={box.uid},gid={box.uid},mode=711"
    mount("-o", f"size=64m,{owner}")
    try:
        inventory = Inventory(box)
        assert box.sh(f"echo '{DATA}' > data", sandbox="kept").code == 0
        used = os.statvfs(box.state)
        used = (used.f_blocks - used.f_bfree) * used.f_frsize // 1024
        for more in (0, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 1024):
            mount("-o", f"remount,size={used + more}k")
            for line in (dict(), dict(sandbox="kept"), dict(sandbox=f"new{more}")):
                seen = box.sh("echo works; dd if=/dev/zero of=/workspace/x bs=4k count=64 2>/dev/null; "
                              "rm -f /workspace/x", timeout=180, **line)
                assert seen.code in (0, 1) and (seen.out == "works\n" or
                       seen.code == 1 and seen.err.startswith(("belljar: ", "20"))), f"+{more} KiB: {seen}"
            mount("-o", "remount,size=64m")
            inventory.wait_for_exits()
            seen = box.exec("cat", "data", sandbox="kept")
            assert seen.out == DATA + "\n", f"+{more} KiB, later: {seen}"
            names = {row[1] for row in inventory.rows()}
            assert names <= {"kept", f"new{more}"}, inventory.rows()
            inventory.check(names)
            if can_remove(box):
                for name in names - {"kept"}:
                    done = subprocess.run(remove_line(box, name), capture_output=True, text=True,
                                          env=box.environment(), timeout=60)
                    assert done.returncode == 0, done
            used = os.statvfs(box.state)
            used = (used.f_blocks - used.f_bfree) * used.f_frsize // 1024
    finally:
        subprocess.run(["umount", "-l", str(box.state)], check=False)


@test("PV-21", "root without CAP_SYS_ADMIN starts no sandbox under its own id", modes="R")
def weak_root(box):
    line = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    code, said = run_line(box, [*line, *box.command(["id"])])
    assert code != 0 and "CAP_SYS_ADMIN" in said and "uid=" not in said, (code, said)
    assert box.exec("id", "-un").out == "coderunner\n"


@test("PV-22", "root in a container gives sandboxes unused ids", modes="R")
def container_root(box):
    """The id map has two lines, as in a rootless container."""
    first, more = 3000000, 3100000
    holder = subprocess.Popen(["unshare", "--user", "sh", "-c", "echo in; exec sleep 60"],
                              stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"in\n"
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{holder.pid}/{name}", "w", encoding="ascii") as file:
                file.write(f"0 {first} 1\n1 {more} 65535\n")
        for path in (box.state, box.directory):
            os.chown(path, first, first)
        script = (f"mount -t tmpfs -o uid={first},gid={first} tmpfs /var/lib && exec nsenter "
                  f"--user=/proc/{holder.pid}/ns/user --setuid=0 --setgid=0 \"$@\"")
        line = ["unshare", "--mount", "sh", "-c", script, "sh"]
        inside = subprocess.Popen([*line, *box.command(["sh", "-c", "id -u; exec sleep 50"])],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env=box.environment(), cwd="/")
        said = inside.stdout.readline()
        assert said == b"1000\n", said + inside.stdout.read()
        uids = {int(status["Uid"].split()[0]) for status in live_statuses(descendants(inside.pid))}
        programs = {uid for uid in uids if uid != first}
        assert programs and all(uid >= more + 32000 for uid in programs), uids
        inside.terminate()
        inside.wait(120)
    finally:
        holder.kill()
        holder.wait()


@test("LC-06", "sandboxes work where memfds cannot be executed", modes="R")
def no_executable_memory(box):
    script = 'echo 2 >/proc/sys/vm/memfd_noexec && exec "$@"'
    line = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh"]
    if not os.path.exists("/proc/sys/vm/memfd_noexec"):
        return  # this kernel has no such setting
    code, said = run_line(box, [*line, *box.command(["echo", "works"])])
    assert (code, said) == (0, "works\n"), (code, said)


@test("PV-23", "groups of the user have no names in a sandbox", modes="S")
def groups_of_user(box):
    line = box.command(["id", "-G"])
    line[line.index("--clear-groups")] = "--groups=61002,24,27,100"
    assert run_line(box, line) == (0, "1000 65534\n"), run_line(box, line)


@test("LC-26", "status and message say what happened and which limit was reached")
def statuses(box):
    for argv, options, code, word in (
            (["no-such-program"], (), 127, "No such file"),
            (["/etc/passwd"], (), 126, "Permission denied"),
            (["sh", "-c", "exit 41"], (), 41, ""),
            (["sh", "-c", "kill -TERM $$"], (), 128 + 15, ""),
            (["sleep", "100"], ("--timeout", "1"), 124, "time-out of 1 s"),
            (["dd", "if=/dev/zero", "of=f", "bs=1M", "count=5"], ("--file-size", "2M"), 1, "file-size"),
            # What it writes before the first measuring, it keeps: it must go on to be killed.
            (["sh", "-c", "for i in $(seq 500); do ulimit -S -f $(ulimit -H -f); cat /dev/zero >f$i; done; "
              "sleep 5"], ("--disk", "8M"), 137, "disk")):
        if box.mode == "D" and word == "disk":
            continue  # volumes have no quotas
        found = box.exec(*argv, options=options)
        if word == "disk" and "No space left on device" in found.err:
            continue  # the file system enforces the limit: there is no reason to kill
        assert found.code == code and word in found.err, (argv, found)


@test("LC-27", "output to a terminal has no control sequences")
def terminal_output(box):
    line = box.command(["printf", r"a\033]52;c;QUJD\007\033[6nb\033[31mc\n"])
    shown = subprocess.run(["script", "-qec", shlex.join(line), "/dev/null"], capture_output=True,
                           env=box.environment(), cwd="/", timeout=60, check=False)
    assert shown.stdout == b"abc\r\n", shown
    piped = box.exec("printf", r"a\033[31mb\n")
    assert piped.out == "a\033[31mb\n", piped


@test("LC-28", "a state directory with mode 0700 works")
def closed_state(box):
    os.chmod(box.state, 0o700)
    assert box.sh("echo works").out == "works\n"
