"""The gate: with each policy a sandbox reaches the hosts of its policy and nothing else, whatever its programs
send to the proxy.

The tests run in a network namespace with addresses and listeners of its own (fake_network.py). Names are resolved
by a file that is mounted over /etc/hosts, in the mount namespace of the test."""
import contextlib
import subprocess

from fake_network import FakeNetwork
from harness import test

REFUSED = {"403", "400", "socks 2", "closed"}
NAMES = """127.0.0.1 localhost
127.0.0.1 rebound.example
169.254.169.254 metadata.example metadata.google.internal
10.0.2.2 inside.example
192.168.1.10 own.example
172.17.0.1 bridge.example
93.184.216.34 good.example
93.184.216.34 evil.example
127.0.0.1 mixed.example
93.184.216.34 mixed.example
::1 six.example
"""


@contextlib.contextmanager
def names(box):
    path = box.directory / "hosts"
    path.write_text(NAMES)
    path.chmod(0o644)
    subprocess.run(["mount", "--bind", str(path), "/etc/hosts"], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "/etc/hosts"], check=True)


def check_refused(box, options, attempts, refused=REFUSED):
    """Checks that every attempt is refused, by the answers and by the listeners."""
    with names(box), FakeNetwork(box) as network:
        done = box.exec("python3", "/escape/nt_gate.py", *attempts, options=options, timeout=170)
        lines = done.out.splitlines()
        assert done.code == 0 and len(lines) == len(attempts), done
        wrong = [(a, line) for a, line in zip(attempts, lines) if line not in refused]
        assert not wrong, wrong
        network.check_quiet()
        return done


ALLOW = ["--network", "allow", "--allow-hosts", "good.example,*.below.example,93.184.216.34:80"]
OPEN = ["--network", "open"]
INSIDE = ["127.0.0.1:8080", "0x7f.1:8080", "2130706433:8080", "0177.0.0.1:8080", "127.1:8080", "[::1]:8080",
          "[::ffff:127.0.0.1]:8080", "[64:ff9b::7f00:1]:8080", "[2002:7f00:1::]:8080", "localhost:8080",
          "LOCALHOST.:8080", "0:8080", "0.0.0.0:8080", "[::]:8080", "10.0.2.2:8080", "192.168.1.10:22",
          "172.17.0.1:2375", "169.254.169.254:80", "100.100.100.200:80", "168.63.129.16:80", "[fd00:ec2::254]:80",
          "[fe80::1]:80", "224.0.0.1:80", "255.255.255.255:80"]


@test("NT-05", "no spelling of an address leads inside, with the policies allow and open")
def spellings(box):
    attempts = [f"connect {target}" for target in INSIDE]
    attempts += [f"get http://{target}/" for target in INSIDE]
    attempts += ["socks v4 127.0.0.1:8080", "socks v4 169.254.169.254:80", "socks v4 10.0.2.2:8080",
                 "socks v6 ::1:8080", "socks v6 ::ffff:127.0.0.1:8080", "socks name localhost:8080",
                 "socks name 127.1:8080", "socks v4 0.0.0.0:8080",
                 "connect \u2460\u2461\u2466.\u24ea.\u24ea.\u2460:8080"]
    check_refused(box, OPEN, attempts)
    check_refused(box, ALLOW, attempts)


@test("NT-06", "names that lead to addresses inside are refused after they were resolved")
def rebinding(box):
    hosts = ["rebound", "metadata", "inside", "own", "bridge", "six"]
    attempts = [f"connect {host}.example:{port}" for host in hosts for port in (80, 443, 8080)]
    attempts += [f"get http://{host}.example:8080/" for host in hosts]
    attempts += ["connect metadata.google.internal:80", "socks name metadata.example:80"]
    check_refused(box, OPEN, attempts)
    allowed = ",".join(f"{host}.example:*" for host in hosts)
    check_refused(box, ["--network", "allow", "--allow-hosts", allowed], attempts)


@test("NT-07", "hosts that look like allowed ones are refused")
def confusion(box):
    targets = ["evil.example:443", "evilgood.example:443", "good.example.evil.example:443", "below.example:443",
               "xbelow.example:443", "good.example:22", "good.example:8080", "93.184.216.34:443", "good.example%00.evil.example:443",
               "good.example@evil.example:443", "evil.example:443.good.example", "[::1%good.example]:443",
               "evil.example#good.example:443", "evil.example/good.example:443", "g\u043eod.example:443",
               "a" * 300 + ".below.example:443", "a..below.example:443", ".below.example:443", "*.below.example:443",
               "good.example\\.evil.example:443"]
    attempts = [f"connect {target}" for target in targets]
    attempts += ["get http://good.example:8080/", "get http://evil.example/ evil.example",
                 "get http://good.example@evil.example/", "get http://evil.example?good.example/",
                 "get //good.example/", "get https://good.example/", "get ftp://good.example/", "get /",
                 "socks name evil.example:443", "socks v4 1.1.1.1:443", "socks name good.example:22"]
    check_refused(box, ALLOW, attempts)


