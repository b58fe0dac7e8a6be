"""gate_bench.py - a download through the gate of a sandbox, beside the same download without one.

Prints the speed, the processor time of the server and the most memory that it has used. The file is sent from
memory by sendfile(2), and curl drops it, so that the gate is what is measured. BENCH_GATE_MIB is its size,
BENCH_GATE_RUNS how often it is fetched; the best run counts, because other programs of the machine take time."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

SIZE = int(os.environ.get("BENCH_GATE_MIB", "1024")) << 20
RUNS = int(os.environ.get("BENCH_GATE_RUNS", "5"))
BELLJAR = os.environ.get("BELLJAR", str(pathlib.Path(__file__).resolve().parents[2] / "build/belljar"))
CURL = ["curl", "-sS", "--noproxy", "none", "-o", "/dev/null"]


class Web:
    """A web server on loopback with one file of zeros."""

    def __init__(self):
        self.file = tempfile.TemporaryFile(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.file.truncate(SIZE)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, connection):
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % SIZE)
            at = 0
            while at < SIZE:
                at += os.sendfile(connection.fileno(), self.file.fileno(), at, min(1 << 20, SIZE - at))


class Server:
    """A belljar on standard input and output."""

    def __init__(self, state, port):
        env = dict(os.environ, BELLJAR_STATE_DIR=state, BELLJAR_NETWORK="allow", BELLJAR_NETWORK_MAX="allow",
                   BELLJAR_ALLOW_HOSTS=f"127.0.0.1:{port}")
        self.process = subprocess.Popen([BELLJAR, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.id = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})

    def ask(self, method, params):
        self.id += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.id:
                return answer["result"]

    def run(self, *argv):
        result = self.ask("tools/call", {"name": "run_command", "arguments": {"argv": argv, "timeout_s": 300}})
        if result.get("isError") or result["structuredContent"]["exit_code"] != 0:
            sys.exit(f"{argv}: {result}")

    def processor_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mib(self):
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def best_mib_s(fetch):
    fetch()
    times = []
    for _ in range(RUNS):
        begun = time.monotonic()
        fetch()
        times.append(time.monotonic() - begun)
    return SIZE / min(times) / (1 << 20)


def main():
    web = Web()
    url = f"http://127.0.0.1:{web.port}/"
    print(f"the gate: {SIZE >> 20} MiB from loopback, best of {RUNS}")
    print(f"  without a sandbox   {best_mib_s(lambda: subprocess.run([*CURL, url], check=True)):6.0f} MiB/s")
    with tempfile.TemporaryDirectory(prefix="belljar-bench-") as state:
        os.chmod(state, 0o711)
        server = Server(state, web.port)
        server.run("true")
        for name, options in (("plain HTTP", []), ("CONNECT", ["-p"])):
            before = server.processor_s()
            speed = best_mib_s(lambda: server.run(*CURL, *options, url))
            each = (server.processor_s() - before) / (RUNS + 1) / (SIZE / (1 << 30))
            print(f"  {name:19} {speed:6.0f} MiB/s, {each:.2f} s of the server's processor time for each GiB")
        print(f"  the server has used at most {server.peak_mib():.0f} MiB of memory")
        server.close()


if __name__ == "__main__":
    main()
