"""Files: nothing of the host is read or changed.

Attacks of the catalogue without a test here are listed with the reason: see not_tested() below.
Files that a sandbox leaves behind to attack its next start are in attack_wake.py.
"""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import select
import shutil
import socket
import stat
import subprocess
import sys
import time

import on_docker
from harness import live_statuses, not_tested, status_of, test

NO_IMAGES = "there are no images yet, only the machine's own /usr; see FS-13 for waking"
AGENT = "a file operation of the agent: "
for number, why in {
    "FS-09": NO_IMAGES,
    "FS-10": NO_IMAGES,
    "FS-17": AGENT + "test_live_inside links_do_not_lead_out_of_the_root",
    "FS-18": AGENT + "test_live_inside racing_links_never_lead_out_of_the_root",
    "FS-19": AGENT + "test_live_inside racing_links_never_lead_out_of_the_root (writes, mkdir, remove)",
    "FS-21": AGENT + "test_live_inside links_do_not_lead_out_of_the_root (WRITE to a link that leads out)",
    "FS-22": AGENT + "paths are resolved in the root, no prefix is compared: test_path",
    "FS-23": AGENT + "test_path magic_links_are_not_followed",
    "FS-24": AGENT + "test_live_files every_failure_names_path_and_reason (fifo)",
    "FS-25": AGENT + "test_live_files every_failure_names_path_and_reason, read_does_not_rely_on_the_file_size",
    "FS-26": AGENT + "test_live_files read_does_not_rely_on_the_file_size (1 TiB, sparse)",
    "FS-32": "there are no snapshots yet",
}.items():
    not_tested(number, why)

# For scripts in the sandbox: prints one line for each attempt, in the format of programs/try.h.
TRY = """
import errno, os, sys
def attempt(what, action):
    try: action(); print(f"{what}: DONE")
    except OSError as error: print(f"{what}: {errno.errorcode[error.errno]}")
"""


def attempts(result, minimum=1):
    """A dict {attempt: outcome} from the output of a program, which must have finished."""
    assert result.code == 0, result
    found = dict(line.rsplit(": ", 1) for line in result.out.splitlines() if ": " in line)
    assert len(found) >= minimum, result
    return found


def none_worked(result, minimum=1, but=()):
    done = [what for what, outcome in attempts(result, minimum).items() if outcome == "DONE" and what not in but]
    assert not done, f"these attempts succeeded: {done}"


