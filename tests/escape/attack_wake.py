"""Attacks on the next start of a sandbox: it leaves links, fifos and closed directories where something
is mounted or written when it wakes. Nothing outside the sandbox may be touched, and belljar either wakes
the sandbox or reports what is in the way.
"""
import os
import pathlib
import re
import subprocess

from attack_files import TRY, mounts_of, none_worked, fingerprints
from harness import test


def outside(box):
    """Creates a directory of the host that links will lead to. Returns its path and fingerprints."""
    path = box.directory / "outside"
    path.mkdir()
    (path / "file").write_text("outside\n")
    os.chown(path, box.uid, box.uid)
    os.chmod(path, 0o777)
    os.chmod(path / "file", 0o666)
    return path, fingerprints(path)


def check_works_or_reports(found, works):
    """Either the sandbox works, or belljar failed with a message that names a path."""
    if found.code == 0:
        assert works in found.out, found
    else:
        assert re.match(r"belljar: .*/\w+.*\n", found.err), found
        assert "Success" not in found.err, found


@test("FS-05", "a link in place of the working directory does not lead to the host")
def workspace_is_link(box):
    path, before = outside(box)
    targets = ("/proc/self/fd/3", "/proc/self/fd/0", "/proc/1/root", "/proc/1/cwd", "/proc/thread-self/fd/4",
               "/proc/self/root", str(path), "../../../../../.." + str(path), "/dev/fd/5", "/workspace")
    for number, target in enumerate(targets):
        name = f"w{number}"
        made = box.sh(f"cd / && rmdir /workspace && ln -s {target} /workspace && readlink /workspace", sandbox=name,
                      options=("--no-quota",))  # its files are in a directory, not in a disk image
        if box.mode == "S":
            assert made.out == target + "\n", made
        else:  # programs may not change /; the sandbox may have been made when they could
            assert made.code != 0, made
            newest = max((box.state / "sandboxes").glob("sb_*"), key=lambda path: path.stat().st_ctime_ns)
            (newest / "upper/workspace").rmdir()
            (newest / "upper/workspace").symlink_to(target)
        found = box.sh("pwd -P; cat file ../file 2>/dev/null; ls -la . | head -3", sandbox=name)
        assert "outside" not in found.out.replace(str(path), ""), found
        if found.code == 0:
            assert "unreachable" not in found.out, found
        else:
            assert "cwd" in found.err or "/workspace" in found.err, found
    assert fingerprints(path) == before
    kept = box.sh("echo mine >file", sandbox="harmless")
    assert kept.code == 0 and box.sh("cat file", sandbox="harmless").out == "mine\n"


# Paths on which the set-up mounts or writes something.
PLACES = ("/tools", "/skills", "/escape", "/later", "/etc", "/etc/resolv.conf", "/tmp", "/var", "/home", "/run",
          "/proc", "/dev", "/usr", "/sys", "/bin", "/lib", "/lib64", "/mnt", "/opt")

REPLACE = TRY + """
import shutil
to, kind, *places = sys.argv[1:]
def replace(path):
    moved = path + ".old"
    try: os.rename(path, moved)
    except OSError as error:
        if error.errno == errno.ENOENT: pass
        elif error.errno == errno.EXDEV: shutil.rmtree(path) if not os.path.islink(path) else os.unlink(path)
        else: raise
    if kind == "link": os.symlink(to, path)
    elif kind == "dangling": os.symlink(to + "/new/deep", path)
    elif kind == "fifo": os.mkfifo(path)
    elif kind == "file": open(path, "w").close()
    elif kind == "closed": os.mkdir(path); os.chmod(path, 0)
for place in places: attempt(place, lambda: replace(place))
"""


def replace_and_wake(box, kind, path, places, options, script, works):
    name = kind + re.sub(r"\W", "", "".join([str(path)[-20:], *places]))
    made = box.python(REPLACE, str(path), kind, *places, sandbox=name)
    assert made.code == 0, made
    done = {line.split(":")[0] for line in made.out.splitlines() if line.endswith("DONE")}
    found = box.sh(script, sandbox=name, options=options)
    check_works_or_reports(found, works)
    return done


@test("FS-13", "links, fifos and files on mount points do not lead to the host (CVE-2026-87766)")
def replaced_places(box):
    path, before = outside(box)
    tools = box.directory / "tools"
    tools.mkdir()
    (tools / "tool").write_text("a tool\n")
    given = fingerprints(tools)
    options = ("--tools-dir", str(tools), "--mounts", f"{tools}:/opt/later/deep")
    done = set()
    # The last targets exist during set-up only, in the mount tree of the spawner.
    for kind, to in (("link", path), ("dangling", path), ("fifo", ""), ("file", ""), ("closed", ""),
                     ("link", "/disk"), ("link", "/disk/sandboxes"), ("link", "/mounts/0"), ("link", "/skeleton"), ("link", "/proc/1/root")):
        for place in ("/tools", "/opt/later", "/mnt") if to in (path, "") else ("/opt/later",):
            done |= replace_and_wake(box, kind, to, [place], options, "cat /proc/version; echo works", "works")
        assert fingerprints(path) == before and fingerprints(tools) == given, kind
        names = [name for name in os.listdir(box.state / "sandboxes") if not re.match("s[bp]_", name)]
        assert not names, f"created on the host: {names}"
    assert "/opt/later" in done, "no path could be replaced, so that nothing was tested"
    allowed = box.sh("echo mine >/tmp/f", sandbox="harmless")
    assert allowed.code == 0, allowed
    allowed = box.sh("cat /tmp/f /tools/tool /opt/later/deep/tool", sandbox="harmless", options=options)
    assert allowed.out == "mine\na tool\na tool\n", allowed


