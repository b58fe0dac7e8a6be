#!/usr/bin/env python3
"""soak.py [--seconds 1800] - mixed calls by several clients for a long time, and what is left of them.

Each client is one server over stdio; all share a state directory. Client 0 is steady: its server lives as
long as the soak, and after each round it deletes its sandboxes and the server is measured. The other clients
also vanish, and their servers are killed. At the end all sandboxes are deleted and all servers ended.

Prints a table of what was measured and TAP. The soak fails if a call is not answered, if an answer is wrong,
if something is left at the end, or if the steady server grows beyond an allowance. SOAK_SECONDS is the
default of --seconds. The memory of the host is shown and not judged: other programs use it too.
"""
import argparse
import contextlib
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

import soak_calls as calls
from soak_client import Client, ServerGone, Stuck
from samples import Host, Series, adopt_orphans, measure_server

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE_SECONDS = 5
# What the steady server may grow by between its quiet moments, from the first third to the last.
ALLOWED = {"server memory KiB": 8192, "server threads": 0, "server descriptors": 8,
           "spawner memory KiB": 4096, "spawner threads": 0, "spawner descriptors": 16, "spawner mounts": 8,
           "porter memory KiB": 4096, "porter threads": 0, "porter descriptors": 8}


class Soak:
    def __init__(self, options):
        self.options = options
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="belljar-soak-"))
        os.chmod(self.top, 0o755)
        self.state, self.shared = self.top / "state", self.top / "shared"
        self.state.mkdir()
        (self.shared / "in").mkdir(parents=True)
        for i in range(50):
            (self.shared / "in" / f"f{i}").write_text("text\n" * 100)
        self.log = open(self.top / "log", "w", encoding="utf-8")
        self.until = time.monotonic() + options.seconds
        self.host, self.quiet, self.all = Host(self.state), Series(), Series()
        self.wrong, self.done, self.lock = [], {}, threading.Lock()

    def is_over(self):
        return time.monotonic() >= self.until

    def note(self, what, wrong):
        with self.lock:
            self.done[what] = self.done.get(what, 0) + 1
            if wrong:
                self.wrong.append(f"{what}: {wrong}")

    # --- clients

    def connect(self):
        client = Client([str(self.options.belljar), "serve", "--state-dir", str(self.state),
                         "--allow-path", str(self.shared), "--log-level", "warning"], self.log)
        client.shared = self.shared
        return client

    def play_round(self, client, dice, prefix):
        """Some sandboxes, many calls. Returns the names of the sandboxes."""
        names = [f"{prefix}-{i}" for i in range(dice.randrange(1, 4))]
        idle = {name: 1 if i == 0 else 900 for i, name in enumerate(names)}
        for name in names:
            self.note("create", calls.expect(client.call(
                "create_sandbox", name=name, memory_mb=calls.MEMORY, disk_mb=calls.DISK, pids=calls.PIDS,
                cpus=1, idle_s=idle[name]), name))
        for _ in range(dice.randrange(10, 40)):
            if self.is_over():
                break
            kind, name = calls.choose(dice), dice.choice(names)
            if kind is calls.sleep_and_wake:
                name = names[0]
            self.note(kind.__name__, kind(client, name))
        return names

    def delete(self, client, names):
        for name in names:
            self.note("delete", calls.expect(client.call("delete_sandbox", sandbox=name), "deleted"))

    def play_steady(self):
        client, dice, rounds = self.connect(), random.Random(self.options.seed), 0
        while not self.is_over():
            self.delete(client, self.play_round(client, dice, f"steady-{rounds}"))
            time.sleep(2)  # for janitors and spares that are ending
            self.quiet.add(measure_server(client.server.pid))
            rounds += 1
        client.close()

    def play_restless(self, number):
        dice, rounds, left = random.Random(self.options.seed + number), 0, []
        while not self.is_over():
            client, end = self.connect(), dice.choice(("close", "vanish", "kill", "kill in a call"))
            with contextlib.suppress(ServerGone):
                if end == "kill in a call":
                    threading.Timer(dice.uniform(0, 10), client.server.send_signal, [signal.SIGKILL]).start()
                names = self.play_round(client, dice, f"c{number}-{rounds}")
                # Half of the sandboxes are left for a later server, which may find them awake.
                if dice.random() < 0.5:
                    self.delete(client, names)
                else:
                    left += names
                if len(left) > 10:
                    self.delete(client, [left.pop(0), left.pop(0)])
                if end != "close":
                    client.start_call("run_command", command="sleep 600", sandbox=names[0])
            self.note(f"end by {end}", None)
            {"close": client.close, "vanish": client.vanish}.get(end, client.kill)()
            rounds += 1

    def run_client(self, play, *arguments):
        try:
            play(*arguments)
        except (Stuck, ServerGone) as error:
            self.note("client", f"{type(error).__name__} {error}")
        except Exception:  # a client that stops is a failed soak, not a silent one
            self.note("client", traceback.format_exc())

    # --- the end

    def delete_all(self):
        """Deletes every sandbox, those of killed servers included."""
        client = self.connect()
        while True:
            listed = client.call("list_sandboxes", limit=100)["structuredContent"]["sandboxes"]
            if not listed:
                break
            self.delete(client, [sandbox["id"] for sandbox in listed])
        client.close()

    def reap_adopted(self):
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    def find_leftovers(self, timeout=60):
        until = time.monotonic() + timeout
        while True:
            self.reap_adopted()
            rows = self.host.database()[1]
            left = {"processes": self.host.processes(), "cgroups": self.host.groups(),
                    "directories": self.host.directories(), "rows of sandboxes": rows.get("sandboxes", 0),
                    "mounts": self.host.read_mounts() - self.host.mounts}
            left = {name: what for name, what in left.items() if what}
            if not left or time.monotonic() > until:
                return left
            time.sleep(0.2)

    def run(self):
        clients = [threading.Thread(target=self.run_client, args=(self.play_steady,))]
        clients += [threading.Thread(target=self.run_client, args=(self.play_restless, number))
                    for number in range(1, self.options.clients)]
        for client in clients:
            client.start()
        while any(client.is_alive() for client in clients):
            self.all.add(self.host.measure())
            time.sleep(SAMPLE_SECONDS)
        self.run_client(self.delete_all)
        return self.find_leftovers()


