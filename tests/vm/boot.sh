#!/bin/busybox sh
# boot.sh TREE - process 1 of the virtual machine: sets up a small system like that of systemd (cgroup v2
# only, slices, users), runs /run/vm/command, and powers off. The status of the command goes to the third
# serial line. Busybox runs the script, because starting a program takes 50 ms here.
# shellcheck shell=dash
set -u
tree=$1
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
cgroup=/sys/fs/cgroup

# As systemd does: the size of the file table follows the memory, which is small here.
echo 9223372036854775807 >/proc/sys/fs/file-max

finish() {
  echo "$1" >/dev/ttyS2
  poweroff -f
  sleep 60
}

create_users() {
  cat >/etc/passwd <<'END'
root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
tester:x:1000:1000:has subordinate ids:/home/tester:/bin/bash
plain:x:1001:1001:has none:/home/plain:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
END
  cat >/etc/group <<'END'
root:x:0:
daemon:x:1:
tty:x:5:
users:x:100:tester,plain
tester:x:1000:
plain:x:1001:
nogroup:x:65534:
END
  # Enough subordinate ids for two sandboxes, a usual amount.
  echo tester:100000:131072 >/etc/subuid
  echo tester:100000:131072 >/etc/subgid
  for user in tester:1000 plain:1001; do
    install -d -m 700 -o "${user#*:}" -g "${user#*:}" "/home/${user%:*}" "/run/user/${user#*:}"
  done
}

mount_all() {
  mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
  mount -t tmpfs -o mode=1777,nosuid,nodev shm /dev/shm
  mount -t cgroup2 -o nsdelegate cgroup2 "$cgroup"
  mount --make-rshared /
}

# Process 1 gets a cgroup of its own: a cgroup with processes cannot pass controllers on to children.
create_cgroups() {
  mkdir "$cgroup/init.scope" "$cgroup/system.slice" "$cgroup/user.slice"
  echo 1 >"$cgroup/init.scope/cgroup.procs"
  for dir in "$cgroup" "$cgroup/system.slice" "$cgroup/user.slice"; do
    echo '+memory +pids +cpu +io +cpuset' >"$dir/cgroup.subtree_control"
  done
  mkdir "$cgroup/system.slice/tests.service"
}

# kill_all_but PID - kills the cgroups first, from which no fork escapes, then processes that left them.
# Kernel threads ignore the signal.
kill_all_but() {
  echo 1 >"$cgroup/system.slice/cgroup.kill"
  echo 1 >"$cgroup/user.slice/cgroup.kill"
  for _ in 1 2 3; do
    for process in /proc/[0-9]*; do
      process=${process#/proc/}
      [ "$process" -eq 1 ] || [ "$process" -eq "$1" ] || kill -9 "$process" 2>/dev/null
    done
  done
}

# The command writes to a pipe, so that its output is no terminal, and is written out completely before the
# machine powers off. Remaining processes are killed, because they would keep the pipe open.
run_command() {
  mkfifo -m 600 /run/vm/output
  stty -F /dev/ttyS1 raw -echo
  setsid cat /run/vm/output >/dev/ttyS1 &
  cat=$!
  # shellcheck disable=SC2016 # the other shell's arguments
  setsid /bin/sh -c 'echo 0 >"$1/cgroup.procs" && cd "$2" && . /run/vm/command' \
    command "$cgroup/system.slice/tests.service" "$tree" </dev/null >/run/vm/output 2>&1 &
  wait "$!"
  status=$?
  kill_all_but "$cat"
  wait "$cat"
}

mkdir -p /dev/pts /dev/shm /run/user
mount_all
create_users
create_cgroups
hostname vm
ip link set lo up
run_command
finish "$status"
