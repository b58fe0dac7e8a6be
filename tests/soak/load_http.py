#!/usr/bin/env python3
"""load_http.py [--seconds 60] [--streams 5000] [--connections 500] - many connections to one server at once.

Event streams of sessions (GET /sse) are opened and held for the whole time, while other connections repeat a tool
call with pauses between. Prints the latency of the calls and TAP. The load fails if a call or a stream has an error,
if the server's memory grows after all streams are open, or if descriptors are left at the end.
"""
import argparse
import contextlib
import json
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time

from samples import measure_process
from soak import ROOT, check

WARM_UP = 0.4  # part of the time after which the memory must not grow any more
GROWTH_KIB = 4096  # of 5,000 streams, that is less than one more KiB for each
DESCRIPTORS = 32  # of the sandbox that the server prepares meanwhile
ENVELOPE = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def make_call(port, tool):
    # http_load replaces the end of the id by the number of the connection.
    body = json.dumps({"jsonrpc": "2.0", "id": "c@@@@@@", "method": "tools/call",
                       "params": {"name": tool, "arguments": {}, "_meta": ENVELOPE}})
    return (f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json, text/event-stream\r\n"
            f"Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
            f"Mcp-Name: {tool}\r\nContent-Length: {len(body)}\r\n\r\n{body}")


class Load:
    def __init__(self, options, top):
        self.options, self.top, self.log = options, top, open(top / "log", "w", encoding="utf-8")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        (top / "state").mkdir()
        top.chmod(0o755)
        self.server = subprocess.Popen(
            [str(options.belljar), "serve", "--http", f"127.0.0.1:{self.port}", "--state-dir", str(top / "state"),
             "--max-sessions", str(options.streams + 100), "--max-connections", str(options.streams + options.connections + 100)],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd="/")
        for _ in range(400):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.05)
        raise RuntimeError("the server does not listen")

    def start(self, mode, name, request, connections, seconds, *more):
        path = self.top / name
        path.write_text(request)
        return subprocess.Popen([str(ROOT / "build/http_load"), mode, f"127.0.0.1:{self.port}", str(path), str(connections),
                                 str(seconds), *more], stdout=subprocess.PIPE, text=True)

    def measure(self):
        return measure_process(self.server.pid, "server")

    def run(self):
        """Returns what both generators counted, and the server before, during and after."""
        options, points = self.options, [self.measure()]
        listen = f"GET /sse HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAccept: text/event-stream\r\n\r\n"
        streams = self.start("streams", "listen", listen, options.streams, options.seconds)
        callers = self.start("calls", "calls", make_call(self.port, "server_info"), options.connections, options.seconds, str(options.pause_ms))
        time.sleep(options.seconds * WARM_UP)
        points.append(self.measure())
        while streams.poll() is None and callers.poll() is None:
            points.append(self.measure())
            time.sleep(0.5)
        counted = {name: json.loads(one.communicate()[0]) for name, one in (("streams", streams), ("calls", callers))}
        until = time.monotonic() + 60
        most = points[0]["server descriptors"] + DESCRIPTORS
        while self.measure()["server descriptors"] > most and time.monotonic() < until:
            time.sleep(0.1)
        points.append(self.measure())
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(90)
        return counted, points


def report(load, counted, points):
    options, results = load.options, []
    calls, streams = counted["calls"], counted["streams"]
    memory = [point["server memory KiB"] for point in points]
    during = memory[1:-1]
    print(f"# {options.streams} streams; {calls['responses']} calls on {options.connections} connections in {calls['seconds']:.0f} s, "
          f"p50 {calls['p50_us'] / 1000:.1f} ms, p99 {calls['p99_us'] / 1000:.1f} ms, longest {calls['max_us'] / 1000:.0f} ms")
    print(f"# memory of the server: {memory[0]} KiB before, {during[0]} to {max(during)} KiB with all streams, {memory[-1]} KiB after")
    check(results, "every call is answered", calls["errors"] or calls["open"] != options.connections or not calls["responses"])
    check(results, "every stream is open until the end", "" if not streams["errors"] and streams["responses"] == options.streams
          and streams["open"] == options.streams else f"{streams}")
    check(results, f"memory grows by at most {GROWTH_KIB} KiB while the streams are open",
          max(during) - during[0] if max(during) - during[0] > GROWTH_KIB else 0)
    more = points[-1]["server descriptors"] - points[0]["server descriptors"]
    check(results, f"at most {DESCRIPTORS} descriptors more than before are left", more if more > DESCRIPTORS else 0)
    check(results, "the server exits with success", load.server.returncode)
    print(f"1..{len(results)}")
    return all(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--streams", type=int, default=5000)
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--pause-ms", type=int, default=500, help="between two calls of a connection")
    parser.add_argument("--belljar", type=pathlib.Path, default=ROOT / "build/belljar")
    options = parser.parse_args()
    options.belljar = options.belljar.resolve()
    # The server and the generators inherit it: each has a descriptor for every connection.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="belljar-load-") as top:
        load = Load(options, pathlib.Path(top))
        try:
            passed = report(load, *load.run())
        finally:
            if load.server.poll() is None:
                load.server.kill()
                load.server.wait()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
