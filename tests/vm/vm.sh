#!/bin/sh
# vm.sh [-t SECONDS] SCRIPT [ARGUMENT...]
# vm.sh [-t SECONDS] -c COMMAND [ARGUMENT...]
#
# Boots a small virtual machine (emulated, no KVM; Debian's cloud kernel, cgroup v2 only, 2 CPUs, 2 GiB, no
# network) and runs the script in it as root, in the root of this tree. Passes on its output and its
# status. 124: the script took longer than SECONDS (300); 125: the machine could not be started or crashed.
# `sh tests/vm/as.sh tester COMMAND...` in the script runs a command as a user with a delegated cgroup;
# the user `plain` has no subordinate ids.
#
# The tree in the machine is a copy without objects, .git, node_modules and the unit tests of folders other than engine. Changes in the machine are
# lost.
#
#   VM_DIR      the directory of the images (build/vm)
#   VM_KERNEL   a kernel release in /lib/modules (the newest *-cloud-amd64)
# shellcheck disable=SC2317 # clean_up() is called by a trap
set -eu
limit=300
command=

die() {
  echo "vm: $*" >&2
  exit 125
}

quoted() {
  for word in "$@"; do
    printf " '%s'" "$(printf '%s\n' "$word" | sed "s/'/'\\\\''/g")"
  done
}

while getopts c:t: option; do
  case $option in
  c) command=$OPTARG ;;
  t) limit=$OPTARG ;;
  *) die "usage: vm.sh [-t SECONDS] SCRIPT [ARGUMENT...] | -c COMMAND [ARGUMENT...]" ;;
  esac
done
shift $((OPTIND - 1))
[ "$limit" -gt 0 ] 2>/dev/null || die "-t needs a number of seconds, not '$limit'"
if [ -z "$command" ]; then
  [ $# -gt 0 ] || die "usage: vm.sh [-t SECONDS] SCRIPT [ARGUMENT...] | -c COMMAND [ARGUMENT...]"
  [ -r "$1" ] || die "cannot read the script $1"
  script=$(realpath "$1")
  shift
fi

cd "$(dirname "$0")/../.."
tree=$PWD
dir=$(realpath -m "${VM_DIR:-build/vm}")
for program in qemu-system-x86_64 busybox cpio mke2fs flock; do
  command -v "$program" >/dev/null ||
    PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null ||
    die "$program is missing; install the packages of the tests: sh scripts/need.sh \$(cat scripts/packages-test.txt)"
done
PATH=$PATH:/usr/sbin:/sbin
release=${VM_KERNEL:-$(find /boot -maxdepth 1 -name 'vmlinuz-*-cloud-amd64' |
  sed 's,.*/vmlinuz-,,' | sort -V | tail -n 1)}
ls "/boot/vmlinuz-$release" "/lib/modules/$release/modules.dep" >/dev/null 2>&1 ||
  die "no kernel to boot is installed; install one: sh scripts/need.sh linux-image-cloud-amd64"
sh tests/vm/image.sh "$release" "$dir" || die "the image could not be created"

work=$(mktemp -d "$dir/run.XXXXXX")
qemu=
clean_up() {
  [ -z "$qemu" ] || kill "$qemu" 2>/dev/null || :
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Copy the tree to a disk image.
mkdir "$work/tree" "$work/extra" "$work/extra/vm"
tar --exclude=./.git --exclude=./build/vm --exclude=./build/obj --exclude=./build/fuzz \
  --exclude=./build/lint --exclude='./build/*/obj' --exclude='*.o' --exclude='*.a' \
  --exclude='./build/san/unit/[!e]*' --exclude=./build/san/replay \
  --exclude=node_modules -cf - . | tar -C "$work/tree" -xpf -
truncate -s 2G "$work/tree.img"
mke2fs -q -F -t ext4 -m 0 -O ^has_journal -E lazy_itable_init=1,root_owner=0:0 -L tree \
  -d "$work/tree" "$work/tree.img"
rm -rf "$work/tree"

# The command, in a second archive behind the initial file system.
echo "$tree" >"$work/extra/vm/tree"
if [ -n "$command" ]; then
  echo "exec /bin/sh -c$(quoted "$command" vm "$@")" >"$work/extra/vm/command"
else
  cp "$script" "$work/extra/vm/script"
  case $(head -c 2 "$script") in
  '#!') chmod 755 "$work/extra/vm/script" && echo "exec /run/vm/script$(quoted "$@")" ;;
  *) echo "exec /bin/sh /run/vm/script$(quoted "$@")" ;;
  esac >"$work/extra/vm/command"
fi
(cd "$work/extra" && find . | cpio --quiet -o -H newc -R 0:0) >"$work/extra.cpio"
cat "$dir/initrd.cpio" "$work/extra.cpio" >"$work/initrd.cpio"

# Through a pipe: qemu sets O_NONBLOCK on its output, which our caller may share.
mkfifo "$work/output"
cat "$work/output" &
output=$!
TMPDIR=$work timeout -k 5 "$limit" qemu-system-x86_64 -nodefaults -no-user-config -no-reboot \
  -machine pc,accel=tcg -cpu max -smp 2 -m 2048 -display none -monitor none -net none \
  -kernel "/boot/vmlinuz-$release" -initrd "$work/initrd.cpio" \
  -append 'console=ttyS0 quiet loglevel=5 panic=-1 oops=panic mitigations=off rdinit=/init cgroup_no_v1=all' \
  -drive "file=$dir/root.img,if=virtio,format=raw,snapshot=on" \
  -drive "file=$work/tree.img,if=virtio,format=raw,cache=unsafe" \
  -serial "file:$work/console" -serial stdio -serial "file:$work/status" \
  </dev/null >"$work/output" 2>"$work/errors" &
qemu=$!
qemu_status=0
wait "$qemu" || qemu_status=$?
qemu=
wait "$output" || :

status=$(tr -cd 'a-z0-9' <"$work/status" 2>/dev/null || :)
case $status in
'' | *[!0-9]*)
  cat "$work/errors" >&2
  tail -n 40 "$work/console" >&2 2>/dev/null || :
  case $qemu_status in
  124 | 137) echo "vm: killed after $limit s" >&2 && exit 124 ;;
  *) die "the machine died before the command exited (qemu: $qemu_status)" ;;
  esac
  ;;
esac
exit "$status"
