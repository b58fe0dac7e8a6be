#!/usr/bin/env python3
"""run.py [--mode RUS] [--only FS,PR-02] [--long] [--exhaustion without] - attacks belljar's sandboxes from inside.

Prints TAP while it runs, and a table of all results at the end. A test that fails is run once more at the end,
with nothing of this suite beside it, and named if it passes then. Needs root: it runs belljar as root and
as two other users, of whom one gets subordinate ids. It runs in a mount namespace of its own, so that
/etc/subuid and /etc/passwd of the machine are not changed. A test for both ordinary users, U and S,
runs as one of them, in turn; --long runs it as both, and adds tests that take minutes. --exhaustion leaves
out the tests that use up the machine, or runs only those.
"""
import argparse
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402
import on_docker  # noqa: E402

HERE = harness.HERE
DOCKER_PROCESSES = 3


def copy_programs(directory):
    """Copies all programs to where every user may read them. make has compiled the C programs."""
    directory.mkdir()
    for source in sorted((HERE / "programs").glob("*/*.c")):
        shutil.copy(HERE.parents[1] / "build/escape" / source.stem, directory / source.stem)
    for source in sorted((HERE / "programs").glob("*/*.py")):
        shutil.copy(source, directory / source.name)
        os.chmod(directory / source.name, 0o755)


def give_subordinate_ids(directory):
    """Gives user U subordinate ids, by files that are mounted over /etc/subuid and /etc/subgid in a mount
    namespace of this process."""
    if os.environ.get("BELLJAR_ESCAPE_UNSHARED") != "1":
        os.environ["BELLJAR_ESCAPE_UNSHARED"] = "1"
        shutil.rmtree(directory)
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    for name in ("subuid", "subgid"):
        path = directory / name
        path.write_text(f"{harness.MODES['U']['uid']}:{harness.SUBORDINATE_FIRST}:"
                        f"{harness.SUBORDINATE_COUNT}\n")
        pathlib.Path(f"/etc/{name}").touch()
        subprocess.run(["mount", "--bind", str(path), f"/etc/{name}"], check=True)
    # newuidmap looks the user up by name.
    users = "".join(f"escape{mode}:x:{user['uid']}:{user['uid']}::/:/bin/sh\n"
                    for mode, user in harness.MODES.items() if user["uid"])
    (directory / "passwd").write_text(pathlib.Path("/etc/passwd").read_text() + users)
    subprocess.run(["mount", "--bind", str(directory / "passwd"), "/etc/passwd"], check=True)


def is_selected(test, only):
    return not only or any(test["number"] == o or test["number"].startswith(o + "-") for o in only)


def remove(directory):
    """With rm: sandboxes may leave directories nested deeper than shutil.rmtree() can follow."""
    subprocess.run(["rm", "-rf", "--", str(directory)], stderr=subprocess.DEVNULL)


def run_one(test, mode, belljar, top):
    directory = pathlib.Path(tempfile.mkdtemp(dir=top))
    os.chmod(directory, 0o755)
    box = harness.Box(mode, belljar, directory)
    leftovers = harness.Leftovers(box)
    try:
        test["run"](box)
        box.finish()
        leftovers.check()
        box.check_canary()
        return None
    except Exception as error:  # a test that could not be carried out has not passed
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{frame.name}:{frame.lineno}: {frame.line}\n{type(error).__name__}: {error}"
    finally:
        box.finish()
        remove(directory)