@test("FS-11", "replacing all mount points at once does no harm (CVE-2025-52881, CVE-2019-19921)")
def replaced_everything(box):
    path, before = outside(box)
    core = pathlib.Path("/proc/sys/kernel/core_pattern").read_text()
    for number, to in enumerate((str(path), "/proc/sys/kernel", "/proc/1/root", "../../../.." + str(path))):
        for kind in ("link", "closed"):
            wake_all(box, f"{kind}{number}", kind, to)
    assert fingerprints(path) == before
    assert pathlib.Path("/proc/sys/kernel/core_pattern").read_text() == core
    assert box.sh("echo fine").out == "fine\n"


def wake_all(box, name, kind, to):
    made = box.python(REPLACE, to, kind, *PLACES, sandbox=name)
    assert made.code == 0, made
    process = box.start("/escape/pv_whoami", sandbox=name, stdin=subprocess.PIPE)
    line = process.stdout.readline()
    if line:            # the sandbox woke: check its mounts
        box.wait_for(process, "ready")
        agent = box.processes(process)[0]
        places = {row[2]: row[4] for row in mounts_of(agent)}
        assert places["/proc"] == "proc" and places["/dev"] == "tmpfs" and places["/"] == "overlay", places
        assert places["/usr"] in ("overlay", "ext4") and "/proc/sys" in places, places
    _, err = process.communicate(timeout=60)
    box.running.remove(process)
    assert line or re.match(r"belljar: .*/\w+", err), err


@test("FS-12", "mount points cannot be moved or removed (and FS-16)")
def moved_mount_points(box):
    found = box.python(TRY + """
for place in ("/dev", "/proc", "/usr", "/run", "/escape", "/dev/null", "/dev/shm", "/dev/pts", "/proc/sys", "/proc/kmsg"):
    attempt("rename " + place, lambda: os.rename(place, "/moved"))
    attempt("remove " + place, lambda: os.rmdir(place))
    attempt("unlink " + place, lambda: os.unlink(place))
for place in ("/dev/null", "/dev/fd", "/dev/stdin", "/dev/ptmx"):
    attempt("replace " + place, lambda: os.symlink("/tmp/x", place + "2"))
    attempt("unlink " + place, lambda: os.unlink(place))
os.mkdir("/tmp/d"); os.rename("/tmp/d", "/tmp/e"); os.rmdir("/tmp/e"); print("own works")
""")
    none_worked(found, minimum=30)
    assert "own works" in found.out, found


@test("FS-14", "a sandbox that is awake is not set up a second time (CVE-2021-30465, and FS-15)")
def awake_once(box):
    process = box.start("sh", "-c", "echo ready; cat", sandbox="x", stdin=subprocess.PIPE)
    box.wait_for(process, "ready")
    found = box.sh("echo second", sandbox="x")
    assert found.code == 1 and "second" not in found.out and "another server" in found.err, found
    out, _ = process.communicate("still here\n", timeout=60)
    box.running.remove(process)
    assert out == "still here\n"
    assert box.sh("echo second", sandbox="x").out == "second\n"


@test("FS-31", "forged attributes of overlayfs have no effect")
def planted_marks(box):
    none_worked(box.c("fs_devices", "/workspace", sandbox="x"), minimum=10)
    planted = box.python(TRY + """
os.makedirs("/workspace/d/e"); open("/workspace/d/f", "w").write("mine")
os.makedirs("/opt/x", exist_ok=True)
for path in ("/workspace/d", "/workspace/d/f", "/opt/x", "/workspace"):
    for prefix in ("user.overlay.", "user.overlay.overlay.", "trusted.overlay."):
        for name, value in (("opaque", b"y"), ("opaque", b"x"), ("redirect", b"/../../../../etc"), ("redirect", b"etc"),
                            ("metacopy", b""), ("origin", bytes(29)), ("whiteout", b"y"), ("xwhiteouts", b"y"),
                            ("impure", b"y"), ("nlink", b"U+5"), ("upper", bytes(29)), ("uuid", bytes(16))):
            attempt(f"{path} {prefix}{name} {value[:9]}", lambda: os.setxattr(path, prefix + name, value))
""", sandbox="x")
    assert planted.code == 0, planted
    found = box.sh("cat /workspace/d/f; ls -R /workspace/d /opt/x; ls -ld /workspace/d; echo works", sandbox="x")
    assert found.code == 0 and found.out.startswith("mine"), found
    assert "passwd" not in found.out and "works" in found.out, found
    assert box.sh("echo new >/workspace/d/f && rm -r /workspace/d && echo gone", sandbox="x").out == "gone\n"


@test("FS-16", "a sandbox without access to its own directories harms only itself")
def closed_root(box):
    # The user owns the root in some modes and may remove all access; belljar reports that.
    for name, script in (("root", "chmod 0 /"), ("workspace", "chmod 0 /workspace"), ("home", "chmod 0 $HOME"),
                         ("nobody", "mkdir -p /workspace/a/b && chmod 0 /workspace/a/b /workspace/a")):
        box.sh(script, sandbox=name)
        found = box.sh("cd / && echo works", sandbox=name)
        check_works_or_reports(found, "works")
        if name in ("workspace", "home"):
            assert box.sh("echo again >f && cat f", sandbox=name).out == "again\n", name
    assert box.sh("echo fine", sandbox="home2").out == "fine\n"
