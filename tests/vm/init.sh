#!/bin/busybox sh
# init.sh - /init of the initial file system: finds and mounts the disks, then starts boot.sh. The second
# serial line carries the output of the tests, the third their status.
# shellcheck shell=dash
bb=/bin/busybox

fail() {
  $bb echo "vm: cannot boot: $*" | $bb tee /dev/ttyS1
  $bb echo "failed" >/dev/ttyS2
  $bb poweroff -f
}

$bb mount -t devtmpfs dev /dev
$bb mount -t proc proc /proc
$bb mount -t sysfs sys /sys
while read -r module; do
  $bb insmod "/modules/$module" || fail "insmod $module"
done </modules/order
tries=0
until [ -b /dev/vda ] && [ -b /dev/vdb ]; do
  tries=$((tries + 1))
  [ "$tries" -le 100 ] || fail "no disks"
  $bb usleep 50000
done
$bb mount -t ext4 -o noatime /dev/vda /root || fail "mount /dev/vda"
tree=$($bb cat /vm/tree)
$bb mkdir -p "/root$tree"
$bb mount -t ext4 -o noatime /dev/vdb "/root$tree" || fail "mount /dev/vdb"
$bb mount -t tmpfs -o mode=755,nosuid,nodev run /root/run
$bb cp -r /vm /root/run/vm || fail "no /vm"
for name in dev proc sys; do
  $bb mount -o move "/$name" "/root/$name"
done
exec $bb switch_root /root /bin/busybox sh "$tree/tests/vm/boot.sh" "$tree"