def run_mode(options, mode):
    """Runs all tests of one mode, one after the other. Prints TAP without a plan."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="belljar-escape-"))
    os.chmod(top, 0o755)
    give_subordinate_ids(top)
    belljar = top / "belljar"  # other users cannot read the build directory
    shutil.copy(options.belljar, belljar)
    os.chmod(belljar, 0o755)
    harness.adopt_orphans()
    part, parts = map(int, options.share.split("/"))
    try:
        copy_programs(top / "programs")
        for test in selected_tests(options)[part::parts]:
            if not runs_in(options, test, mode) or runs_alone(test) != options.alone:
                continue
            begin = time.monotonic()
            why = run_one(test, mode, belljar, top)
            print(f"{'not ok' if why else 'ok'} - {test['number']} {mode} {test['what']} "
                  f"# {time.monotonic() - begin:.2f} s", flush=True)
            for line in (why or "").splitlines()[:60]:
                print(f"#   {line[:1000]}", flush=True)
    finally:
        remove(top)


def runs_in(options, test, mode):
    """Whether the test runs in the mode: U and S differ little, so that without --long, and if both are asked
    for, every second test runs as S and the others as U."""
    if not harness.applies(test, mode):
        return False
    both = set("US") <= set(test["modes"]) and set("US") <= set(options.mode)
    return options.long or not both or mode not in "US" or mode == "US"[harness.TESTS.index(test) % 2]


def runs_alone(test):
    """Tests of exhaustion load the machine; no other test of this suite runs beside them."""
    return test["number"].startswith("RX")


def load_tests():
    for module in sorted(HERE.glob("attack_*.py")):
        importlib.import_module(module.stem)


def selected_tests(options):
    only = [word for word in options.only.split(",") if word]
    kinds = {"with": [False, True], "without": [False], "only": [True]}[options.exhaustion]
    return [test for test in harness.TESTS if is_selected(test, only)
            and options.what in ("", f"{test['number']} {test['what']}") and runs_alone(test) in kinds and (options.long or not test["long"])]


def forward_output(process, results, failed, lock):
    """Prints the output of one mode, with test numbers that count all modes. A failure is a remark at first if
    there is a list for it; otherwise it is final."""
    for line in process.stdout:
        with lock:
            if failed is not None and line.startswith("not ok - "):
                failed.append(line.rsplit(" # ", 1)[0].split(" ", 5)[3:])  # number, mode, what
                line = f"# {line}"
            elif line.startswith(("ok", "not ok")):
                results.append(line)
                line = line.replace("ok -", f"ok {len(results)} -", 1)
            print(line, end="", flush=True)


def print_table(options, results):
    passed = {line.split(" # ")[0].split(" - ", 1)[1]: line.startswith("ok") for line in results}
    modes = options.mode
    print("#\n# " + f"{'test':8}{'what is checked':64}" + "".join(f"{mode:>8}" for mode in modes))
    for test in sorted(selected_tests(options), key=lambda test: test["number"]):
        row = ""
        for mode in modes:
            key = f"{test['number']} {mode} {test['what']}"
            row += f"{'-' if not runs_in(options, test, mode) else 'ok' if passed.get(key) else 'FAILED':>8}"
        print(f"# {test['number']:8}{test['what'][:62]:64}{row}")
    if "D" in modes:
        for test in selected_tests(options):
            if why := on_docker.why_not(test):
                print(f"# {test['number']:8}not on docker: {test['what'][:60]}: {why}")
    only = [word for word in options.only.split(",") if word]
    for number, why in sorted(harness.NOT_TESTED):
        if is_selected(dict(number=number), only) and options.exhaustion != "only":
            print(f"# {number:8}not tested here: {why}")


def run_together(options, modes, more, results, failed=None):
    """Runs one process for each mode at the same time: the modes are different users. Mode D, which mostly
    waits for the daemon, has several processes."""
    line = [sys.executable, __file__, "--mode", options.mode, "--only", options.only, "--belljar",
            options.belljar, *more, *["--long"] * options.long]
    shares = [(mode, f"{k}/{n}") for mode in modes
              for n in [DOCKER_PROCESSES if mode == "D" and "--alone" not in more else 1] for k in range(n)]
    parts = [subprocess.Popen([*line, "--part", mode, "--share", share], stdout=subprocess.PIPE, text=True,
                              errors="replace") for mode, share in shares]
    lock = threading.Lock()
    readers = [threading.Thread(target=forward_output, args=(part, results, failed, lock)) for part in parts]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    return [part.wait() for part in parts]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", default="RUS")
    parser.add_argument("--only", default="")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--exhaustion", choices=["with", "without", "only"], default="with",
                        help="tests that load the machine: with them, without them, or nothing else")
    parser.add_argument("--part", default="", help=argparse.SUPPRESS)
    parser.add_argument("--what", default="", help=argparse.SUPPRESS)
    parser.add_argument("--share", default="0/1", help=argparse.SUPPRESS)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--belljar", default=str(harness.ROOT / "build" / "belljar"))
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("run.py: needs root")
    load_tests()
    if options.part:
        run_mode(options, options.part)
        return
    results, statuses, failed = [], [], []
    if options.exhaustion != "only":
        statuses += run_together(options, options.mode, [], results, failed)
    for mode in options.mode if options.exhaustion != "without" else "":
        statuses += run_together(options, mode, ["--alone"], results, failed)
    for number, mode, what in failed:
        alone = ["--alone"] if runs_alone(dict(number=number)) else []
        statuses += run_together(options, mode, [*alone, "--what", f"{number} {what}"], results)
        if results[-1].startswith("ok"):
            print(f"# UNSTEADY {number} {mode} {what}: failed beside others, passed alone", flush=True)
    failures = sum(line.startswith("not") for line in results)
    print(f"1..{sum(len([m for m in options.mode if runs_in(options, t, m)]) for t in selected_tests(options))}")
    print_table(options, results)
    print(f"# {len(results) - failures} passed, {failures} failed; "
          "'-': the test does not apply to that mode, or ran as the other user")
    sys.exit(1 if failures or any(statuses) else 0)


if __name__ == "__main__":
    main()