@test("NT-09", "Host fields that differ from the request, and second requests, are refused")
def host_fields(box):
    check_refused(box, ALLOW, ["get http://good.example/ evil.example", "get http://good.example/ good.example:81",
                               "raw GET http://good.example/ HTTP/1.1\\r\\nHost: good.example\\r\\nHost: evil.example\\r\\n\\r\\n",
                               "raw CONNECT good.example:443 HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n"])


@test("NT-10", "requests that two parsers could read differently are refused")
def smuggling(box):
    head = "POST http://good.example/ HTTP/1.1\\r\\nHost: good.example\\r\\n"
    check_refused(box, ALLOW, [f"raw {text}" for text in (
        head + "Content-Length: 6\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nG",
        head + "Transfer-Encoding: chunked\\r\\nTransfer-Encoding: identity\\r\\n\\r\\n",
        head + "Transfer-Encoding: xchunked\\r\\n\\r\\n", head + "Content-Length: 1\\r\\nContent-Length: 2\\r\\n\\r\\n",
        head + "Content-Length: 0x10\\r\\n\\r\\n", head + "X: a\\n b\\r\\n\\r\\n", head + "X : y\\r\\n\\r\\n",
        head + "X: y\\r\\n folded\\r\\n\\r\\n", "GET http://good.example/ HTTP/1.1\\nHost: good.example\\n\\n",
        "GET http://good.example/\\0 HTTP/1.1\\r\\n\\r\\n", "GET http://good.example/ HTTP/3\\r\\n\\r\\n",
        "\\x16\\x03\\x01\\x02\\x00\\r\\n\\r\\n", "\\x04\\x01\\x00\\x50\\x01\\x01\\x01\\x01\\x00\\r\\n\\r\\n",
        "\\x05\\x01\\x00\\x05\\x02\\x00\\x01\\x01\\x01\\x01\\x01\\x00\\x50", "x" * 20000 + "\\r\\n\\r\\n")],
        REFUSED | {"\x05", "\x05\x00", "ConnectionResetError"} | {"\x05\x00\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00"})


@test("NT-12", "a relay in the sandbox gets the same answer")
def relay(box):
    source = ("import socket, threading\n"
              "l = socket.create_server(('127.0.0.1', 9999))\n"
              "def run():\n"
              "    c, _ = l.accept(); u = socket.create_connection(('127.0.0.1', 3128)); u.sendall(c.recv(999)); c.sendall(u.recv(999))\n"
              "threading.Thread(target=run, daemon=True).start()\n"
              "s = socket.create_connection(('127.0.0.1', 9999)); s.sendall(b'CONNECT evil.example:443 HTTP/1.1\\r\\n\\r\\n')\n"
              "print(s.recv(999).split()[1].decode())")
    with names(box), FakeNetwork(box) as network:
        assert box.python(source, options=ALLOW).out == "403\n"
        network.check_quiet()


@test("NT-13", "without a network, and with an empty list, nothing is reached")
def nothing(box):
    check_refused(box, [], ["connect good.example:443", "connect 93.184.216.34:80"], {"ConnectionRefusedError"})
    check_refused(box, ["--network", "allow"], ["connect good.example:443", "connect 93.184.216.34:80",
                                                "get http://good.example/", "socks name good.example:443"])
    check_refused(box, ["--network", "packages"], ["connect good.example:443", "get http://93.184.216.34/"])


@test("NT-16", "another sandbox's ports are not reached through the gate")
def other_sandbox(box):
    with names(box), FakeNetwork(box) as network:
        other = box.start("sh", "-c", "python3 -m http.server --bind 0.0.0.0 8000 & sleep 1; echo up; sleep 100", options=OPEN)
        box.wait_for(other, "up")
        done = box.exec("python3", "/escape/nt_gate.py", "connect 127.0.0.1:8000", "connect localhost:8000",
                        "socks v4 127.0.0.1:8000", options=OPEN)
        assert set(done.out.split("\n")[:-1]) <= REFUSED, done
        network.check_quiet()


@test("NT-21", "many connections, slow requests and programs that do not read are bounded")
def flood(box):
    source = ("import socket\n"
              "held = []\n"
              "for i in range(400):\n"
              "    s = socket.socket(); s.setblocking(False)\n"
              "    try: s.connect(('127.0.0.1', 3128))\n"
              "    except BlockingIOError: pass\n"
              "    try: s.send(b'GET http://good')\n"
              "    except OSError: pass\n"
              "    held.append(s)\n"
              "for s in held: s.close()\n"
              "s = socket.create_connection(('127.0.0.1', 3128), 60); s.settimeout(60)\n"
              "s.sendall(b'CONNECT evil.example:443 HTTP/1.1\\r\\n\\r\\n'); print(s.recv(99).split()[1].decode())")
    with names(box), FakeNetwork(box) as network:
        done = box.python(source, options=ALLOW, timeout=170)
        assert done.out == "403\n", done
        network.check_quiet()