def sha(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def fingerprint(path):
    """All that must not change of a file of the host; the access time may."""
    seen = os.lstat(path)
    return (seen.st_mode, seen.st_uid, seen.st_gid, seen.st_size, seen.st_mtime_ns, seen.st_ino,
            seen.st_nlink, sha(path) if stat.S_ISREG(seen.st_mode) else None)


def fingerprints(top):
    return {str(path): fingerprint(path) for path in [top, *sorted(pathlib.Path(top).rglob("*"))]}


# --- copies to the host


def host_git(box, repository, *argv):
    """Runs git as the mode's user, without settings from outside of the repository."""
    return subprocess.run([*box.as_user(), "git", "-c", "safe.directory=*", "-c", "user.name=n",
                           "-c", "user.email=e@x", *argv], cwd=repository, capture_output=True,
                          text=True, timeout=60,
                          env={**box.environment(), "GIT_CONFIG_NOSYSTEM": "1"})


def copy_out(box, source, target):
    return box.belljar_verb("cp", "--state-dir", str(box.state), f"work:{source}", str(target))


@test("FS-37", "a copy to the host plants nothing that programs there run by themselves")
def plant_code(box):
    home, marker = box.directory / "home", box.directory / "planted"
    repository = home / "project"
    repository.mkdir(parents=True)
    for path in (home, repository):
        os.chown(path, box.uid, box.uid)
    has_git = shutil.which("git") is not None
    if has_git:
        made = host_git(box, repository, "init", "-q")
        assert made.returncode == 0, made.stderr
    else:
        (repository / ".git").mkdir()
        (repository / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (repository / "way").symlink_to(".git/hooks")
    (repository / ".git/hooks").mkdir(exist_ok=True)
    before = fingerprints(repository / ".git")
    planted = box.sh(f"""mkdir -p project/.git/hooks project/.GIT/hooks project/sub/.vscode project/bare/objects project/bare/refs
        cd project; echo work > work.txt
        for hook in pre-commit post-index-change post-checkout; do
            printf '#!/bin/sh\\necho hook >> {marker}\\n' | tee .git/hooks/$hook > .GIT/hooks/$hook; chmod 755 .git/hooks/$hook .GIT/hooks/$hook; done
        printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = "echo monitor >> {marker}; false"\\n' > .git/config
        cp .git/config bare/config; echo 'ref: refs/heads/main' > bare/HEAD; echo ../evil > .git/commondir
        for name in .bashrc .profile .npmrc .envrc .mcp.json .gitattributes sub/.vscode/tasks.json; do echo "echo start >> {marker}" > $name; done
        ln -s work.txt .zshrc; echo '#!/bin/sh' > run; chmod 4777 run""", sandbox="work")
    assert planted.code == 0, planted
    copied = copy_out(box, "project", home)
    assert copied.code == 0 and "left out, because programs of the host execute" in copied.err, copied
    hook = copy_out(box, "project/.git/hooks/pre-commit", repository / "way")
    assert hook.code == 1 and "no file was copied" in hook.err, hook
    for target in (home / ".bashrc", repository / ".git/config", repository / "way/post-commit"):
        assert copy_out(box, "project/run", target).code == 1, target
    assert (repository / "work.txt").read_text() == "work\n"
    assert stat.S_IMODE(os.stat(repository / "run").st_mode) == 0o644
    # The only entry of .git that may change is its own time.
    after = fingerprints(repository / ".git")
    assert set(after) == set(before) and all(after[path][-1] == before[path][-1] for path in before)
    found = sorted(str(path.relative_to(home)) for path in home.rglob("*") if ".git/" not in str(path))
    assert not [name for name in found if re.search(r"bashrc|profile|npmrc|envrc|mcp|gitattr|vscode|zshrc|HEAD$", name)], found
    if has_git:
        for argv in (["status"], ["add", "work.txt"], ["commit", "-q", "-m", "m"], ["checkout", "-q", "-b", "b"]):
            host_git(box, repository, *argv)
        host_git(box, repository / "bare", "status")
    assert not marker.exists(), marker.read_text()
    removed = box.belljar_verb("rm", "--state-dir", str(box.state), "work")
    assert removed.code == 0, removed


# --- reading


@test("FS-01", "files of the host cannot be read")
def read_host_files(box):
    canaries = [str(box.canary), str(box.belljar), "/etc/shadow", "/etc/ssh", "/var/lib/belljar",
                "/root/.bashrc", "/work", str(box.state), "/skeleton", "/disk", "/mounts/0", "/new"]
    if box.mode == "D":
        canaries.remove("/etc/ssh")  # the image has one of its own
    found = box.python("import os, sys\n"
                       "for p in sys.argv[1:]:\n"
                       "    try: os.listdir(p) if os.path.isdir(p) else open(p).read(); print('READ', p)\n"
                       "    except OSError: pass", *canaries)
    assert found.code == 0 and "READ" not in found.out, found
    assert box.sh("cat /etc/passwd").out.startswith("root:"), "the sandbox's own /etc is not readable"


# Names in /etc, each of a program that every machine has, with texts and modes. The first group is copied: a package
# brought these files. The second is of packages, too; the third an operator has written or changed, in forms of which
# no word tells that they are secrets.
ETC_OPEN = {"sort.conf": "fine", "uniq.d/rules": "fine", "paste-2.0/defaults": "fine"}
ETC_CLOSED = {
    "hostname.conf": "x", "env.d/00proxy": "x", "passwd.d/users": "x", "login.conf": "x", "mount.conf": "x",  # by name
    "head.conf": "password = x", "tail.conf": "# token: x", "cut.conf": "index = https://me:x@example.com/simple",
    "tr.conf": "-----BEGIN PRIVATE KEY-----", "wc.d/.hidden": "x", "wc.d/site.key": "x", "wc.d/secrets.yaml": "x",
    "join.d/open": "x", "comm.conf": "x", "no-such-program.conf": "x",
}
ETC_WRITTEN = {
    "nl.conf": "pass = x", "od.conf": "pat: ghp_", "pr.conf": "db01:5432:db:me:", "fmt.d/kube": "client-key-data: LS0t",
    "fmt.d/aws": "AKIA", "fmt.d/snmp": "community", "fmt.d/hook": "https://hooks.example.com/T0/B0?sig=", "tac.conf": "x",
}


def conffiles(box, etc):
    """A table of dpkg that knows the files below `etc`, except those that an operator has written."""
    known = pathlib.Path("/var/lib/dpkg/status").read_text(errors="replace")
    lines = [f" /etc/{name} {hashlib.md5((etc / name).read_bytes()).hexdigest()}" for name in ETC_OPEN | ETC_CLOSED]
    lines.append(f" /etc/tac.conf {hashlib.md5(b'as it was').hexdigest()}")
    status = box.directory / "status"
    status.write_text(known + "\nPackage: escape\nStatus: install ok installed\nConffiles:\n" + "\n".join(lines) + "\n")
    status.chmod(0o644)
    return status


# Only root can mount these files over /etc; the skeleton is made in the same way for all users.
@test("FS-47", "files of /etc with secrets or about the machine are not in a sandbox", modes="R")
def etc_of_the_host(box):
    etc = box.directory / "etc"
    for name, text in (ETC_OPEN | ETC_CLOSED | ETC_WRITTEN | {"join.d/closed": "x"}).items():
        path = etc / name
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.write_text(f"{text} {box.secret}\n")
        path.chmod(0o600 if name in ("join.d/closed", "comm.conf") else 0o644)
    (etc / "fold.conf").symlink_to(box.canary)
    (etc / "expand.d").mkdir(mode=0o755)
    (etc / "expand.d/link").symlink_to(box.canary)
    box.around = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                  'mount -t overlay -o "lowerdir=$0:/etc" overlay /etc && mount --bind "$1" /var/lib/dpkg/status && '
                  'shift && exec "$@"', str(etc), str(conffiles(box, etc))]
    try:
        found = box.sh(f"grep -rls {box.secret} /etc | sort; ls -a /etc /etc/wc.d /etc/join.d")
        assert found.code in (0, 2), found
        read = [line for line in found.out.splitlines() if line.startswith("/etc/") and not line.endswith(":")]
        assert read == sorted(f"/etc/{name}" for name in ETC_OPEN), found
        for name in ("hostname.conf", "env.d", "fold.conf", "site.key", "secrets.yaml", ".hidden", "open", "nl.conf", "tac.conf"):
            assert name not in found.out.splitlines(), (name, found)
        assert box.sh("cat /etc/expand.d/link; cat /etc/passwd").out.startswith("root:")
    finally:
        box.around = []


@test("FS-02", "'..' does not lead above the root")
def dot_dot(box):
    ups = ["../" * n for n in (1, 2, 8, 64, 1000)]
    found = box.python(TRY + """
canary, ups = sys.argv[1], sys.argv[2:]
os.makedirs("/tmp/a/b/c")
os.symlink("../" * 64, "/tmp/up")
for cwd in ("/", "/workspace", "/tmp/a/b/c", "/usr/bin", "/escape", "/proc/self", "/dev/shm"):
    os.chdir(cwd)
    for i, up in enumerate(ups):
        attempt(f"{cwd} {i}", lambda: open(up + canary[1:]))
attempt("a link", lambda: open("/tmp/up" + canary))
attempt("/proc/self/root", lambda: open("/proc/self/root/../../.." + canary))
os.chdir("/tmp/a/b/c")
open("/tmp/mine", "w").write("mine")
print(open("../../../mine").read())
print(open("../" * 64 + "tmp/mine").read())
""", str(box.canary), *ups)
    none_worked(found, minimum=37)
    assert found.out.endswith("mine\nmine\n"), found


@test("FS-03", "no link in /proc leads to the host, not even the agent's")
def proc_root(box):
    found = box.python(TRY + """
import glob
canary = sys.argv[1]
here = os.stat("/")
for link in ("root", "cwd", "exe", "fd", "map_files", "environ", "mem", "maps", "auxv", "ns/mnt"):
    path = "/proc/1/" + link
    attempt(path, lambda: os.listdir(path) if link in ("fd", "map_files", "root", "cwd") else open(path).read(1))
for link in glob.glob("/proc/*/root") + glob.glob("/proc/*/task/*/cwd"):
    attempt("canary " + link, lambda: open(link + canary))
    try: seen = os.stat(link)
    except OSError: continue
    if link.endswith("root") and (seen.st_dev, seen.st_ino) != (here.st_dev, here.st_ino):
        print(f"another root {link}: DONE")
for fd in glob.glob("/proc/[0-9]*/fd/*"):
    attempt(fd + " is a directory", lambda: os.listdir(fd))
print(os.readlink("/proc/self/cwd"), os.readlink("/proc/self/root"), os.path.realpath("/proc/self/exe"))
""", str(box.canary))
    none_worked(found, minimum=10)
    assert found.out.splitlines()[-1].startswith("/workspace / /usr/bin/python3"), found


@test("FS-04", "chroot does not lead to the host")
def chroot_escape(box):
    none_worked(box.c("fs_chroot", str(box.canary)), minimum=5)
    assert box.sh("cd /tmp && pwd").out == "/tmp\n"


# --- descriptors


@test("FS-05", "no inherited descriptor is a directory of the host (CVE-2024-21626)")
def descriptor_as_directory(box):
    found = box.c("fs_fd_cwd", str(box.canary))
    none_worked(found)
    assert re.findall(r"^fd (\d+) mode 10000$", found.out, re.M) == ["0", "1", "2"], found
    assert len(re.findall(r"^fd ", found.out, re.M)) == 3, found
    allowed = box.python("import os; d = os.open('/usr', os.O_RDONLY); os.chdir(f'/proc/self/fd/{d}');"
                      "print(os.getcwd())")
    assert allowed.out == "/usr\n", allowed


def mounts_of(pid):
    """The mounts of a process as rows of (device, root, mount point, options, type)."""
    rows = []
    for line in pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
        left, right = line.split(" - ", 1)
        words = left.split()
        rows.append((words[2], words[3], words[4], set(words[5].split(",")), right.split()[0]))
    return rows


def check_descriptors(pid, devices):
    """Checks from the host that every open file is a pipe, a socket, anonymous, or on a file system that
    is mounted in the sandbox."""
    for entry in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{entry}"
        with contextlib.suppress(FileNotFoundError):
            name, seen = os.readlink(path), os.stat(path)
            device = f"{os.major(seen.st_dev)}:{os.minor(seen.st_dev)}"
            is_anonymous = name.startswith(("pipe:[", "socket:[", "anon_inode:", "/memfd:"))
            assert is_anonymous or device in devices, f"{status_of(pid)['Name']} has {name} ({device})"


def wait_for_programs(box, process, names):
    """Waits until programs of these names run. Returns the agent's pid and the pids of all others."""
    deadline = time.monotonic() + 120
    while True:
        found = []
        with contextlib.suppress(OSError, ValueError):
            agent, *rest = box.processes(process)
            found = [status_of(pid)["Name"] for pid in rest]
            if all(found.count(name) >= names.count(name) for name in names):
                return agent, rest
        assert time.monotonic() < deadline, f"{names} are not all in {found}"
        time.sleep(0.02)


def wait_until_loaded(pid):
    """Waits until the program has no descriptors but those it was started with. While it is loaded, it
    also has its libraries open."""
    deadline = time.monotonic() + 60
    while (found := sorted(os.listdir(f"/proc/{pid}/fd"))) != ["0", "1", "2"]:
        assert time.monotonic() < deadline, f"{status_of(pid)['Name']} has {found}"
        time.sleep(0.02)


@test("FS-06", "no process inside has a file of the host open")
def descriptors_from_outside(box):
    # Descriptors of the process that starts belljar must not be inherited.
    leak = os.open(box.canary, os.O_RDONLY)
    directory = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    line = box.command(["sh", "-c", "echo ready; sleep 30 & cat"])
    process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.PIPE, env=box.environment(), cwd="/",
                               pass_fds=(leak, directory))
    box.running.append(process)
    os.close(leak)
    os.close(directory)
    box.wait_for(process, "ready")
    agent, rest = wait_for_programs(box, process, ["sh", "sleep", "cat"])
    devices = {row[0] for row in mounts_of(agent)}
    host = os.stat("/").st_dev
    # Docker's volumes are directories of the host's file system.
    assert box.mode == "D" or f"{os.major(host)}:{os.minor(host)}" not in devices, \
        "the host's own root is mounted"
    programs = [pid for pid in rest if status_of(pid)["Name"] in ("sh", "cat", "sleep")]
    assert len(programs) == 3, [status_of(pid)["Name"] for pid in rest]
    for pid in programs:
        wait_until_loaded(pid)
    for pid in [agent, *rest]:
        check_descriptors(pid, devices)
    out, _ = process.communicate("through stdin\n", timeout=60)
    box.running.remove(process)
    assert out == "through stdin\n", out


