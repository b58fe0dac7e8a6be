"""Processes: the agent, and the host's, are out of reach; what a run leaves behind is nothing; how
it ended is told exactly."""
import contextlib
import fcntl
import os
import pathlib
import pty
import subprocess
import termios
import time

import calls
from calls import EPERM, PROFILES, expect
from harness import children, descendants, not_here, status_of, test


def find_marked(mark):
    """Host pids of processes with this word on their command line, ours excepted."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes() and \
                    os.readlink(entry / "ns/pid") != os.readlink("/proc/self/ns/pid"):
                found.append(int(entry.name))
    return found


def wait_until_gone(mark, seconds):
    until = time.monotonic() + seconds
    while find_marked(mark):
        assert time.monotonic() < until, f"alive after {seconds} s: {find_marked(mark)}"
        time.sleep(0.02)


def begin(box, *more, **options):
    """A run that waits for a line on its standard input. Returns it and its agent's pid."""
    process = box.start("sh", "-c", "echo begun; read line; " + " ".join(more),
                        stdin=subprocess.PIPE, **options)
    box.wait_for(process, "begun")
    return process, box.processes(process)[0]


def go_on(process, timeout=60):
    out, err = process.communicate("\n", timeout=timeout)
    return process.returncode, out, err


@test("PR-01", "only one's own processes are there")
def see_host(box):
    done = box.c("pr_pids", timeout=120)
    pids = [int(word) for word in done.out.split()]
    assert done.code == 0 and 1 in pids and len(pids) <= 4 and max(pids) < 100, done
    seen = box.sh("ls -d /proc/[0-9]* | wc -l; ps ax -o pid= 2>/dev/null | wc -l; sleep 5 & kill -0 $! && "
                  "kill $! && echo own")
    words = seen.out.split()
    assert int(words[0]) <= 6 and int(words[1]) <= 8 and words[2] == "own", seen


@test("PR-02", "the agent is not to be killed, stopped or disturbed")
def kill_agent(box):
    for name in ("standard", "debug"):
        process, agent = begin(box, "/escape/pr_signals 1; read line; kill -STOP 1; kill -KILL 1; echo after; exit 6",
                               options=("--calls", name))
        before = pathlib.Path(f"/proc/{agent}/stat").read_text().rsplit(")", 1)[1].split()[19]
        process.stdin.write("\n")
        process.stdin.flush()
        line = box.wait_for(process, "still here")
        # With users of their own it is refused; the agent of the same user never hears them.
        assert line.startswith("taken 0 errno 1 " if box.mode != "S" else "taken 384 "), line
        stat = pathlib.Path(f"/proc/{agent}/stat").read_text().rsplit(")", 1)[1].split()
        assert stat[0] in "SR" and stat[19] == before, stat
        code, out, err = go_on(process)
        assert code == 6 and out == "after\n", (code, out, err)
    done = box.sh("sleep 9 & kill -9 $!; wait $!; echo $?")
    assert done.out == "137\n", done


@test("PR-02", "everybody at once, and the keeper of the run: the run ends, nothing is left")
def kill_everybody(box):
    for number in (9, 15, 6):
        mark = "mark" + os.urandom(8).hex()
        done = box.sh(f"sh -c 'sleep 100; : {mark}' & sleep 0.2; kill -{number} $PPID; "
                      f"kill -{number} -1; sleep 0.1; exit 3", options=("--timeout", "8"))
        assert done.code != 0, done
        wait_until_gone(mark, 1)
    begin_time = time.monotonic()
    done = box.sh("kill -STOP $PPID; kill -STOP -1; kill -STOP $$", options=("--timeout", "1"))
    assert done.code == 124 and time.monotonic() - begin_time < 6, done
    assert box.sh("echo twin").out == "twin\n"


