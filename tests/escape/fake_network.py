"""A network namespace for tests: its loopback interface has the addresses that attacks aim at, and
a process listens on them. No packet can leave the namespace.

    with FakeNetwork(box) as network:            # belljar is started inside the namespace
        ...
        network.check_quiet()              # no connection was made and no packet was sent

Run as a program (`unshare --net python3 fake_network.py`) it is the listener: it prints "ready", then a
line for each connection or datagram.
"""
import pathlib
import selectors
import socket
import subprocess
import sys

ADDRESSES = ["1.1.1.1/32", "8.8.8.8/32", "93.184.216.34/32", "169.254.169.254/32", "169.254.1.2/32",
             "100.100.100.200/32", "168.63.129.16/32", "10.0.2.2/32", "10.0.2.3/32", "192.168.1.10/32",
             "192.168.65.7/32", "172.17.0.1/32", "2606:4700:4700::1111/128", "fd00:ec2::254/128",
             "fe80::1/64"]
TCP_PORTS = [22, 53, 80, 443, 2375, 2376, 2379, 3128, 6443, 8080, 10250, 1080]
UDP_PORTS = [53, 67, 123, 443, 5353, 8080]
ABSTRACT = ["containerd-shim/k8s/test.sock", "/containerd-shim/moby/shim.sock", "/tmp/.X11-unix/X0",
            "dbus-canary"]


class FakeNetwork:
    def __init__(self, box):
        self.box = box

    def __enter__(self):
        self.process = subprocess.Popen(["unshare", "--net", sys.executable, __file__],
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line == "ready\n", line
        self.enter = ["nsenter", f"--net=/proc/{self.process.pid}/ns/net"]
        # Check the check: a connection from inside the namespace is noticed.
        self.connect("1.1.1.1", 443)
        assert self.process.stdout.readline().startswith("tcp 443 "), "the listener does not work"
        self.packets = self.count_packets()
        self.box.around = self.enter
        return self

    def __exit__(self, *_):
        self.box.around = []
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def connect(self, address, port):
        """Connects from inside the namespace. Returns "open" or the name of the error."""
        source = ("import socket, sys\n"
                  "try: socket.create_connection((sys.argv[1], int(sys.argv[2])), 2); print('open')\n"
                  "except OSError as e: print(type(e).__name__)")
        return subprocess.run([*self.enter, sys.executable, "-c", source, address, str(port)],
                              capture_output=True, text=True).stdout.strip()

    def count_packets(self):
        """The packets that went through the interfaces of the namespace."""
        lines = pathlib.Path(f"/proc/{self.process.pid}/net/dev").read_text().splitlines()[2:]
        return {line.split()[0]: line.split()[2] + "/" + line.split()[10] for line in lines}

    def check_quiet(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            assert not selector.select(0.2), f"a connection was made: {self.process.stdout.readline()}"
        assert self.count_packets() == self.packets, (self.packets, self.count_packets())


def listen():
    run = lambda *argv: subprocess.run(argv, check=True)  # noqa: E731
    run("ip", "link", "set", "lo", "up")
    for address in ADDRESSES:
        run("ip", "addr", "add", address, "dev", "lo", *(["nodad"] if ":" in address else []))
    selector = selectors.DefaultSelector()
    for kind, ports in ((socket.SOCK_STREAM, TCP_PORTS), (socket.SOCK_DGRAM, UDP_PORTS)):
        for port in ports:
            one = socket.socket(socket.AF_INET6, kind)
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            one.bind(("::", port))
            if kind == socket.SOCK_STREAM:
                one.listen(64)
            selector.register(one, selectors.EVENT_READ, "tcp" if kind == socket.SOCK_STREAM else "udp")
    for name in ABSTRACT:
        one = socket.socket(socket.AF_UNIX)
        one.bind("\0" + name)
        one.listen()
        selector.register(one, selectors.EVENT_READ, "unix")
    print("ready", flush=True)
    while True:
        for key, _ in selector.select():
            if key.data == "udp":
                who = key.fileobj.recvfrom(65536)[1]
            else:
                who = key.fileobj.accept()[1]
            port = key.fileobj.getsockname()
            print(key.data, port[1] if key.data != "unix" else port, who, flush=True)


if __name__ == "__main__":
    listen()