@test("FS-07", "the agent's program cannot be overwritten (CVE-2019-5736)")
def overwrite_agent(box):
    before = fingerprint(box.belljar)
    process = box.start("sh", "-c", "printf '#!/proc/self/exe\\n' >/tmp/me; chmod +x /tmp/me;"
                        "/tmp/me </dev/null; echo ready; exec /escape/fs_exe 3")
    box.wait_for(process, "ready")
    agent = box.processes(process)[0]
    image = sha(f"/proc/{agent}/exe")
    out, _ = process.communicate(timeout=60)
    box.running.remove(process)
    assert "DONE" not in out and "/proc/1/exe: E" in out, out
    assert int(re.search(r"looked at (\d+)", out)[1]) > 0, out
    assert fingerprint(box.belljar) == before
    second = box.start("sh", "-c", "echo ready; cat", stdin=subprocess.PIPE)
    box.wait_for(second, "ready")
    pids = box.processes(second)
    assert sha(f"/proc/{pids[0]}/exe") == image, "the agent is another program now"
    # The seals of the memfd hold even for root on the host.
    try:
        os.close(os.open(f"/proc/{pids[0]}/exe", os.O_WRONLY))
        raise AssertionError("the agent's program can be opened for writing")
    except OSError:
        pass


@test("FS-08", "executing the agent's program in a sandbox leads nowhere")
def run_agent(box):
    for name in ("/proc/self/exe", "/proc/1/exe", "/proc/thread-self/exe"):
        # The agent's program, started again, has the user's rights and no channel: it exits.
        found = box.exec(name, timeout=30)
        assert found.code != 0 and found.out == "", found
    assert box.sh("echo still there").out == "still there\n"