@test("NT-24", "the dialer is confined, and allowed hosts are reached")
def allowed(box):
    with names(box), FakeNetwork(box) as network:
        done = box.exec("python3", "/escape/nt_gate.py", "connect 93.184.216.34:80", "connect GOOD.example.:80",
                        "socks name good.example:80", options=ALLOW)
        assert done.out == "200\n200\nsocks 0\n", done
        for _ in range(3):
            assert network.process.stdout.readline().startswith("tcp 80 ")


# What programs ask the proxy for, and the target that is recorded; None: the request names no host.
MATRIX = [
    ("connect evil.example:443", "evil.example:443"),
    ("connect EviL.ExaMple:443", "evil.example:443"),
    ("connect evil.example.:8443", "evil.example:8443"),
    ("connect xn--gd-fka.example:443", "xn--gd-fka.example:443"),
    ("connect g\u00f6\u00f6d.example:443", None),
    ("connect " + "a" * 300 + ".example:443", None),
    ("connect 1.1.1.1:443", "1.1.1.1:443"),
    ("connect [2606:4700:4700::1111]:443", "[2606:4700:4700::1111]:443"),
    ("connect good.example:22", "good.example:22"),
    ("connect rebound.example:80", "rebound.example:80"),
    ("connect metadata.example:80", "metadata.example:80"),
    ("connect 169.254.169.254:80", "169.254.169.254:80"),
    ("connect 127.0.0.1:8080", "127.0.0.1:8080"),
    ("connect localhost:8080", "localhost:8080"),
    ("connect [::1]:8080", "[::1]:8080"),
    ("connect 10.0.2.2:8080", "10.0.2.2:8080"),
    ("connect 172.17.0.1:2375", "172.17.0.1:2375"),
    ("get http://evil.example/redirected", "evil.example:80"),
    ("get http://good.example/ evil.example", None),
    ("socks v4 8.8.8.8:53", "8.8.8.8:53"),
    ("socks v6 fd00:ec2::254:80", "[fd00:ec2::254]:80"),
    ("socks name bridge.example:2375", "bridge.example:2375"),
    ("raw POST http://evil.example/smuggled HTTP/1.1\\r\\nHost: evil.example\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n", None),
]
DIRECT = {"tcp": ["1.1.1.1:443", "8.8.8.8:53", "2606:4700:4700::1111:443", "169.254.169.254:80", "10.0.2.2:8080",
                  "172.17.0.1:2375", "192.168.1.10:22", "127.0.0.1:8080", "::1:8080"],
          "udp": ["8.8.8.8:53", "1.1.1.1:443", "2606:4700:4700::1111:53", "127.0.0.1:53"]}
UNREACHABLE = {"ENETUNREACH", "EACCES", "EPERM", "EAFNOSUPPORT", "EADDRNOTAVAIL", "EHOSTUNREACH", "ECONNREFUSED"}


def check_direct(box, options, sandbox):
    """Programs that do not use the proxy, and raw sockets, reach nothing."""
    for kind, targets in DIRECT.items():
        done = box.exec("env", "-u", "HTTP_PROXY", "-u", "ALL_PROXY", "python3", "/escape/nt_reach.py", kind, *targets,
                        options=options, sandbox=sandbox, timeout=120)
        wrong = [line for line in done.out.splitlines()[:-1] if line.split()[0] not in UNREACHABLE]
        assert done.code == 0 and not wrong, done
    done = box.python("import socket\n"
                      "for kind in ((17, 3, 0x300), (2, 3, 1), (10, 3, 58)):\n"
                      "    try: socket.socket(*kind); print('OPEN', kind)\n"
                      "    except OSError: print('no')\n"
                      "try: print('RESOLVED', socket.getaddrinfo('good.example', 80))\n"
                      "except OSError: print('no')", options=options, sandbox=sandbox)
    assert done.out.split() == ["no"] * 4, done


@test("NT-25", "with none, packages and allow every attempt is refused, and every one that names a host is recorded")
def matrix(box):
    policies = {"none": [], "packages": ["--network", "packages"], "allow": ALLOW}
    for policy, options in policies.items():
        sandbox = f"matrix-{policy}"
        with names(box), FakeNetwork(box) as network:
            check_direct(box, options, sandbox)
            done = box.exec("python3", "/escape/nt_gate.py", *[line for line, _ in MATRIX], options=options,
                            sandbox=sandbox, timeout=170)
            lines = done.out.splitlines()
            refused = {"ConnectionRefusedError"} if policy == "none" else REFUSED
            wrong = [(attempt, line) for (attempt, _), line in zip(MATRIX, lines) if line not in refused]
            assert done.code == 0 and len(lines) == len(MATRIX) and not wrong, (policy, wrong, done)
            network.check_quiet()
        if policy == "none":
            continue  # nothing listens, so there is nothing that could be recorded
        logs = box.belljar_verb("logs", "--state-dir", str(box.state), sandbox).out
        for attempt, target in MATRIX:
            assert target is None or f"network {target}" in logs, (policy, attempt, logs)
        assert "network (malformed request)" in logs, logs
        assert " allowed " not in logs, logs
