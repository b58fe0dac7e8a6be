#!/bin/sh
# in_memory.sh COMMAND... - runs a command whose temporary files are in a tmpfs of its own: a virtual
# machine's disk may take milliseconds to make or remove a file. Without root, or with less than 8 GiB of free
# memory, they are where TMPDIR says.
#
# The mount is not in a private mount namespace: servers of this machine remove what belongs to state directories
# that they cannot see. What an earlier run left because it was killed is removed.
set -eu
free=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
if [ "$(id -u)" -ne 0 ] || [ "$free" -lt 8000000 ]; then
  exec "$@"
fi

remove_mount() {
  umount -l "$1" 2>/dev/null || :
  rmdir "$1"
}

for old in /tmp/belljar-test.*; do
  [ ! -d "$old" ] || [ -d "/proc/${old##*.}" ] || remove_mount "$old"
done
dir=/tmp/belljar-test.$$
mkdir "$dir"
trap 'remove_mount "$dir"' EXIT
trap 'exit 1' HUP INT TERM
mount -t tmpfs -o mode=1777,size=75% belljar-tests "$dir"
TMPDIR=$dir "$@"
