"""nt_gate.py ATTEMPT... - requests to the proxy of a sandbox. Prints a line for each: the status that came back,
or "closed". An attempt is "connect TARGET", "get URL HOST" (HOST may be missing), "socks TYPE TARGET", or
"raw TEXT" with the escapes of Python."""
import os
import socket
import sys

port = int(os.environ.get("HTTP_PROXY", "http://127.0.0.1:3128").rsplit(":", 1)[1])


def ask(data):
    with socket.create_connection(("127.0.0.1", port), 20) as s:
        s.sendall(data)
        s.settimeout(30)
        try:
            return s.recv(4096)
        except OSError as e:
            return type(e).__name__.encode()


def socks(kind, target):
    host, number = target.rsplit(":", 1)
    address = {"v4": lambda: b"\x01" + socket.inet_pton(socket.AF_INET, host),
               "v6": lambda: b"\x04" + socket.inet_pton(socket.AF_INET6, host),
               "name": lambda: b"\x03" + bytes([len(host)]) + host.encode()}[kind]()
    with socket.create_connection(("127.0.0.1", port), 20) as s:
        s.sendall(b"\x05\x01\x00")
        s.settimeout(30)
        s.recv(2)
        s.sendall(b"\x05\x01\x00" + address + int(number).to_bytes(2, "big"))
        answer = s.recv(10)
        return b"socks %d" % answer[1] if len(answer) > 1 else b""


def attempt(line):
    kind, *words = line.split(" ")
    if kind == "connect":
        return ask(b"CONNECT " + os.fsencode(words[0]) + b" HTTP/1.1\r\n\r\n")
    if kind == "get":
        host = f"Host: {words[1]}\r\n" if len(words) > 1 else ""
        return ask(os.fsencode(f"GET {words[0]} HTTP/1.1\r\n{host}\r\n"))
    if kind == "socks":
        return socks(*words)
    return ask(line[4:].encode("latin-1").decode("unicode_escape").encode("latin-1"))


for line in sys.argv[1:]:
    try:
        answer = attempt(line)
    except OSError as e:
        answer = type(e).__name__.encode()
    first = answer.split(b"\r\n")[0].decode("latin-1")
    print(first.split(" ")[1] if first.startswith("HTTP/") else first or "closed")