@test("PR-03", "the agent's memory: ptrace, process_vm_writev, /proc/1")
def trace_agent(box):
    attempts = ["ptrace:16,1,0,0", "ptrace:0x4206,1,0,0"]      # ATTACH, SEIZE
    for name in PROFILES:
        found = calls.make(box, attempts, options=("--calls", name))
        assert set(found.values()) == {("errno", EPERM)}, (name, found)
        done = box.c("pr_open", "1", options=("--calls", name))
        assert done.code == 0 and done.out == "", (name, done)
        # Nor the keeper's, which may be of the same user.
        done = box.sh("/escape/pr_open $PPID", options=("--calls", name))
        assert done.code == 0 and done.out == "", (name, done)
    done = box.sh("sleep 9 & /escape/pr_open $! | sort | head -1; kill $!")
    assert done.out.startswith("OPENED /proc/"), f"one's own can be opened: {done}"


@test("PR-04", "the agent's descriptors")
def steal_descriptor(box):
    source = ("import ctypes, os\n"
              "c = ctypes.CDLL(None, use_errno=True)\n"
              "for pid in (1, os.getppid()):\n"
              "  fd = os.pidfd_open(pid)\n"
              "  for n in range(32):\n"
              "    r = c.syscall(438, fd, n, 0); e = ctypes.get_errno()\n"
              "    if r >= 0 or e != 1: print('GOT', pid, n, r, e)\n"
              "    for d in ('fd', 'fdinfo'):\n"
              "      try: os.open(f'/proc/{pid}/{d}/{n}', os.O_RDONLY); print('GOT', pid, d, n)\n"
              "      except OSError: pass\n"
              "r, w = os.pipe(); print(os.open(f'/proc/self/fd/{r}', os.O_RDONLY | os.O_NONBLOCK) > 2)\n")
    for name in PROFILES:
        done = box.python(source, options=("--calls", name))
        assert done.out == "True\n", (name, done)


@test("PR-05", "limits, priority and processors of the agent")
def limit_agent(box):
    table = {f"prlimit64:1,{resource},p,0": EPERM for resource in range(16)}
    table.update({f"prlimit64:0x100000001,{resource},p,0": EPERM for resource in (0, 7, 9)})
    for pid in ("1", "0x100000001"):
        table.update({f"sched_setaffinity:{pid},8,p": EPERM, f"sched_setscheduler:{pid},3,p": EPERM,
                      f"sched_setparam:{pid},p": EPERM, f"sched_setattr:{pid},p,0": EPERM,
                      f"setpriority:0,{pid},19": EPERM, f"setpriority:1,{pid},19": EPERM,
                      f"ioprio_set:1,{pid},0x6000": EPERM, f"ioprio_set:2,{pid},0x6000": EPERM})
    for who in ("0", "1000", "1"):
        table.update({f"setpriority:2,{who},19": EPERM, f"setpriority:0x100000002,{who},19": EPERM,
                      f"ioprio_set:3,{who},0x6000": EPERM})
    sleeper, agent = begin(box, "exec /escape/pr_signals 1")

    def state():
        stat = pathlib.Path(f"/proc/{agent}/stat").read_text().rsplit(")", 1)[1].split()
        return (pathlib.Path(f"/proc/{agent}/limits").read_text(), stat[15:17], stat[37:39],
                status_of(agent)["Cpus_allowed"])

    before = state()
    go_on(sleeper)
    for name in PROFILES:
        expect(box, table, options=("--calls", name))
    process, agent = begin(box, "/escape/ki_calls", *[f"{calls.numbers()[c.split(':')[0]]}:{c.split(':')[1]}"
                                                      for c in table], "; echo; echo made; read line")
    assert state() == before
    process.stdin.write("\n")
    process.stdin.flush()
    box.wait_for(process, "made")
    assert state() == before, (state(), before)
    go_on(process)
    found = calls.make(box, ["setpriority:0,0,15", "prlimit64:0,7,0,p", "ioprio_set:1,0,0x6000",
                             "sched_setscheduler:0,3,p"])
    assert all(kind == "ok" for kind, _ in found.values()), found
    done = box.python("import os, threading\n"
                      "os.sched_setaffinity(0, os.sched_getaffinity(0))\n"
                      "def f(): os.sched_setaffinity(threading.get_native_id(), {min(os.sched_getaffinity(0))})\n"
                      "t = threading.Thread(target=f); t.start(); t.join(); print('own threads')")
    assert done.out == "own threads\n", done


