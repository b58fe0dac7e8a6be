#!/bin/sh
# image.sh FILE - makes the archive of the test image from Debian packages that are installed on this machine.
set -eu
. tests/installed.sh

# With the essential packages, and all packages that these depend on.
packages='mawk apt python3 python3-pip procps perl curl git openssh-client nodejs python3-contourpy python3-cycler
  python3-dateutil python3-kiwisolver python3-numpy python3-packaging python3-pil python3-pyparsing'
# Alone: what Matplotlib depends on would be a gigabyte, with compilers.
alone='python3-matplotlib python-matplotlib-data'

# Links that update-alternatives made to libraries, such as libblas.so.3, and the packages that they lead to: no
# package depends on these by name.
list_libraries() {
  find /usr/lib/*-linux-gnu -maxdepth 1 -lname '/etc/alternatives/*'
}
chosen=$(list_libraries | xargs -r readlink -f | xargs -r dpkg-query -S 2>/dev/null | sed 's/[,:].*//' | LC_ALL=C sort -u)

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/etc" "$root/dev" "$root/proc" "$root/sys" "$root/run" "$root/tmp" "$root/root"
chmod 1777 "$root/tmp"
# The accounts are those of a new Debian, not this machine's.
sed 's/:\*:/:x:/' /usr/share/base-passwd/passwd.master >"$root/etc/passwd"
sed 's/:\*:/:x:/' /usr/share/base-passwd/group.master >"$root/etc/group"

# npm is left out: an image that has Node without npm is part of the tests.
# shellcheck disable=SC2046,SC2086 # lists of names
{
  { list_with_dependencies $packages $chosen $(dpkg-query -W -f '${Essential} ${Package}\n' | sed -n 's/^yes //p') &&
    printf '%s\n' $alone; } | list_files
  list_libraries | cut -c 2-
  echo etc/ld.so.cache
  find /etc/ssl/certs | cut -c 2- # made by update-ca-certificates
} | grep -vE '^(dev|proc|run|sys|tmp|root|etc/passwd|etc/group|usr/lib/node_modules|usr/include)(/|$)' |
  keep_existing >"$root/files"
tar --create --file "$1.new" --directory / --no-recursion --files-from "$root/files"
tar --append --file "$1.new" --directory "$root" --owner=0 --group=0 dev etc/passwd etc/group proc root run sys \
  tmp
mv "$1.new" "$1"
