"""Ceilings: what a client asks for does not exceed what the operator allows."""
import json
import subprocess

from harness import test

FIRST = {"method": "initialize", "id": 0, "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "attack", "version": "1"}}}


class Client:
    """A client of `belljar serve`, run as the mode's user."""

    def __init__(self, box, *options):
        line = box.as_user() + [str(box.belljar), "serve", "--state-dir", str(box.state), *options]
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=box.environment(), cwd="/")
        box.running.append(self.process)
        self.number = 0
        self.ask(FIRST)

    def ask(self, request):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
        self.process.stdin.flush()
        while True:
            reply = json.loads(self.process.stdout.readline())
            if reply.get("id") == request["id"]:
                return reply["result"]

    def call(self, tool, **arguments):
        """The text of a refusal, or the structured content."""
        self.number += 1
        result = self.ask({"method": "tools/call", "id": self.number,
                           "params": {"name": tool, "arguments": arguments}})
        return result["content"][0]["text"] if result.get("isError") else result["structuredContent"]

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
