"""ki_read_all.py STATE SECRET MASKED... - reads every file in /proc and /sys, for a second each, and
prints what a sandbox should not see."""
import contextlib
import os
import signal
import sys

state, secret = (word.encode() for word in sys.argv[1:3])
masked = sys.argv[3:]
count, bad = 0, []


class Late(Exception):
    pass


def late(*_):
    raise Late


signal.signal(signal.SIGALRM, late)


def read(path):
    """The first bytes of a file; None if it cannot be read."""
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return os.read(fd, 1 << 20)
        finally:
            os.close(fd)
    except (OSError, Late):
        return None
    finally:
        # The timer may expire at this very moment.
        with contextlib.suppress(Late):
            signal.setitimer(signal.ITIMER_REAL, 0)


def is_masked(path):
    parts = path.split("/")
    return len(parts) > 2 and parts[1] == "proc" and parts[2] in masked


for top in ("/proc", "/sys"):
    for where, directories, files in os.walk(top):
        # Threads repeat the files of their process.
        directories[:] = [d for d in directories if d not in ("task", "map_files")]
        for name in files:
            path = os.path.join(where, name)
            data = read(path)
            if data is None:
                continue
            count += 1
            if is_masked(path) and data:
                bad.append(f"{path}: {data[:60]!r}")
            # Our own command line contains the words.
            if not path.endswith(("/cmdline", "/environ", "/mem")) and \
                    any(word in data for word in (state, secret)):
                bad.append(f"{path}: of the host: {data[:200]!r}")
for name in masked:
    path = f"/proc/{name}"
    if os.path.isdir(path) and os.listdir(path):
        bad.append(f"{path}: {os.listdir(path)}")
print("read", count)
if bad:
    sys.exit("\n".join(bad))
