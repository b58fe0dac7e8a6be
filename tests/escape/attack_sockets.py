"""Memory that the kernel holds for sockets: a sandbox cannot grow it beyond its own limit.

The program rx_sockets takes as much as it is allowed to and says after each MiB how much it has."""
from harness import test
from watched_attack import LIMITS


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