@test("FS-20", "the agent loads nothing that a sandbox could plant (CVE-2019-14271)")
def agent_loads_nothing(box):
    plant = ("mkdir -p /etc/x && for f in /etc/ld.so.preload /etc/nsswitch.conf /usr/lib/libnss_x.so;"
             " do echo /tmp/evil.so >$f; done 2>/dev/null; cp /escape/pv_whoami /tmp/evil.so; echo planted")
    assert "planted" in box.sh(plant, sandbox="x").out
    process = box.start("sh", "-c", "echo ready; cat", sandbox="x", stdin=subprocess.PIPE)
    box.wait_for(process, "ready")
    agent = box.processes(process)[0]
    files = {line.split(None, 5)[5].strip() for line in
             pathlib.Path(f"/proc/{agent}/maps").read_text().splitlines() if len(line.split(None, 5)) > 5}
    files = {name for name in files if not name.startswith("[")}
    # In a container it is a file of root's on the read-only root.
    assert files and all("memfd" in name for name in files) or files == {"/.belljar/agent"}, files
    out, err = process.communicate("works\n", timeout=60)
    box.running.remove(process)
    assert out == "works\n", (out, err)


# --- writing


@test("FS-27", "read-only layers and mounts cannot be changed")
def write_lower_layers(box):
    given = box.offered / "given"
    given.mkdir()
    (given / "file").write_text("given\n")
    os.chmod(given / "file", 0o666)
    os.chmod(given, 0o777)
    os.chown(given, box.uid, box.uid)
    files = ["/usr/bin/env", "/usr/lib/os-release", "/etc/passwd", "/etc/ld.so.cache"]
    before = {name: fingerprint(name) for name in files}, fingerprints(given)
    found = box.python(TRY + """
for path in ("/usr/bin/env", "/usr/lib/os-release", "/escape/given/file", "/escape/pv_whoami"):
    attempt("write " + path, lambda: open(path, "r+"))
    attempt("append " + path, lambda: open(path, "a"))
    attempt("truncate " + path, lambda: os.truncate(path, 0))
    attempt("chmod " + path, lambda: os.chmod(path, 0o777))
    attempt("chown " + path, lambda: os.chown(path, 1000, 1000))
    attempt("utime " + path, lambda: os.utime(path, (1, 1)))
    attempt("unlink " + path, lambda: os.unlink(path))
    attempt("rename " + path, lambda: os.rename(path, path + "2"))
    attempt("xattr " + path, lambda: os.setxattr(path, "user.x", b"x"))
    attempt("through /proc " + path,
            lambda: os.open(f"/proc/self/fd/{os.open(path, os.O_RDONLY)}", os.O_RDWR))
for path in ("/usr", "/usr/bin", "/escape", "/escape/given"):
    attempt("mkdir in " + path, lambda: os.mkdir(path + "/new"))
    attempt("create in " + path, lambda: open(path + "/new", "w"))
    attempt("symlink in " + path, lambda: os.symlink("/", path + "/new"))
""")
    none_worked(found, minimum=52)
    assert ({name: fingerprint(name) for name in files}, fingerprints(given)) == before
    allowed = box.sh("cat /escape/given/file; for d in /workspace /tmp /var/tmp /dev/shm /run $HOME;"
                  "do echo x >$d/f && mkdir $d/d && mv $d/f $d/d/g && chmod 600 $d/d/g || exit 1; done")
    assert allowed.code == 0 and allowed.out == "given\n", allowed