def check(results, what, wrong):
    results.append(not wrong)
    print(f"{'not ok' if wrong else 'ok'} {len(results)} - {what}")
    for line in str(wrong or "").splitlines()[:40]:
        print(f"#   {line[:600]}")


def report(soak, left):
    soak.quiet.print_table(f"the steady server after each of its {len(soak.quiet.points['server threads'])} rounds"
                           if soak.quiet.points else "the steady server was never measured")
    soak.all.print_table("all servers and the host")
    print("# calls: " + ", ".join(f"{name} {count}" for name, count in sorted(soak.done.items())))
    results = []
    check(results, "every call is answered as expected", "\n".join(soak.wrong))
    check(results, "nothing is left at the end", left)
    check(results, "no zombie is left for a minute",
          max(value for _, value in soak.all.points["zombies of 60 s"]))
    grown = {name: soak.quiet.growth(name) for name in ALLOWED
             if soak.quiet.growth(name) > ALLOWED[name] or name not in soak.quiet.points}
    check(results, f"the steady server does not grow beyond {ALLOWED}", grown)
    print(f"1..{len(results)}")
    return all(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=int(os.environ.get("SOAK_SECONDS", "1800")))
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the choice of calls")
    parser.add_argument("--belljar", type=pathlib.Path, default=ROOT / "build/belljar")
    parser.add_argument("--keep", action="store_true", help="keep the state directory and the servers' messages")
    options = parser.parse_args()
    options.belljar = options.belljar.resolve()
    adopt_orphans()
    soak = Soak(options)
    print(f"# {options.seconds} s, {options.clients} clients, --seed {options.seed}, {soak.top}", flush=True)
    passed = report(soak, soak.run())
    if not options.keep:
        shutil.rmtree(soak.top, ignore_errors=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
