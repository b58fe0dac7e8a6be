"""Privileges: a program has none, gains none, and has no id that is used on the host.

Attacks of the catalogue without a test here are listed with the reason: see not_tested() below.
"""
import contextlib
import os
import pathlib
import subprocess

from attack_files import TRY, check_unprivileged, none_worked, wait_for_programs
from harness import (SUBORDINATE_COUNT, SUBORDINATE_FIRST, descendants, live_statuses, not_tested, status_of, test,
                     threads)

for number, why in {
    "PV-06": "users are never named: the protocol has numbers, which come from the server",
    "PV-12": "needs a hostile agent; its filter: test_filter, the server's side: fuzz_channel",
    "PV-13": "requests to the spawner are checked by spec_check: fuzz_spec; test_spec",
    "PV-15": "test_filter agent_filter_allows_what_any_other_allows",
}.items():
    not_tested(number, why)

NO_CAPS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
AGENT_CAPS = 1 << 5 | 1 << 6 | 1 << 7       # KILL, SETGID, SETUID


def start_and_inspect(box, *argv, names=("sh", "cat"), **more):
    """Starts a program that prints "ready" and then waits. Returns belljar's process, the agent's pid and
    the pids of all other processes in the sandbox."""
    process = box.start(*argv, stdin=subprocess.PIPE, **more)
    box.wait_for(process, "ready")
    return process, *wait_for_programs(box, process, list(names))


@test("PV-01", "programs have no capability, and the agent at most three")
def no_capabilities(box):
    for calls in ("standard", "strict", "debug"):
        process, agent, rest = start_and_inspect(box, "sh", "-c", "sleep 60 & echo ready; cat",
                                           names=("sh", "sleep", "cat"), options=("--calls", calls))
        for status in live_statuses(rest):
            if status["Name"] in ("sh", "sleep", "cat"):
                assert all(int(status[name], 16) == 0 for name in NO_CAPS), status
        # The agent needs them to start programs as their user, and passes none on.
        status = status_of(agent)
        allowed = 0 if box.mode in "SD" else AGENT_CAPS
        assert all(int(status[name], 16) & ~allowed == 0 for name in NO_CAPS), status
        assert int(status["CapBnd"], 16) == 0 and int(status["CapInh"], 16) == 0, status
        process.stdin.write("works\n")
        process.stdin.close()
        assert process.stdout.readline() == "works\n"


@test("PV-02", "every process in a sandbox has a seccomp filter and no_new_privs")
def filtered(box):
    process, agent, rest = start_and_inspect(box, "sh", "-c", "sleep 60 & echo ready; cat",
                                       names=("sh", "sleep", "cat"))
    for status in live_statuses(threads([agent, *rest])):
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status
        # With Docker, programs have Docker's filter and one of their own. Elsewhere they inherit theirs from the agent.
        minimum = 2 if box.mode == "D" and status["Name"] in ("sh", "sleep", "cat") else 1
        assert int(status["Seccomp_filters"]) >= minimum, status
    # The server has both as well.
    server = status_of(process.pid)
    assert server["NoNewPrivs"] == "1" and server["Seccomp"] == "2", server
    assert int(server["CapPrm"], 16) == 0, server
    allowed = box.python("import ctypes; print(ctypes.CDLL(None).prctl(38, 1, 0, 0, 0))")
    assert allowed.out == "0\n", allowed


@test("PV-03", "no process can change its ids")
def change_ids(box):
    found = box.c("pv_ids")
    none_worked(found, minimum=72)
    assert "stay yes" in found.out, found
    process, _, rest = start_and_inspect(box, "sh", "-c", "/escape/pv_ids >/dev/null; echo ready; cat")
    for status in live_statuses(rest):
        if status["Name"] in ("sh", "cat"):
            check_unprivileged(box, status)


@test("PV-04", "id maps cannot be written a second time")
def rewrite_maps(box):
    found = box.python(TRY + """
for pid in ("self", "1", str(os.getppid()), "thread-self"):
    for name, text in (("uid_map", "0 0 1"), ("gid_map", "0 0 1"), ("setgroups", "allow"),
                       ("projid_map", "0 0 1"), ("uid_map", "1000 1000 1")):
        attempt(f"{pid} {name} {text}", lambda: os.write(os.open(f"/proc/{pid}/{name}", os.O_WRONLY), text.encode()))
print(open("/proc/self/uid_map").read().split())
""")
    none_worked(found, minimum=20)
    assert "1" in found.out.splitlines()[-1], found


@test("PV-05", "no user namespace can be created (CVE-2018-18955)")
def nested_namespaces(box):
    for calls in ("standard", "debug"):
        found = box.sh("unshare -Ur id -u; unshare -m true; unshare --net true;"
                       "cat /proc/sys/user/max_user_namespaces /proc/sys/user/max_mnt_namespaces",
                       options=("--calls", calls))
        # Two protections: the filter, and max_user_namespaces, which is 0 and read-only.
        assert found.out.split() == ["0", "0"] and "not permitted" in found.err.lower(), found
    process, agent, rest = start_and_inspect(box, "sh", "-c", "unshare -Ur sh -c 'echo in'; echo ready; cat")
    inside = os.readlink(f"/proc/{agent}/ns/user")
    assert inside != os.readlink("/proc/self/ns/user")
    assert {os.readlink(f"/proc/{pid}/ns/user") for pid in rest} == {inside}