@test("FS-28", "a set-user-id bit gives no rights")
def set_user_id(box):
    for name, uid in (("suid-root", 0), ("suid-other", 12345)):
        path = box.offered / name
        path.write_bytes((box.offered / "pv_whoami").read_bytes())
        os.chown(path, uid, uid)
        os.chmod(path, 0o6755)
    before = fingerprints(box.offered)
    own = "cp /escape/pv_whoami /tmp/own; chmod 6755 /tmp/own; exec /tmp/own"
    for argv in (["/escape/suid-root"], ["/escape/suid-other"], ["sh", "-c", own], ["/escape/pv_whoami"]):
        process = box.start(*argv, stdin=subprocess.PIPE)
        ids = process.stdout.readline()
        assert ids.startswith("uid 1000 1000 1000 gid 1000 1000 1000"), ids
        box.wait_for(process, "ready")
        agent, *rest = box.processes(process)
        seen = [status for status in live_statuses(rest) if status["Name"] in
                ("suid-root", "suid-other", "own", "pv_whoami")]
        assert len(seen) == 1, seen
        check_unprivileged(box, seen[0])
        process.communicate()
        box.running.remove(process)
    assert fingerprints(box.offered) == before


def check_unprivileged(box, status):
    """Checks on the host that a program has no capabilities and only ids of its sandbox."""
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, status
    assert len(set(status["Uid"].split())) == 1 and len(set(status["Gid"].split())) == 1, status
    uid, gid = int(status["Uid"].split()[0]), int(status["Gid"].split()[0])
    for number in (uid, gid):
        assert number == box.uid if box.mode == "S" else number not in (0, box.uid, 12345), status


def may_anybody_set(box, attribute):
    """Some kernels let every process set attributes that they do not use, also outside of sandboxes."""
    path = box.directory / "attribute"
    path.write_bytes(b"")
    os.chown(path, 65533, 65533)
    line = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", sys.executable, "-c",
            f"import os; os.setxattr({str(path)!r}, {attribute!r}, b'y')"]
    return subprocess.run(line, stderr=subprocess.DEVNULL, check=False).returncode == 0


@test("FS-29", "capabilities of a file give none to the process")
def file_capabilities(box):
    names = [name for name in ("security.x", "security.ima", "trusted.x", "trusted.overlay.opaque", "system.x")
             if not may_anybody_set(box, name)]
    path = box.offered / "capable"
    path.write_bytes((box.offered / "pv_whoami").read_bytes())
    os.chmod(path, 0o755)
    everything = (0x02000001).to_bytes(4, "little") + b"\xff" * 16   # version 2, effective
    os.setxattr(path, "security.capability", everything)
    process = box.start("/escape/capable", stdin=subprocess.PIPE)
    box.wait_for(process, "ready")
    status = [status for status in live_statuses(box.processes(process)) if status["Name"] == "capable"]
    check_unprivileged(box, status[0])
    process.communicate()
    box.running.remove(process)
    found = box.python(TRY + """
open("/tmp/f", "w").close()
# Version 3 names the root id of a user namespace; setting it needs CAP_SETFCAP there.
for version, length in ((2, 20), (3, 24)):
    value = ((version << 24) | 1).to_bytes(4, "little") + bytes([255]) * 16 + bytes(length - 20)
    attempt(f"capability {version}", lambda: os.setxattr("/tmp/f", "security.capability", value))
for name in NAMES:
    attempt(name, lambda: os.setxattr("/tmp/f", name, b"y"))
os.setxattr("/tmp/f", "user.x", b"mine")
print(os.getxattr("/tmp/f", "user.x").decode())
""".replace("NAMES", repr(names)))
    none_worked(found, minimum=2 + len(names))
    assert found.out.endswith("mine\n"), found


@test("FS-30", "device nodes can neither be created nor opened")
def devices(box):
    for name, kind, number in (("disk", "b", (8, 0)), ("memory", "c", (1, 1)), ("nothing", "c", (1, 3))):
        os.mknod(box.offered / name, 0o666 | (stat.S_IFBLK if kind == "b" else stat.S_IFCHR),
                 os.makedev(*number))
        os.chmod(box.offered / name, 0o666)
    none_worked(box.c("fs_devices", "/workspace", "/tmp", "/dev", "/dev/shm", "/run", "/escape", "/"),
                minimum=70)
    found = box.python(TRY + """
for name in ("disk", "memory", "nothing"):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        attempt(f"open {name} {flags}", lambda: os.open("/escape/" + name, flags))
""")
    assert set(attempts(found, minimum=9).values()) == {"EACCES"}, found
    archive = box.sh("cd /tmp && mkdir t && cp -a /escape/nothing t/n; ls t | wc -l")
    assert archive.out == "0\n", archive
    allowed = box.sh("mkfifo /tmp/p && echo x >/dev/null && head -c 4 /dev/zero /dev/urandom | wc -c")
    assert allowed.code == 0, allowed


