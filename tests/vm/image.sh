#!/bin/sh
# image.sh KERNEL-RELEASE DIRECTORY - creates the images that the virtual machine boots from, unless they
# exist and are up to date.
#
#   DIRECTORY/root.img      ext4 with the essential packages, those of guest-packages.txt and
#                           packages-build.txt, all their dependencies, as installed on this machine,
#                           and the kernel's modules
#   DIRECTORY/initrd.cpio   busybox, init.sh, and modules for disks, overlay and loop
#
# The root is a real ext4 and not this machine's root over 9p or virtiofs: Debian's cloud kernel has no
# 9p, and Linux 6.1 can idmap neither virtiofs nor an overlay on it. Of /etc only a short list of files is
# copied, so that no secret of this machine gets into an image.
set -eu
release=$1
dir=$2
vm=tests/vm
modules=/lib/modules/$release
. tests/installed.sh

die() {
  echo "vm: $*" >&2
  exit 1
}

fingerprint() {
  { cat "$vm/image.sh" tests/installed.sh "$vm/init.sh" "$vm/guest-packages.txt" scripts/packages-build.txt \
      /var/lib/dpkg/status
    echo "$release"; } | sha256sum | cut -d ' ' -f 1
}

packages() {
  # shellcheck disable=SC2046 # lists of names
  set -- $(cat "$vm/guest-packages.txt" scripts/packages-build.txt)
  dpkg-query -W "$@" >/dev/null ||
    die "packages are missing; install them: sh scripts/need.sh $*"
  # shellcheck disable=SC2046
  set -- "$@" $(dpkg-query -W -f '${Essential} ${Package}\n' | sed -n 's/^yes //p')
  list_with_dependencies "$@"
}

# Names of all files, without the leading slash, and with the index of modules, which no package lists.
files() {
  list_files <"$work/packages" | grep -E '^(usr/|etc/alternatives/|[a-z0-9]*$)' || :
  find "/usr/lib/modules/$release" | cut -c 2-
  (cd / && find etc/ld.so.conf etc/ld.so.conf.d etc/nsswitch.conf etc/protocols etc/services etc/debian_version \
    etc/os-release etc/bash.bashrc etc/profile etc/mke2fs.conf etc/login.defs etc/python3* 2>/dev/null) || :
}

make_root() {
  stage=$work/root
  mkdir -m 755 "$stage"
  packages >"$work/packages"
  files | keep_existing >"$work/files"
  tar -C / --no-recursion --xattrs --xattrs-include='security.capability' -cf - -T "$work/files" |
    tar -C "$stage" --xattrs --xattrs-include='security.capability' -xpf -
  for name in etc dev proc sys run tmp root home var/lib var/log var/tmp mnt srv; do
    mkdir -p "$stage/$name"
  done
  chmod 1777 "$stage/tmp" "$stage/var/tmp"
  chmod 700 "$stage/root"
  ln -s /run "$stage/var/run"
  ln -sf mawk "$stage/usr/bin/awk" # on this machine it may be another awk
  ldconfig -r "$stage"
  # Leaves space for the tests; the file is sparse.
  truncate -s 6G "$work/root.img"
  mke2fs -q -F -t ext4 -m 0 -O ^has_journal -E lazy_itable_init=1,root_owner=0:0 -L root \
    -d "$stage" "$work/root.img"
  rm -rf "$stage"
}

# with_dependencies MODULE... - the files of modules, each after those that it depends on.
with_dependencies() {
  for module in "$@"; do
    awk -v "file=$module.ko" -F '[: ]+' '
      { name = $1; sub(/.*\//, "", name); sub(/[.][xgz]+$/, "", name) }
      name == file { for (i = NF; i >= 1; i--) if ($i != "") print $i; found = 1 }
      END { exit !found }' "$modules/modules.dep" ||
      die "$modules has no module $module; is linux-image-cloud-amd64 installed completely?"
  done | awk '!seen[$0]++'
}

make_initrd() {
  stage=$work/initrd
  mkdir -p "$stage/bin" "$stage/modules" "$stage/dev" "$stage/proc" "$stage/sys" "$stage/root"
  cp "$(command -v busybox)" "$stage/bin/busybox"
  cp "$vm/init.sh" "$stage/init"
  chmod 755 "$stage/init"
  with_dependencies virtio_pci virtio_blk overlay loop >"$work/order"
  while read -r file; do
    cp "$modules/$file" "$stage/modules/"
    basename "$file" >>"$stage/modules/order"
  done <"$work/order"
  (cd "$stage" && find . | cpio --quiet -o -H newc -R 0:0) >"$work/initrd.cpio"
  rm -rf "$stage"
}

[ "$(id -u)" -eq 0 ] || die "only root can create the image, because it keeps the owners of files"
mkdir -p "$dir"
chmod 700 "$dir"
exec 9>"$dir/lock"
flock 9
now=$(fingerprint)
[ "$(cat "$dir/fingerprint" 2>/dev/null)" != "$now" ] || exit 0
echo "vm: creating the image in $dir, where it is kept" >&2
work=$(mktemp -d "$dir/make.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
make_root
make_initrd
rm -f "$dir/fingerprint"
mv "$work/root.img" "$work/initrd.cpio" "$dir/"
echo "$now" >"$dir/fingerprint"