def is_of_sandbox(box, number):
    """Whether an id is in the range of sandboxes of this mode."""
    if box.mode == "R":
        return 524288 + 65536 <= number < 1879048192
    if box.mode == "U":
        return SUBORDINATE_FIRST < number < SUBORDINATE_FIRST + SUBORDINATE_COUNT
    return number == box.uid


@test("PV-07", "host ids of a sandbox are used by no other sandbox and no user")
def ids_from_outside(box):
    script = "sleep 60 & (sleep 60; true) & echo ready; cat"
    users = []
    for sandbox in ("one", "two"):
        process, agent, rest = start_and_inspect(box, "sh", "-c", script, names=("sleep", "sleep", "cat"))
        for status in live_statuses(threads([agent, *rest])):
            ids = [int(word) for word in (status["Uid"] + "\t" + status["Gid"]).split()]
            assert all(is_of_sandbox(box, number) for number in ids), (status["Name"], ids)
            assert status["Groups"].split() == [], (status["Name"], status["Groups"])
        users.append({int(status["Uid"].split()[0]) for status in live_statuses([agent, *rest])})
        maps = pathlib.Path(f"/proc/{agent}/uid_map").read_text().split()
        for outside, count in zip(maps[1::3], maps[2::3]):
            first, last = int(outside), int(outside) + int(count) - 1
            assert not first <= 0 <= last, maps
            assert box.mode == "S" or not first <= box.uid <= last, maps
            assert box.mode != "S" or (first, last) == (box.uid, box.uid), maps
        if box.mode == "S":
            assert pathlib.Path(f"/proc/{agent}/setgroups").read_text() == "deny\n"
    if box.mode == "S":
        assert users == [{box.uid}] * 2, users          # this mode has only one id
    else:
        assert len(users[0]) == 2 and not users[0] & users[1], users
    assert box.sh("id -un").out == "coderunner\n"


FIRST_ID, LAST_ID, BLOCK = 524288, 1879048191, 65536


@contextlib.contextmanager
def subordinate_ids(box, lines):
    """Belljar sees these lines as /etc/subuid. The mount is in a mount namespace of belljar's own."""
    path = box.directory / "subuid"
    path.write_text(lines)
    box.around = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                  'mount --bind "$0" /etc/subuid && exec "$@"', str(path)]
    try:
        yield
    finally:
        box.around = []


def outside_ids(box, process):
    """The host ids of a started belljar, of all its processes, of their id maps and of its files."""
    found = set()
    everything = descendants(process.pid) + [process.pid]
    for status in live_statuses(everything):
        found |= {int(word) for word in status["Uid"].split()}
    for pid in everything:
        lines = []
        with contextlib.suppress(OSError):  # the process has exited meanwhile
            lines = pathlib.Path(f"/proc/{pid}/uid_map").read_text().splitlines()
        for line in lines:
            _, first, count = map(int, line.split())
            if count <= BLOCK:
                found |= {first, first + count - 1}
    for top, names, files in os.walk(box.state):
        found |= {os.lstat(os.path.join(top, name)).st_uid for name in names + files}
    return found - {0}


# Only root takes ids by itself: the other modes have those that were given to the user.
@test("PV-16", "ids that /etc/subuid gives to users are not used", modes="R")
def ids_of_users(box):
    # All ids of the range but the last 131072 belong to users, the lowest as useradd gives them.
    taken = [(493216, 65536), (558752, LAST_ID + 1 - 2 * BLOCK - 558752)]
    with subordinate_ids(box, "broken\n" + "".join(f"u{n}:{n}:{m}\n" for n, m in taken)):
        process, *_ = start_and_inspect(box, "sh", "-c", "touch /tmp/file; echo ready; cat")
        ids = outside_ids(box, process)
        assert len(ids) >= 4 and min(ids) > LAST_ID - 2 * BLOCK, ids
        process.stdin.close()
        assert process.wait(60) == 0
    with subordinate_ids(box, f"all:{FIRST_ID}:{LAST_ID - FIRST_ID + 1}\n"):
        found = box.sh("true")
        assert found.code != 0 and "no user ids are left for belljar" in found.err, found
    with subordinate_ids(box, f"most:{FIRST_ID + 2}:{LAST_ID - FIRST_ID}\n"):
        found = box.sh("true")
        assert found.code != 0 and "no ids are left for sandboxes" in found.err, found


