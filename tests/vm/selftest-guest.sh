#!/bin/sh
# selftest-guest.sh ARGUMENT... - the part of selftest.sh that runs in the virtual machine, as root.
set -u
. tests/scripts/tap.sh
as='sh tests/vm/as.sh'
mine=/sys/fs/cgroup/system.slice/tests.service
home=/home/tester

is 'arguments arrive unchanged' "$#:$1:$2" "2:it's:two words"
is 'the script runs in the root of the tree' "$(ls tests/vm/vm.sh)" tests/vm/vm.sh
is 'root has every capability' "$(awk '/^CapEff/ { print $2 }' /proc/self/status)" 000001ffffffffff
is 'lo is the only network interface and is up' "$(ip -o -br link | awk '{ print $1, $3 }')" \
  'lo 00:00:00:00:00:00'
is 'orphans are reaped' "$( (sh -c 'sleep 0.1 & exit' >/dev/null) && sleep 1 &&
  pgrep -r Z)" ''
is '/, /var/lib and the tree are ext4' "$(stat -f -c %T / /var/lib . | sort -u)" ext2/ext3

is 'cgroup version 2 is the only hierarchy' \
  "$(stat -f -c %T /sys/fs/cgroup; grep -c ' cgroup ' /proc/mounts; cat /proc/self/cgroup)" \
  'cgroup2fs
0
0::/system.slice/tests.service'
is 'all controllers are available' "$(cat $mine/cgroup.controllers)" 'cpuset cpu io memory pids'

# Limits of cgroups are tested by a Python program, as root and as a user with a delegated cgroup.
cat >/tmp/cgroups.py <<'END'
import ctypes, os, signal, struct, time

base = '/sys/fs/cgroup' + open('/proc/self/cgroup').read().split('::')[1].strip()
libc = ctypes.CDLL(None, use_errno=True)

def write(path, text):
    with open(path, 'w') as f:
        f.write(text)

def read(path):
    with open(path) as f:
        return f.read()

def new(name, **limits):
    path = f'{base}/{name}'
    os.mkdir(path)
    for key, value in limits.items():
        write(f'{path}/{key.replace("_", ".", 1)}', value)
    return path

def clone_into(path, run):
    fd = os.open(path, os.O_DIRECTORY)
    args = struct.pack('=11Q', 0x200000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, fd)
    pid = libc.syscall(435, args, len(args))
    if pid == 0:
        try:
            run()
        except BaseException:
            os._exit(1)
        os._exit(0)
    os.close(fd)
    if pid < 0:
        raise OSError(ctypes.get_errno(), 'clone3')
    return pid

def forks():
    try:
        for _ in range(8):
            if os.fork() == 0:
                time.sleep(100)
    except BlockingIOError:
        os._exit(11)

def spin():
    end = time.monotonic() + 1
    while time.monotonic() < end:
        pass

def status(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

# A cgroup with processes cannot pass controllers on to children.
write(new('self') + '/cgroup.procs', str(os.getpid()))
write(f'{base}/cgroup.subtree_control', '+memory +pids +cpu')

memory = new('memory', memory_max='32M')
print('memory', status(clone_into(memory, lambda: bytearray(b'x') * (64 << 20))),
      'oom_kill 1' in read(f'{memory}/memory.events'))
pids = new('pids', pids_max='4')
print('pids', status(clone_into(pids, forks)), 'max 1' in read(f'{pids}/pids.events'))
write(f'{pids}/cgroup.kill', '1')
while 'populated 1' in read(f'{pids}/cgroup.events'):
    time.sleep(0.01)
cpu = new('cpu', cpu_max='10000 100000')
status(clone_into(cpu, spin))
stat = dict(line.split() for line in read(f'{cpu}/cpu.stat').splitlines())
print('cpu', int(stat['nr_throttled']) > 2)
kill = new('kill')
pid = clone_into(kill, lambda: time.sleep(100))
print('into', read(f'{kill}/cgroup.procs').split() == [str(pid)])
write(f'{kill}/cgroup.kill', '1')
print('kill', status(pid))
for path in (memory, pids, cpu, kill):
    os.rmdir(path)
END
work='memory -9 True
pids 11 True
cpu True
into True
kill -9'
is 'root: memory.max, pids.max, cpu.max, cgroup.kill, CLONE_INTO_CGROUP' \
  "$($as root python3 /tmp/cgroups.py 2>&1)" "$work"
is 'tester: the same limits, in a delegated cgroup' \
  "$($as tester python3 /tmp/cgroups.py 2>&1)" "$work"
# shellcheck disable=SC2016 # for the other shell
show='cd /sys/fs/cgroup$(cut -d : -f 3 /proc/self/cgroup) && pwd | sed "s/[0-9]*.scope/N.scope/"
  cat cgroup.controllers; stat -c %U . cgroup.procs memory.max; mkdir x 2>&1'
is 'tester: owns the delegated files of its cgroup' "$($as tester sh -c "$show")" \
  '/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/run-N.scope
cpu memory pids
tester
tester
root'
is 'as.sh -n delegates nothing' "$($as -n tester sh -c "$show")" \
  "/sys/fs/cgroup/user.slice/user-1000.slice/session-N.scope
cpu memory pids
root
root
root
mkdir: cannot create directory ‘x’: Permission denied"
is 'as.sh passes the status on' "$($as tester sh -c 'exit 9'; echo $?)" 9
is 'as.sh leaves no cgroup and no process behind' \
  "$($as tester sh -c 'sleep 100 & sleep 0.2'; find /sys/fs/cgroup/user.slice -name '*.scope'
  pgrep -u tester)" ''