@test("FS-30", "locks and watches on devices are not shared with the host", modes="R")
def shared_devices(box):
    """R only: an ordinary user cannot create device nodes, so sandboxes have the host's own."""
    process = box.start("python3", "-c", """
import ctypes, fcntl, os, select, sys
libc = ctypes.CDLL(None)
fcntl.flock(os.open("/dev/zero", os.O_RDONLY), fcntl.LOCK_EX)
watch = libc.inotify_init()
libc.inotify_add_watch(watch, b"/dev/zero", 0x20)
try:
    os.utime("/dev/zero")
except OSError:
    pass
print("ready", flush=True)
sys.stdin.read()
print("saw", len(select.select([watch], [], [], 0)[0]), "openings by the host")
""", stdin=subprocess.PIPE)
    before = os.stat("/dev/zero").st_mtime_ns
    box.wait_for(process, "ready")
    with open("/dev/zero") as zero:
        try:
            fcntl.flock(zero, fcntl.LOCK_EX | fcntl.LOCK_NB)
            locked_out = False
        except OSError:
            locked_out = True
    out, _ = process.communicate(timeout=60)
    box.running.remove(process)
    assert out == "saw 0 openings by the host\n" and not locked_out, f"locked out: {locked_out}; {out}"
    assert os.stat("/dev/zero").st_mtime_ns == before, "the time of the host's device was changed"


@test("FS-33", "no namespace or mount can be created to exploit overlayfs (and FS-34, FS-46)")
def no_mounts(box):
    for calls in ("standard", "strict", "debug"):
        none_worked(box.c("fs_mounts", options=("--calls", calls)), minimum=24)
    allowed = box.sh("df / >/dev/null && (exec true) && grep -c . /proc/self/mountinfo")
    assert allowed.code == 0 and int(allowed.out) > 10, allowed


@test("FS-38", "no hard link crosses from one file system to another")
def hard_links(box):
    links = {name: os.lstat(name).st_nlink for name in ("/usr/bin/env", "/dev/null")}
    found = box.python(TRY + """
AT_EMPTY_PATH, AT_SYMLINK_FOLLOW = 0x1000, 0x400
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def linkat(fd, path, to, flags):
    if libc.linkat(fd, path, -100, to, flags) < 0: raise OSError(ctypes.get_errno(), "")
for path in ("/usr/bin/env", "/escape/pv_whoami", "/dev/null", "/proc/self/status", "/dev/shm"):
    attempt("link " + path, lambda: os.link(path, "/workspace/l"))
    fd = os.open(path, os.O_RDONLY)
    attempt("link by descriptor " + path, lambda: linkat(fd, b"", b"/workspace/l", AT_EMPTY_PATH))
    attempt("link by /proc " + path,
            lambda: linkat(-100, f"/proc/self/fd/{fd}".encode(), b"/workspace/l", AT_SYMLINK_FOLLOW))
attempt("link /proc/1/exe", lambda: linkat(-100, b"/proc/1/exe", b"/workspace/l", AT_SYMLINK_FOLLOW))
open("/workspace/a", "w").write("a")
os.link("/workspace/a", "/workspace/b")
print(os.stat("/workspace/b").st_nlink)
""")
    none_worked(found, minimum=16)
    assert found.out.endswith("\n2\n"), found
    assert {name: os.lstat(name).st_nlink for name in links} == links


# --- directories of the host that are mounted


@test("FS-35", "a socket of the host in a mounted directory cannot be connected to")
def offered_socket(box):
    path = box.offered / "socket"
    reached = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    os.chmod(path, 0o777)
    listener.listen()
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    datagrams.bind(str(box.offered / "datagrams"))
    os.chmod(box.offered / "datagrams", 0o777)
    with listener, datagrams:
        found = box.python(TRY + """
import socket
for name in ("/escape/socket", "/proc/self/root/escape/socket"):
    attempt("connect " + name, lambda: socket.socket(socket.AF_UNIX).connect(name))
attempt("send", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "/escape/datagrams"))
own = socket.socket(socket.AF_UNIX); own.bind("/tmp/own"); own.listen()
socket.socket(socket.AF_UNIX).connect("/tmp/own")
print("own works")
""")
        none_worked(found, minimum=3)
        assert "own works" in found.out, found
        readable = select.select([listener, datagrams], [], [], 0)[0]
        assert not readable, f"a connection was made: {readable}"


@test("FS-35", "directories that lead to the host or to other sandboxes cannot be mounted")
def refused_sources(box):
    other = box.sh("echo secret >s", sandbox="other")
    assert other.code == 0, other
    link = box.directory / "link"
    link.symlink_to("/run")
    wrong = []
    for source in ("/", "/proc", "/proc/self", "/sys", "/dev", "/dev/shm", "/run", link, "/var/run",
                   box.state, box.directory, box.state / ("db" if box.mode == "D" else "sandboxes")):
        found = box.sh("ls -R /data | head -c 200", options=("--mounts", f"{source}:/data"))
        if found.code == 0 or "which sandboxes may not see" not in found.err and "state directory" not in found.err:
            wrong.append((source, found))
    assert not wrong, wrong
    mine = f"{os.stat(box.state).st_ino ^ os.stat(box.state).st_dev << 40:x}"

    def own_groups():  # os.walk() passes over cgroups of other servers that vanish meanwhile
        return {name for name, _, _ in os.walk("/sys/fs/cgroup") if f"belljar-{mine}" in name}

    groups = own_groups()
    box.sh("true", options=("--mounts", "/run:/data"))
    assert not own_groups() - groups, own_groups()
    (box.directory / "harmless").mkdir(mode=0o755)
    (box.directory / "harmless/file").write_text("data\n")
    found = box.sh("cat /data/file", options=("--mounts", f"{box.directory}/harmless:/data"))
    assert found.out == "data\n", found


