#!/bin/sh
# in_memory.sh COMMAND... - runs a command whose temporary files are on an ext4 in memory: a virtual
# machine's disk may take milliseconds to make or remove a file. A tmpfs alone would not do: what sandboxes
# write there counts as their memory. Without root, with less than 8 GiB of free memory, or without loop devices
# the files are where TMPDIR says.
#
# The mount is not in a private mount namespace: servers of this machine remove what belongs to state directories
# that they cannot see. What an earlier run left because it was killed is removed.
set -eu
free=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
if [ "$(id -u)" -ne 0 ] || [ "$free" -lt 8000000 ]; then
  exec "$@"
fi

# remove_mounts DIRECTORY - also those of daemons that were killed, below it
remove_mounts() {
  sed -n "s,^[^ ]* \($1[^ ]*\) .*,\1,p" /proc/mounts | sort -r | while read -r path; do
    umount -l "$path" || :
  done
  rmdir "$1" || :
}

# mount_memory DIRECTORY - the image is a file of the tmpfs that is hidden below it
mount_memory() {
  mount -t tmpfs -o size=75% belljar-tests "$1" && truncate -s 16G "$1/image" &&
    mke2fs -q -F -t ext4 -m 0 -E lazy_itable_init=1,lazy_journal_init=1 "$1/image" &&
    mount -o loop,noatime,nobarrier,discard "$1/image" "$1" && chmod 1777 "$1"
}

for old in /tmp/bj-test.*; do
  [ ! -d "$old" ] || [ -d "/proc/${old##*.}" ] || remove_mounts "$old"
done
dir=/tmp/bj-test.$$
mkdir "$dir"
trap 'remove_mounts "$dir"' EXIT
trap 'exit 1' HUP INT TERM
if mount_memory "$dir"; then
  export TMPDIR="$dir"
else
  echo "the tests have their files on the disk: no loop device could be mounted" >&2
fi
"$@"