not_here("PR-06", "another run's child before its exec: needs two runs in one sandbox, which the "
         "command line has not")


@test("PR-07", "the server's environment, and other files of a process about to start")
def steal_environment(box):
    secret = "server-secret-" + os.urandom(8).hex()
    plain = box.environment()
    box.environment = lambda: {**plain, "SERVER_SECRET": secret, "AWS_SECRET_ACCESS_KEY": secret,
                               "LD_PRELOAD_X": secret}
    done = box.sh("env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/comm "
                  "/proc/[0-9]*/stat /proc/self/auxv 2>/dev/null; "
                  "strings /proc/self/mem 2>/dev/null; true")
    assert secret not in done.out + done.err, done
    assert str(box.directory) not in done.out, "the host's directory is in sight"
    assert "HOME=/home" in done.out and "SERVER" not in done.out, done
    done = box.sh("MINE=1 sh -c 'tr \"\\0\" \"\\n\" < /proc/self/environ' | grep MINE")
    assert done.out == "MINE=1\n", done


@test("PR-08", "what wants to outlive its run does not")
def daemons(box):
    for stay in ((), ("stay",)):
        mark = "mark" + os.urandom(8).hex()
        done = box.c("pr_daemon", mark, *stay, options=("--timeout", "2") if stay else ())
        assert done.code == (124 if stay else 7) and f"left behind: {mark}" in done.out, done
        wait_until_gone(mark, 1)
    # Nor with belljar killed.
    mark = "mark" + os.urandom(8).hex()
    process = box.start("/escape/pr_daemon", mark, "stay")
    box.wait_for(process, "left behind")
    inside = find_marked(mark)
    assert len(inside) >= 5, inside
    process.kill()
    process.wait()
    wait_until_gone(mark, 2)
    # A kept sandbox sleeps after its run: there is no process.
    mark = "mark" + os.urandom(8).hex()
    assert box.c("pr_daemon", mark, sandbox="kept").code == 7
    wait_until_gone(mark, 1)
    done = box.sh("(sleep 0.3; echo child) & wait; echo parent", sandbox="kept")
    assert done.out == "child\nparent\n", done


@test("PR-09", "a fork bomb that is stopped while it burns")
def fork_bomb(box):
    mark = "mark" + os.urandom(8).hex()
    begun = time.monotonic()
    done = box.c("pr_bomb", mark, options=("--pids", "64", "--timeout", "2"), timeout=30)
    assert done.code == 124 and time.monotonic() - begun < 10, done
    wait_until_gone(mark, 2)
    process = box.start("/escape/pr_bomb", mark, options=("--pids", "64"))
    box.wait_for(process, "burning")
    time.sleep(0.5)
    assert 30 < len(find_marked(mark)) <= 64 + 8, find_marked(mark)
    process.terminate()      # this one the program is told
    time.sleep(0.2)
    process.terminate()
    process.communicate(timeout=10)
    wait_until_gone(mark, 2)
    assert box.sh("for i in 1 2 3 4 5; do (echo $i) & done; wait", options=("--pids", "64")) \
        .out.count("\n") == 5


@test("PR-10", "brothers, sharers of memory, as many threads as there may be")
def clone_storm(box):
    done = box.c("pr_clone", options=("--pids", "64"))
    words = done.out.split()
    assert done.code == 9 and int(words[5]) < 64, done
    done = box.python("import threading\n"
                      "ts = [threading.Thread(target=lambda: None) for _ in range(40)]\n"
                      "[t.start() for t in ts]; [t.join() for t in ts]; print('threads')",
                      options=("--pids", "64"))
    assert done.out == "threads\n", done


@test("PR-11", "ten thousand orphans are buried")
def orphans(box):
    process, agent = begin(box, "/escape/pr_orphans 10000; echo code $?; sleep 0.5; echo over; read line",
                           options=("--pids", "64"))
    process.stdin.write("\n")
    process.stdin.flush()
    assert "code 7" in box.wait_for(process, "code", timeout=60)
    box.wait_for(process, "over")
    dead = [pid for pid in descendants(agent) if status_of(pid)["State"].startswith("Z")]
    assert len(dead) <= 1, dead
    assert go_on(process)[0] == 0


