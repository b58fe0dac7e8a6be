"""Ceilings: what a client asks for does not exceed what the operator allows."""
import json
import os
import pathlib
import subprocess
import time

from harness import test

FIRST = {"method": "initialize", "id": 0, "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "attack", "version": "1"}}}


def make_cgroup(memory):
    """A cgroup with a limit on memory; None if this machine has none that can be made."""
    own = dict(reversed(line.split(":")[1:]) for line in open("/proc/self/cgroup").read().splitlines())
    tree = pathlib.Path("/sys/fs/cgroup/memory")
    path, file = next(((str(tree) + path, "memory.limit_in_bytes") for path, words in own.items()
                       if "memory" in words.split(",")), ("/sys/fs/cgroup", "memory.max"))
    place = pathlib.Path(path) / f"belljar-test-{os.getpid()}"
    try:
        place.mkdir()
        (place / file).write_text(str(memory))
    except OSError:
        return None
    return place


def remove_cgroup(cgroup):
    """Waits for processes that are about to exit; a failed test may have left some."""
    for _ in range(100):
        try:
            cgroup.rmdir()
            return
        except OSError:
            time.sleep(0.1)


def enter(cgroup):
    (cgroup / "cgroup.procs").write_text(str(os.getpid()))


class Client:
    """A client of `belljar serve`, run as the mode's user."""

    def __init__(self, box, *options, cgroup=None):
        line = box.as_user() + [str(box.belljar), "serve", "--state-dir", str(box.state), *options]
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=box.environment(), cwd="/",
                                        preexec_fn=cgroup and (lambda: enter(cgroup)))
        box.running.append(self.process)
        self.number = 0
        self.results = {}
        self.receive(self.send(FIRST))

    def send(self, request):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
        self.process.stdin.flush()
        return request["id"]

    def receive(self, number):
        while number not in self.results:
            reply = json.loads(self.process.stdout.readline())
            self.results[reply.get("id")] = reply.get("result")
        return self.results[number]

    def start(self, tool, **arguments):
        self.number += 1
        return self.send({"method": "tools/call", "id": self.number,
                          "params": {"name": tool, "arguments": arguments}})

    def end(self, number):
        """The text of a refusal, or the structured content."""
        result = self.receive(number)
        return result["content"][0]["text"] if result.get("isError") else result["structuredContent"]

    def call(self, tool, **arguments):
        return self.end(self.start(tool, **arguments))

    def close(self):
        self.process.communicate(timeout=60)


ASKED = ({"memory_mb": 20000}, {"pids": 65536}, {"cpus": 1024}, {"disk_mb": 16777216}, {"gpu": "auto"})


@test("CE-01", "a client gets no more than the operator set, and no graphics processor")
def above_the_operators(box):
    client = Client(box, "--memory", "64M", "--pids", "64", "--cpu", "1000", "--disk", "64M", "--gpu", "none")
    for arguments in ASKED:
        said = client.call("create_sandbox", **arguments)
        name = next(iter(arguments))
        assert isinstance(said, str) and said.startswith(f"{name}: ") and "-max" in said, (arguments, said)
    made = client.call("create_sandbox", memory_mb=64, pids=64, cpus=1, disk_mb=64)
    ran = client.call("run_command", sandbox=made["id"], command="python3 -c 'len(bytearray(200 << 20))'")
    assert ran.get("exit_code") != 0, ran
    client.close()


@test("CE-02", "without options a client gets no more than the machine has")
def above_the_machine(box):
    client = Client(box)
    for arguments in ASKED:
        said = client.call("create_sandbox", **arguments)
        if arguments != {"memory_mb": 20000}:  # the machine may have as much
            assert isinstance(said, str) and said.startswith(next(iter(arguments))), (arguments, said)
    client.close()


@test("CE-03", "a sandbox made with more wakes with the operator's limits")
def woken_above(box):
    client = Client(box)
    client.call("create_sandbox", name="large", memory_mb=512, pids=200)
    client.close()
    client = Client(box, "--memory", "64M", "--pids", "64")
    info = client.call("sandbox_info", sandbox="large")
    assert (info["limits"]["memory_mb"], info["limits"]["pids"]) == (64, 64), info
    assert "memory: 64 MiB instead of 512 MiB" in info["lowered"], info
    ran = client.call("run_command", sandbox="large", command="python3 -c 'len(bytearray(200 << 20))'")
    assert ran.get("exit_code") != 0, ran
    client.call("delete_sandbox", sandbox="large")
    client.close()


HOLD = """
import os, time
memory = bytearray(400 << 20)
for i in range(0, len(memory), 4096):
    memory[i] = 1
open("held", "w").close()
while not os.path.exists("end"):
    time.sleep(0.1)
"""


@test("CE-04", "sandboxes within their limits do not take all memory of the machine together", modes="R")
def together(box):
    machine = make_cgroup(1 << 30)  # all of the machine that this server sees
    if machine is None:
        return
    try:
        client = Client(box, "--answer-within", "300000", cgroup=machine)
        boxes = [client.call("create_sandbox", name=name)["id"] for name in ("one", "two")]
        runs = []
        for sandbox in boxes:
            runs.append(client.start("run_code", sandbox=sandbox, code=HOLD, timeout_s=250))
            client.call("run_command", sandbox=sandbox, timeout_s=200,
                        command="for i in $(seq 500); do [ -e held ] && break; sleep 0.2; done")
        for sandbox in boxes:
            client.call("run_command", sandbox=sandbox, command="touch end")
        notes = [str(client.end(run)) for run in runs]
        assert any("all sandboxes of this server together" in note for note in notes), notes
        client.close()
    finally:
        remove_cgroup(machine)
