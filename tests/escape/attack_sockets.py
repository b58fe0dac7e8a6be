"""Memory that the kernel holds for sockets: a sandbox cannot grow it beyond its own limit.

The program rx_sockets takes as much as it is allowed to and says after each MiB how much it has."""
from harness import test
from watched_attack import LIMITS, MEMORY, WatchedAttack, check_limit_named


REFUSED = {
    "netlink": "Address family not supported by protocol",
    "filter": "Operation not permitted",
    "keys": "Operation not permitted",
    "options": "Operation not permitted",
    "groups": "No such device",
}


@test("RX-30", "netlink, socket filters, TCP keys, IPv6 options and multicast groups are refused")
def refused(box):
    for name in ("standard", "strict", "debug"):
        for kind, why in REFUSED.items():
            done = box.c("rx_sockets", kind, "100", "0", options=(*LIMITS, "--calls", name))
            assert done.code == 0 and done.out == f"refused: {why}\n", (name, kind, done)


# MiB that each kind asks for. One process cannot have more sockets than it may have files.
HELD = dict(tcp=500, tcp6=500, backlog=500, udp=500, cork=240, stream=500, dgram=500)


def most_taken(attack):
    """The last number of MiB that rx_sockets printed, also if it was killed afterwards."""
    return max([int(line.split()[0]) for line in attack.out.splitlines() if line.endswith("MiB")], default=0)


def hold(box, kind):
    """The kernel refuses the memory, or the sandbox is killed long before the program gives it back."""
    attack = WatchedAttack(box, "/escape/rx_sockets", kind, str(HELD[kind]), "60")
    assert "held" not in attack.out, attack
    if "refused" in attack.out:
        assert attack.code == 0 and most_taken(attack) <= MEMORY + 16, attack
    else:
        check_limit_named(attack, "memory")


for kind, what in (("tcp", "bytes in TCP connections"), ("tcp6", "bytes in TCP connections of IPv6"),
                   ("backlog", "bytes in TCP connections that are not accepted"),
                   ("udp", "datagrams that are not read"), ("cork", "datagrams that are not sent"),
                   ("stream", "bytes in Unix sockets"), ("dgram", "datagrams in Unix sockets")):
    test("RX-31", f"{what} count as memory")(lambda box, kind=kind: hold(box, kind))


SERVER = r"""
import selectors, socket
listener = socket.create_server(("127.0.0.1", 0), backlog=256)
pairs = []
for _ in range(200):
    client = socket.create_connection(listener.getsockname()); pairs.append((client, listener.accept()[0]))
for _ in range(20):
    for client, server in pairs: client.sendall(bytes(32768))
    for client, server in pairs: assert len(server.recv(32768, socket.MSG_WAITALL)) == 32768
print("served")
"""


@test("RX-31", "two hundred connections that are read work within a small memory limit")
def many_connections(box):
    done = box.python(SERVER, options=LIMITS)
    assert done.out == "served\n", done


@test("RX-32", "the sandbox's network namespace has low limits, which cannot be raised")
def network_limits(box):
    limits = {"core/optmem_max": "20480", "core/somaxconn": "1024", "ipv4/tcp_max_tw_buckets": "8192",
              "ipv4/tcp_orphan_retries": "2", "ipv4/tcp_rmem": "4096\t131072\t4194304"}
    for name, value in limits.items():
        done = box.sh(f"cd /proc/sys/net; if [ -e {name} ]; then cat {name}; else echo missing; fi; "
                      f"echo 999999 > {name} && echo RAISED; true")
        assert done.out in (f"{value}\n", "missing\n"), (name, done)
        # Older kernels show net/core in no network namespace that a user namespace owns.
        assert done.out != "missing\n" or name.startswith("core/"), done