@test("PR-12", "whoever takes in orphans, the run's status is its program's")
def subreaper(box):
    for _ in range(5):
        assert box.c("pr_reaper").code == 5
    assert box.sh("(exit 9) & (sleep 0.1; exit 8) & exec sh -c 'exit 4'").code == 4


@test("PR-13", "a run that stops itself is ended in time")
def stop_self(box):
    for script in ("kill -STOP 0", "kill -STOP -1", "kill -STOP $$", "kill -TSTP 0; kill -STOP 0"):
        begun = time.monotonic()
        done = box.sh(f"trap '' TERM TSTP; {script}; sleep 60", options=("--timeout", "1"))
        assert done.code == 124 and time.monotonic() - begun < 5, (script, done)
    done = box.sh("sleep 1 & kill -STOP $!; kill -CONT $!; wait $!; echo went on")
    assert done.out == "went on\n", done


def with_terminal(box, *argv, **more):
    """Belljar on a terminal of the operator's. Returns its result, and how many characters are in
    the terminal's queue of input afterwards."""
    master, slave = pty.openpty()
    try:
        modes = termios.tcgetattr(slave)
        modes[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        done = subprocess.run(["setsid", "--ctty", "--wait", *box.command(argv, **more)], stdin=slave,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                              env=box.environment(), cwd="/")
        waiting = fcntl.ioctl(slave, termios.FIONREAD, b"\0" * 4)
        return done, int.from_bytes(waiting, "little")
    finally:
        os.close(master)
        os.close(slave)


@test("PR-14", "keys for the operator's terminal (CVE-2017-5226)")
def push_keys(box):
    for name in PROFILES:
        done, waiting = with_terminal(box, "/escape/pr_tty", options=("--calls", name))
        assert done.returncode == 0 and waiting == 0, (done, waiting)
        assert done.stdout == "own terminal: keys\n", (name, done)
    done = box.sh("for t in /dev/tty /dev/pts/0 /dev/console /dev/tty0 /dev/tty1; do (: < $t) && echo $t; "
                  "done; ls /dev/pts; true")
    assert done.out == "ptmx\n", done
    done = box.sh("script -qc 'tty; stty size' /dev/null < /dev/null")
    assert "/dev/pts/0" in done.out, f"one's own terminal: {done}"


@test("PR-15", "the same with bits that mean nothing (CVE-2019-7303, 2019-10063)")
def push_keys_wide(box):
    table = {}
    for command in (0x5412, 0x541c, 0x5423, 0x541d):
        for above in (0, 1 << 32, 0xffffffff << 32, 1 << 63):
            table[f"ioctl:0,{command | above},p"] = EPERM
            table[f"ioctl:-1,{command | above},p"] = EPERM
    for name in PROFILES:
        expect(box, table, options=("--calls", name))
    found = calls.make(box, ["ioctl:1,0x541b,p", "ioctl:1,0x5421,p"])   # FIONREAD, FIONBIO
    assert set(found.values()) == {("ok", 0)}, found


@test("PR-16", "text from the console, line disciplines that are modules (CVE-2023-28100)")
def console(box):
    before = pathlib.Path("/proc/tty/ldiscs").read_text()
    done = box.c("pr_tty")
    assert done.code == 0 and done.out == "own terminal: keys\n", done
    assert pathlib.Path("/proc/tty/ldiscs").read_text() == before


@test("PR-17", "how it ended is told exactly")
def statuses(box):
    for code in (0, 1, 2, 3, 42, 124, 125, 126, 127, 128, 129, 137, 200, 254, 255):
        done = box.sh(f"exit {code}")
        assert done.code == code and done.err == "", (code, done)
    for signo in (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 31, 34, 64):
        done = box.python(f"import os, signal\n"
                          f"{signo} in (9, 34) or signal.signal({signo}, signal.SIG_DFL)\n"
                          f"os.kill(os.getpid(), {signo})")
        assert done.code == 128 + signo, (signo, done)
    done = box.exec("/no/such/program")
    assert done.code != 0 and "/no/such/program" in done.err, done
    done = box.exec("/etc/passwd")
    assert done.code != 0 and "ermission denied" in done.err, done


@test("PR-18", "input nobody reads, output without an end to it, closed streams")
def streams(box):
    assert box.exec("true", input="x" * 4000000).code == 0
    assert box.sh("exec <&-; sleep 0.2; exit 3", input="x" * 4000000).code == 3
    done = box.sh("exec >&- 2>&-; echo lost; exit 4")
    assert done.code == 4 and done.out == "", done
    process = box.start("python3", "-c", "import os\nfor i in range(300000): os.write(1, b'x')")
    high = 0
    total = 0
    while chunk := process.stdout.read(65536):
        total += len(chunk)
        with contextlib.suppress(OSError, KeyError):
            high = max(high, *(int(status_of(pid)["VmHWM"].split()[0])
                               for pid in [process.pid, *children(process.pid)]))
    assert process.wait(20) == 0 and total == 300000, total
    assert 0 < high < 64 * 1024, f"{high} KiB"
    # Who reads nothing holds nobody up but the run itself.
    process = box.start("sh", "-c", "yes; exit 1")
    time.sleep(1)
    assert int(status_of(process.pid)["VmRSS"].split()[0]) < 64 * 1024
    process.stdout.close()
    time.sleep(0.5)
    process.kill()
    process.wait()
    box.running.remove(process)
    process.stderr.close()
    assert box.exec("cat", input="abc\n").out == "abc\n"


@test("PR-19", "limits of exec: clean errors, and programs from odd places")
def exec_limits(box):
    source = r"""
import errno, os, subprocess
def run(argv, **more):
    try: return subprocess.run(argv, **more).returncode
    except OSError as e: return errno.errorcode[e.errno]
print(run(['true', 'x' * 131072]), run(['true', 'x' * 131071]), run(['true'] + ['y' * 100000] * 100))
open('a', 'w').write('#!/workspace/b\n'); open('b', 'w').write('#!/workspace/a\n')
open('e', 'w'); os.mkdir('d')
for f in 'abe': os.chmod(f, 0o755)
print(run(['./a']), run(['./e']), run(['./d']), run(['./none']))
fd = os.memfd_create('m', 0); os.write(fd, open('/escape/ki_int80', 'rb').read())
print(run([f'/proc/self/fd/{fd}', 'syscall'], pass_fds=[fd]))
import glob
print(run([glob.glob('/lib*/ld-linux-[xa]*')[0], '/bin/true']))
"""
    done = box.python(source, options=())
    lines = sorted(done.out.splitlines(), key=lambda line: line == "a call of 64 bits")
    assert lines[0] == "E2BIG 0 E2BIG" and lines[1] == "ELOOP ENOEXEC EACCES ENOENT", done
    assert lines[2:] == ["0", "0", "a call of 64 bits"], done
    done = box.exec("sh", "-c", 'echo $#', "sh", *["y" * 500] * 100)
    assert done.out == "100\n", done
    done = box.exec("true", *["y" * 100000] * 12)
    assert done.code in (0, 1) and (done.code == 0 or "argv" in done.err or "too l" in done.err), done


@test("PR-20", "numbers of processes that have gone round")
def pid_reuse(box):
    most = int(pathlib.Path("/proc/sys/kernel/pid_max").read_text())
    if most > 70000:
        return      # takes too long
    mark = "mark" + os.urandom(8).hex()
    # The last, with numbers below their parents', are found all the same.
    process = box.start("sh", "-c", f"/escape/pr_orphans {most // 2 + 500}; echo $$ > p; "
                        f"exec /escape/pr_daemon {mark}", options=("--pids", "64"))
    box.wait_for(process, "left behind", timeout=60)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 7, (out, err)
    wait_until_gone(mark, 1)
