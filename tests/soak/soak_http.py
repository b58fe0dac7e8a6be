#!/usr/bin/env python3
"""soak_http.py [--seconds 3600] [--users 20] [--think 0] - many users of one server over HTTP for a long time.

Each user has a token and mixes calls in a session; streams are opened and cut, sessions ended or abandoned,
and users try the names of each other's sandboxes. After each round the users pause, delete their sandboxes,
and the server is measured. The soak fails if a call is not answered as expected, if a user sees another one's
sandbox, if something is left after a round or at the end, or if the server grows beyond an allowance. With
--think, users wait so many seconds between their calls on average, so that a long soak leaves the machine to others.
"""
import argparse
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import soak_calls as calls
from http_client import HttpClient
from samples import Host, Series, adopt_orphans, measure_server
from soak import ALLOWED, ROOT, Soak, check
from soak_client import END_SECONDS, ServerGone, Stuck

PAUSE_SECONDS = 2  # for janitors and spares that are ending
ROUNDS_MIN = 4  # fewer show no growth
# copies() needs directories of the host, which users of a shared server do not have.
KINDS = {kind: count for kind, count in calls.KINDS.items() if kind is not calls.copies}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class HttpSoak:
    def __init__(self, options):
        self.options = options
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="belljar-soak-http-"))
        os.chmod(self.top, 0o755)
        self.state = self.top / "state"
        self.state.mkdir()
        self.log = open(self.top / "log", "w", encoding="utf-8")
        self.tokens = [self.add_token(f"user{i}") for i in range(options.users)]
        self.port = free_port()
        self.host, self.quiet, self.all = Host(self.state), Series(), Series()
        self.server = subprocess.Popen(
            [str(options.belljar), "serve", "--http", f"127.0.0.1:{self.port}", "--auth", "token",
             "--token-file", str(self.top / "tokens"), "--state-dir", str(self.state)],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd="/")
        self.wait_ready()
        self.until = time.monotonic() + options.seconds
        self.wrong, self.done, self.lock, self.is_over = [], {}, threading.Lock(), False
        self.pause = threading.Barrier(options.users, self.measure)

    def add_token(self, user):
        out = subprocess.run([str(self.options.belljar), "token", "add", user, "--token-file",
                              str(self.top / "tokens")], check=True, capture_output=True, text=True).stdout
        return re.search(r"\bbj_\w+", out).group()

    def wait_ready(self):
        for _ in range(400):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.05)
        raise RuntimeError("the server does not listen")

    def measure(self):
        """Called by the last user that has ended its round, while all others wait."""
        time.sleep(PAUSE_SECONDS)
        rows = self.host.database()[1]
        self.quiet.add(measure_server(self.server.pid) | {
            "processes": len(self.host.processes()), "cgroups": len(self.host.groups()),
            "directories": len(self.host.directories()), "rows of sandboxes": rows.get("sandboxes", 0),
            "rows": sum(rows.values())})
        self.is_over = time.monotonic() >= self.until and len(self.quiet.points["rows"]) >= ROUNDS_MIN

    def think(self, dice):
        time.sleep(dice.uniform(0, 2 * self.options.think))

    def note(self, what, wrong):
        with self.lock:
            self.done[what] = self.done.get(what, 0) + 1
            if wrong:
                self.wrong.append(f"{what}: {wrong}")

    def guess(self, client, dice, own):
        """The name of another user's sandbox is as unknown as any other."""
        other = f"u{dice.choice([i for i in range(self.options.users) if i != own])}"
        answer = calls.text_of(client.call("run_command", command="ls", sandbox=other))
        self.note("guess", None if "there is no sandbox" in answer else answer[:300])

    def play_round(self, client, dice, number):
        name = f"u{number}"
        self.note("create", calls.expect(client.call(
            "create_sandbox", name=name, memory_mb=calls.MEMORY, disk_mb=calls.DISK, pids=calls.PIDS,
            cpus=1, idle_s=1 if dice.random() < 0.3 else 900), name))
        for _ in range(dice.randrange(5, 15)):
            kind = dice.choices(list(KINDS), list(KINDS.values()))[0]
            if kind is calls.sleep_and_wake and dice.random() < 0.7:
                continue
            self.think(dice)
            self.note(kind.__name__, kind(client, name))
            if dice.random() < 0.2:
                connection, status = client.open_stream()
                self.note("stream", None if status in (200, 409) else f"status {status}")
                connection.close()
        self.guess(client, dice, number)
        self.note("delete", calls.expect(client.call("delete_sandbox", sandbox=name), "deleted"))

    def play(self, number):
        dice = random.Random(self.options.seed + number)
        client = HttpClient(self.port, self.tokens[number])
        while not self.is_over:
            try:
                self.play_round(client, dice, number)
                if dice.random() < 0.3:  # some sessions are ended, others abandoned
                    if dice.random() < 0.5:
                        client.close()
                    client = HttpClient(self.port, self.tokens[number])
            except (ServerGone, Stuck):
                self.note("client", traceback.format_exc())
            self.pause.wait(600)

    def run_user(self, number):
        try:
            self.play(number)
        except Exception:  # a user that stops is a failed soak, not a silent one
            self.note("user", traceback.format_exc())
            self.pause.abort()

    reap_adopted, find_leftovers = Soak.reap_adopted, Soak.find_leftovers

    def run(self):
        users = [threading.Thread(target=self.run_user, args=(i,), daemon=True) for i in range(self.options.users)]
        for user in users:
            user.start()
        while any(user.is_alive() for user in users):
            self.all.add(self.host.measure())
            time.sleep(5 + self.options.think)
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(END_SECONDS)
        return self.find_leftovers()


