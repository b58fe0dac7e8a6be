"""nt_reach.py KIND ADDRESS:PORT ... - tries to reach each address by tcp or udp. Prints REACHED or the
error for each, then "own loopback" if the sandbox's loopback works."""
import errno
import socket
import sys


def reach(kind, address, port):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        s.connect((address, port, 0, 1) if address.startswith("fe80") else (address, port))
        s.send(b"\x12\x34\1\0\0\1\0\0\0\0\0\0\1x\0\0\1\0\1")
        if kind == "udp":
            s.recv(1)


for target in sys.argv[2:]:
    address, _, port = target.rpartition(":")
    try:
        reach(sys.argv[1], address, int(port))
        print("REACHED", target)
    except TimeoutError:
        print("SENT", target)
    except OSError as error:
        print(errno.errorcode.get(error.errno, error), target)
with socket.create_server(("127.0.0.1", 0)) as server, \
        socket.create_connection(server.getsockname()) as client:
    peer = server.accept()[0]
    client.send(b"own loopback")
    print(peer.recv(100).decode())