@test("FS-36", "a fifo of the host in a mounted directory does not connect to the host")
def offered_fifo(box):
    path = box.offered / "fifo"
    os.mkfifo(path)
    os.chmod(path, 0o777)
    host = os.open(path, os.O_RDWR | os.O_NONBLOCK)   # open for both, as a service of the host may have it
    try:
        os.write(host, b"secret of the host")
        found = box.python(TRY + """
attempt("write", lambda: os.write(os.open("/escape/fifo", os.O_WRONLY | os.O_NONBLOCK), b"from inside"))
attempt("read", lambda: print("got", os.read(os.open("/escape/fifo", os.O_RDONLY | os.O_NONBLOCK), 100)))
attempt("both", lambda: print("got", os.read(os.open("/escape/fifo", os.O_RDWR | os.O_NONBLOCK), 100)))
""")
        assert "secret" not in found.out, found
        assert os.read(host, 100) == b"secret of the host", "the sandbox read from or wrote to the fifo"
    finally:
        os.close(host)
    allowed = box.sh("mkfifo /tmp/p && (echo through >/tmp/p &) && cat /tmp/p")
    assert allowed.out == "through\n", allowed


# --- many files and long paths


@test("FS-39", "a path of one MiB does no harm (CVE-2021-33909)")
def deep_path(box):
    found = box.python("""
import ctypes, os
name = "d" * 255
for i in range(4096):
    os.mkdir(name); os.chdir(name)
for path in ("/proc/self/mountinfo", "/proc/self/maps", "/proc/self/cmdline"):
    open(path).read()
room = ctypes.create_string_buffer(1 << 21)   # not getcwd(), which falls back to walking upwards
print("cwd", ctypes.CDLL(None).syscall(79, room, len(room)))
open("deepest", "w").write("x")
print(open("deepest").read(), "made")
""", timeout=300)
    assert found.code == 0 and "x made" in found.out, found
    check_removed(box)


def sandboxes_of(box):
    """Names of the directories or ids of sandboxes that have files."""
    return sorted(on_docker.sandboxes(box.state)) if box.mode == "D" else os.listdir(box.state / "sandboxes")


def check_removed(box):
    """Checks that temporary sandboxes leave no directory.

    Belljar gives the removal of a large tree ten seconds when it exits; the next start removes the rest.
    """
    deadline = time.monotonic() + 120
    while (left := sandboxes_of(box)) and time.monotonic() < deadline:
        allowed = box.sh("true")
        assert allowed.code == 0, allowed
    assert left == [], left


@test("FS-40", "the limit on files holds")
def many_files(box):
    found = box.python("""
import os, sys, errno
made = 0
try:
    while made < 60000:
        open(f"/workspace/f{made}", "w").close(); made += 1
except OSError as error: print(errno.errorcode[error.errno])
print(made)
""", options=("--inodes", "2000"), timeout=120)
    if found.code == 0:
        assert re.match(r"(ENOSPC|EDQUOT)\n", found.out) and 500 < int(found.out.split()[1]) <= 2000, found
    else:       # without quotas files are counted from time to time, and the sandbox is killed
        assert found.code in (1, 137) and found.err, found
    check_removed(box)
    allowed = box.sh("i=0; while [ $i -lt 300 ]; do echo >f$i; i=$((i+1)); done; ls | wc -l",
                  options=("--inodes", "2000"))
    assert allowed.out == "300\n", allowed


@test("FS-41", "every writable directory has a size limit")
def fill_disk(box):
    found = box.python("""
import os, errno, resource
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))  # the soft one is below the disk limit
def fill(path, maximum):
    n = 0
    try:
        with open(path, "wb", buffering=0) as f:
            while n < maximum: n += f.write(bytes(1 << 16))
        print(path, n >> 20, "no limit")
    except OSError as error: print(path, n >> 20, errno.errorcode[error.errno])
    try: os.unlink(path)
    except OSError: pass
fill("/dev/shm/f", 300 << 20)
fill("/run/f", 300 << 20)
fill("/dev/f", 300 << 20)
""", options=("--disk", "32M", "--memory", "512M"))
    sizes = {line.split()[0]: line.split()[1:] for line in found.out.splitlines()}
    assert sizes["/dev/shm/f"] in (["64", "ENOSPC"], ["63", "ENOSPC"]), found
    assert sizes["/run/f"][1] == "ENOSPC" and int(sizes["/run/f"][0]) <= 1, found
    assert sizes["/dev/f"][1] in ("EROFS", "EACCES", "EPERM"), found
    for directory in ("/workspace", "/tmp"):
        found = box.python("""
import errno, sys
n = 0
try:
    for i in range(64):
        with open(f"{sys.argv[1]}/f{i}", "wb", buffering=0) as f:
            for j in range(128): n += f.write(bytes(1 << 16))
    print(n >> 20, "no limit")
except OSError as error: print(n >> 20, errno.errorcode[error.errno])
""", directory, options=("--disk", "32M",), timeout=120)
        if found.code == 0 and "EFBIG" in found.out:  # without quotas, when the sandbox was found to be full
            assert int(found.out.split()[0]) >= 20, found
        elif found.code == 0:
            assert re.match(r"\d+ (ENOSPC|EDQUOT)", found.out) and int(found.out.split()[0]) <= 33, found
        else:
            assert found.code in (1, 137) and found.err, found
    check_removed(box)
    allowed = box.sh("head -c 8000000 /dev/zero >f && wc -c <f", options=("--disk", "32M"))
    assert allowed.out == "8000000\n", allowed


