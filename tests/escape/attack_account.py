"""Work outside a sandbox on its account: what the spawner does for a sandbox is limited like what the
sandbox does itself."""
import os
import pathlib
import time

from harness import SLOWER, children, test

MIB = 1 << 20
CPU = 100          # thousandths of a processor
SECONDS = 10

# Many files, 4 MiB below the limit on disk space: whenever 4 MiB of the disk's free space vanish, the
# sandbox could be over its limit, and all of its files are counted.
MANY_FILES = r"""
import os, time
os.mkdir("many")
for i in range(FILES): os.close(os.open(f"many/{i}", os.O_CREAT | os.O_WRONLY))
used = sum(os.lstat(p).st_blocks for p in ("many", "."))  * 512
os.posix_fallocate(os.open("ballast", os.O_CREAT | os.O_RDWR), 0, (60 << 20) - used)
print("ready", flush=True)
while True: pass
""".replace("FILES", str(20000 // SLOWER))


def now():
    """In seconds of the processors' time, whatever the clock of the deadlines is."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def janitor_seconds(spawner):
    """Processor time of the spawner's children that have exited."""
    fields = pathlib.Path(f"/proc/{spawner}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")


# Where no cgroup limits the processors of a sandbox, counting has no limit either. Files in a disk image need no
# counting.
@test("RX-27", "counting a sandbox's files costs no more than its share of the processors")
def counting_is_charged(box):
    if box.exec("true", options=("--require", "cpu")).code != 0:
        return
    process = box.start("python3", "-c", MANY_FILES,
                        options=("--no-quota", "--disk", "64M", "--cpu", str(CPU), "--timeout", "600"))
    box.wait_for(process, "ready", timeout=300)
    (spawner,) = [pid for pid in children(process.pid)
                  if "spawner" in pathlib.Path(f"/proc/{pid}/comm").read_text()]
    ballast = box.directory / "ballast"
    before, begin = janitor_seconds(spawner), now()
    while now() - begin < SECONDS:
        with open(ballast, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 16 * MIB)
        time.sleep(0.02)
        ballast.unlink()
        time.sleep(0.02)
    assert process.poll() is None, process.communicate()
    used, elapsed = janitor_seconds(spawner) - before, now() - begin
    assert used > 0, "nothing was counted: this test tests nothing"
    assert used <= 1.5 * elapsed * CPU / 1000, f"{used:.2f} s of processor time in {elapsed:.2f} s"