# What may be left between two rounds. Processes and cgroups are those of the server itself and of the spare
# sandbox that it keeps ready.
LEFT = {"processes": 8, "cgroups": 12, "directories": 2, "rows of sandboxes": 0}


def find_left_between(quiet):
    """What was left between the rounds in the median, so that a janitor which is late once does not count."""
    return {name: seen for name, most in LEFT.items() if (seen := quiet.median(name)) > most}


def report(soak, left):
    soak.quiet.print_table("the server between the rounds")
    soak.all.print_table("the host")
    print("# calls: " + ", ".join(f"{name} {count}" for name, count in sorted(soak.done.items())))
    results = []
    check(results, "every call is answered as expected", "\n".join(soak.wrong))
    check(results, "the server exits with success", soak.server.returncode)
    check(results, "nothing is left at the end", left)
    check(results, f"nothing is left between the rounds beyond {LEFT}", find_left_between(soak.quiet))
    check(results, "no zombie is left for a minute", max(value for _, value in soak.all.points["zombies of 60 s"]))
    # A connection of each user may have been kept or not.
    allowed = ALLOWED | {"server descriptors": ALLOWED["server descriptors"] + soak.options.users}
    grown = {name: soak.quiet.growth(name) for name in allowed if soak.quiet.growth(name) > allowed[name]}
    check(results, f"the server does not grow beyond {allowed}", grown)
    print(f"1..{len(results)}")
    return all(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=int(os.environ.get("SOAK_SECONDS", "3600")))
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--think", type=float, default=0, help="mean seconds between the calls of a user")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the choice of calls")
    parser.add_argument("--belljar", type=pathlib.Path, default=ROOT / "build/belljar")
    parser.add_argument("--keep", action="store_true", help="keep the state directory and the server's messages")
    options = parser.parse_args()
    options.belljar = options.belljar.resolve()
    adopt_orphans()
    soak = HttpSoak(options)
    print(f"# {options.seconds} s, {options.users} users, --seed {options.seed}, {soak.top}", flush=True)
    passed = report(soak, soak.run())
    if not options.keep:
        shutil.rmtree(soak.top, ignore_errors=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