is 'users have no capability and their own groups' \
  "$($as plain sh -c 'id; grep CapEff /proc/self/status')" \
  'uid=1001(plain) gid=1001(plain) groups=1001(plain),100(users)
CapEff:	0000000000000000'

# shellcheck disable=SC2016
map='unshare -U sleep 100 & until [ "$(readlink /proc/$!/ns/user)" != "$(readlink /proc/self/ns/user)" ]
  do sleep 0.1; done
  newuidmap $! 0 100000 131072 && newgidmap $! 0 100000 131072 && cat /proc/$!/uid_map; kill $!'
is 'tester: newuidmap maps its range' "$($as tester sh -c "$map" 2>&1 | tr -s ' ')" \
  ' 0 100000 131072'
is 'plain: has no subordinate ids' "$($as plain sh -c "$map" 2>&1)" \
  'newuidmap: uid range [0-131072) -> [100000-231072) not allowed'
# Removing a directory and creating it again needs a whiteout and the attribute "opaque" in the upper layer.
# shellcheck disable=SC2016
overlay='cd $0 && mkdir -p lower/mine upper work at && touch lower/mine/old && mount -t overlay \
  overlay -o "lowerdir=lower:/usr,upperdir=upper,workdir=work,$1" at && rm -r at/mine &&
  mkdir at/mine && ls at/mine && echo new >at/mine/new && cat upper/mine/new && at/bin/echo ran'
install -d -o tester $home/o
install -d /var/lib/o
is 'tester: an overlay over /usr in a user namespace' \
  "$($as tester unshare -Urm --map-auto sh -c "$overlay" $home/o userxattr 2>&1)" 'new
ran'
is 'root: an overlay over /usr' \
  "$(unshare -m sh -c "$overlay" /var/lib/o redirect_dir=off 2>&1)" 'new
ran'

cat >/tmp/idmap.py <<'END'
import ctypes, os, struct, subprocess
libc = ctypes.CDLL(None, use_errno=True)
child = subprocess.Popen(['unshare', '-U', 'sh', '-c', 'echo; exec sleep 100'], stdout=subprocess.PIPE)
child.stdout.readline()
for kind in 'uid', 'gid':
    with open(f'/proc/{child.pid}/{kind}_map', 'w') as f:
        f.write('0 200000 65536')
userns = os.open(f'/proc/{child.pid}/ns/user', os.O_RDONLY)
tree = libc.syscall(428, -100, b'/usr', 1 | os.O_CLOEXEC)
attr = struct.pack('=4Q', 0x100000 | 1, 0, 0, userns)
if libc.syscall(442, tree, b'', 0x1000, attr, len(attr)) < 0:
    print(os.strerror(ctypes.get_errno()))
else:
    print(os.stat('bin/true', dir_fd=tree).st_uid)
child.kill()
END
is 'root: /usr can be idmapped' "$(python3 /tmp/idmap.py 2>&1)" 200000

is 'python3 runs' "$($as tester python3 -c 'import json, ssl, asyncio; print(6 * 7)')" 42
printf '#include <stdio.h>\nint main(void) { puts("built"); }\n' >/tmp/a.c
is 'gcc builds a program that runs' \
  "$(gcc -fsanitize=address -o /tmp/a /tmp/a.c 2>&1 && /tmp/a)" built
is 'bwrap runs for a user' "$($as plain bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev \
  echo inside 2>&1)" inside
is 'loop devices work' "$(truncate -s 4M /tmp/i && mke2fs -q /tmp/i 2>&1 &&
  mount -o loop /tmp/i /mnt && stat -c %F /mnt/lost+found; umount /mnt)" directory
if [ -x build/belljar ]; then
  is 'belljar runs' "$($as tester build/belljar --version | cut -d ' ' -f 1)" belljar
fi
finish