@test("PV-17", "a sandbox whose ids were given to a user does not wake", modes="R")
def ids_given_away(box):
    assert box.sh("echo kept >~/file", sandbox="one").code == 0
    first, = {os.stat(path).st_uid - 999 for path in (box.state / "sandboxes").iterdir()}
    with subordinate_ids(box, f"alice:{first}:1\n"):
        found = box.sh("cat ~/file", sandbox="one")
        assert found.code != 0 and f"gives {first}-{first} to 'alice'" in found.err, found
        assert box.sh("echo other", sandbox="two").out == "other\n"
    # The ids of the server and of all roots were given away: both change, and old sandboxes stay asleep.
    with subordinate_ids(box, f"alice:{FIRST_ID}:2\n"):
        found = box.sh("cat ~/file", sandbox="one")
        assert found.code != 0 and "the root of sandbox" in found.err, found
        assert box.sh("echo new", sandbox="three").out == "new\n"
        assert box.belljar_verb("ps", "--state-dir", str(box.state)).code == 0
        assert box.belljar_verb("rm", "--state-dir", str(box.state), "two").code == 0
    assert box.sh("cat ~/file", sandbox="one").code != 0  # the new ids are kept while they are free
    assert box.sh("echo new", sandbox="three").out == "new\n"


@test("PV-08", "set-user-id programs of the machine give no rights")
def setuid_tools(box):
    tools = {
        "su": "su -c id root", "sudo": "sudo -n id", "pkexec": "pkexec id", "mount": "mount -t tmpfs t /tmp",
        "umount": "umount /proc/sys", "newuidmap": "newuidmap $$ 0 0 1", "newgidmap": "newgidmap $$ 0 0 1",
        "chsh": "chsh -s /bin/false root", "passwd": "passwd -d root", "newgrp": "newgrp root -c id",
        "fusermount3": "fusermount3 /tmp", "chfn": "chfn -f x root", "gpasswd": "gpasswd -a coderunner root",
        "sg": "sg root id",
    }
    before = {name: os.stat(name).st_mtime_ns for name in ("/etc/passwd", "/etc/group")}
    installed = [name for name in tools if any(os.path.exists(f"{d}/{name}") for d in ("/usr/bin", "/usr/sbin"))]
    assert len(installed) >= 5, installed
    for name in installed:
        found = box.sh(f"{tools[name]} </dev/null 2>&1; echo code $?; id -u; id -G; grep -c . /proc/self/mountinfo")
        lines = found.out.splitlines()
        assert "uid=0" not in found.out and lines[-3:-1] == ["1000", "1000"], (name, found)
        assert "code 0" not in lines, (name, found)
    assert {name: os.stat(name).st_mtime_ns for name in before} == before


@test("PV-09", "LD_PRELOAD into a set-user-id program gives no rights")
def preload(box):
    path = box.offered / "suid-dynamic"
    path.write_bytes(pathlib.Path("/usr/bin/id").read_bytes())
    os.chown(path, 0, 0)
    os.chmod(path, 0o4755)
    source = """#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void in(void)
{
    printf("loaded as %d %d\\n", getuid(), geteuid());
    fflush(stdout);
}
"""
    found = box.sh("cd /tmp && cc -shared -fPIC -x c - -o evil.so && export LD_PRELOAD=/tmp/evil.so && "
                   "/escape/suid-dynamic -u && /usr/bin/id -u", input=source)
    assert found.code == 0, found
    # The library is loaded, as into any program: there are no rights that AT_SECURE would protect.
    lines = found.out.splitlines()
    assert lines == ["loaded as 1000 1000", "1000"] * 2, found


@test("PV-10", "capabilities cannot be gained, and the filter and no_new_privs cannot be removed")
def take_capabilities(box):
    for calls in ("standard", "debug"):
        found = box.c("pv_caps", options=("--calls", calls))
        # Containers may keep capabilities over a change of ids; they have none.
        none_worked(found, minimum=100, but={"keep capabilities"} if box.mode == "D" else set())
        assert "none yes" in found.out, found


@test("PV-11", "no security label can be set")
def labels(box):
    process, agent, rest = start_and_inspect(box, "sh", "-c", "echo ready; cat")
    before = {name: read_or_none(f"/proc/{pid}/attr/{name}") for pid in rest for name in ("current", "exec")}
    found = box.python(TRY + """
def change(path):
    # Writing the present label is no change.
    before = open(path).read()
    os.write(os.open(path, os.O_WRONLY), b"changeprofile unconfined")
    if open(path).read() == before: raise PermissionError(errno.EPERM, "as before")
for name in ("current", "exec", "fscreate", "keycreate", "sockcreate", "apparmor/current", "apparmor/exec",
             "smack/current"):
    for pid in ("self", "1"):
        attempt(f"{pid} {name}", lambda: change(f"/proc/{pid}/attr/{name}"))
""")
    none_worked(found, minimum=16)
    assert before == {name: read_or_none(f"/proc/{pid}/attr/{name}") for pid in rest for name in ("current", "exec")}
    assert box.sh("ls /proc/self/ >/dev/null && echo ok").out == "ok\n"


def read_or_none(path):
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return None


@test("PV-14", "no limit or priority can be raised")
def raise_limits(box):
    # The filter "debug" allows more calls, but no higher limits.
    for calls in ("standard", "debug"):
        found = box.c("pv_limits", options=("--calls", calls))
        none_worked(found, minimum=20)
        assert "fewer files yes, nicer yes, idle yes, lock a little yes" in found.out, found