@test("FS-42", "file names in messages cannot control a terminal or a log")
def strange_names(box):
    names = ["\x1b[31mred", "%s%n%n", "-rf", "a\nb", "x" * 255, "\u202egnp", "\x07\x9b2J"]
    found = box.python("""
import os, sys
for name in sys.argv[1:] + [b"\\xff\\xfe\\x80"]: open(name, "w").close()
os.mkdir(b"d\\xff\\n"); open(b"d\\xff\\n/f", "w").close()
print(len(os.listdir(".")))
""", *names, sandbox="x")
    assert found.out == "9\n", found
    kept = box.python("import os; print(len(os.listdir('.')))", sandbox="x")
    assert kept.out == "9\n", kept
    for name in names + ["\x1b]0;title\x07"]:
        found = box.exec(name)
        assert found.code != 0 and found.err, found
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", found.err), repr(found.err)
        assert found.err.count("\n") <= 2, repr(found.err)
    assert "no-such-program" in box.exec("no-such-program").err


# --- files of the kernel


@test("FS-43", "files cannot be opened by handle (shocker)")
def by_handle(box):
    for calls in ("standard", "debug"):
        none_worked(box.c("fs_handle", str(box.canary), options=("--calls", calls)), minimum=1)
    assert box.sh("stat -c %i /etc/passwd").out.strip().isdigit()


SYSCTLS = ["kernel/core_pattern", "kernel/modprobe", "kernel/hotplug", "kernel/sysrq", "kernel/panic",
           "kernel/hostname", "kernel/ns_last_pid", "kernel/randomize_va_space", "kernel/yama/ptrace_scope",
           "kernel/unprivileged_bpf_disabled", "vm/overcommit_memory", "vm/drop_caches", "vm/mmap_min_addr",
           "fs/suid_dumpable", "fs/protected_symlinks", "fs/binfmt_misc/register", "fs/mqueue/msg_max",
           "user/max_user_namespaces", "user/max_mnt_namespaces", "net/ipv4/ip_forward",
           "net/ipv4/ping_group_range", "kernel/keys/maxkeys", "kernel/shmmax"]


def host_settings():
    found = {}
    for name in SYSCTLS + ["../sysrq-trigger"]:
        if name != "kernel/ns_last_pid":
            with contextlib.suppress(OSError):
                found[name] = pathlib.Path("/proc/sys", name).read_text()
    return found


@test("FS-44", "no sysctl can be written")
def write_settings(box):
    before = host_settings()
    found = box.python(TRY + """
for name in sys.argv[1:]:
    for top in ("/proc/sys/", "/proc/1/root/proc/sys/", "/proc/self/root/proc/sys/"):
        attempt(top + name, lambda: os.write(os.open(top + name, os.O_WRONLY), b"0"))
for name in ("sysrq-trigger", "irq/default_smp_affinity", "bus/pci/devices", "1/oom_score_adj", "1/coredump_filter",
             "1/uid_map", "1/comm", "1/autogroup", "1/clear_refs"):
    attempt(name, lambda: os.write(os.open("/proc/" + name, os.O_WRONLY), b"1"))
print(open("/proc/sys/kernel/osrelease").read().strip(), open("/proc/sys/kernel/pid_max").read().strip())
""", *SYSCTLS)
    none_worked(found, minimum=3 * len(SYSCTLS))
    # Other programs of the host may change settings meanwhile: a Docker daemon that starts sets ip_forward to 1.
    changed = {name: text for name, text in host_settings().items() if text != before.get(name)}
    assert not [name for name, text in changed.items() if text.split()[:1] == ["0"]], changed
    assert found.out.split()[-2] == os.uname().release, found


@test("FS-45", "no sysfs and no cgroup file system is reachable")
def write_sysfs(box):
    found = box.python(TRY + """
paths = ["/sys/kernel/uevent_helper", "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/memory/release_agent",
         "/sys/fs/cgroup/cgroup.procs", "/sys/power/state", "/sys/kernel/mm/ksm/run",
         "/sys/class/net", "/sys/firmware", "/sys/module", "/sys/kernel/debug", "/sys/kernel/tracing",
         "/sys/fs/bpf", "/sys/block", "/sys/devices/virtual", "/sys/class/dmi/id/product_name"]
for path in paths:
    attempt("look at " + path, lambda: os.stat(path))
    attempt("write " + path, lambda: os.open(path, os.O_WRONLY))
""")
    none_worked(found, minimum=30)
    process = box.start("sh", "-c", "echo ready; cat", stdin=subprocess.PIPE)
    box.wait_for(process, "ready")
    types = {row[4] for row in mounts_of(box.processes(process)[0])}
    # Docker mounts them, and covers /sys with a tmpfs.
    assert box.mode == "D" or types <= {"overlay", "tmpfs", "devtmpfs", "devpts", "proc"}, types
    assert int(box.sh("nproc").out) >= 1, "nproc does not work"


@test("FS-46", "every mount in a sandbox has the required attributes")
def mounts_from_outside(box):
    process = box.start("sh", "-c", "echo ready; cat", stdin=subprocess.PIPE)
    box.wait_for(process, "ready")
    writable = {"/", "/dev/shm", "/run", "/dev/pts", "/proc"}
    rows = mounts_of(box.processes(process)[0])
    for device, root, place, options, kind in rows:
        assert "nosuid" in options, (place, options)
        if not place.startswith("/dev"):
            assert "nodev" in options or root == "/null", (place, options)
        if place.startswith(("/proc", "/dev")) and place != "/dev/shm" and root != "/empty":
            assert "noexec" in options, (place, options)
        if place not in writable and kind != "devtmpfs":
            assert "ro" in options, (place, options)
    places = [row[2] for row in rows]
    for place in ("/proc/sys", "/proc/kallsyms", "/proc/kmsg", "/proc/keys", "/usr", "/escape", "/dev"):
        assert place in places, place
    # Belljar's own mounts are in a namespace of their own and not visible on the host.
    host = pathlib.Path("/proc/1/mountinfo").read_text()
    assert str(box.directory) not in host and "upperdir=upper" not in host
