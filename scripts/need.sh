#!/bin/sh
# need.sh PACKAGE... - installs the Debian packages that are missing.
#
# Quiet when nothing is missing. Where it cannot install (another system, or neither root
# nor sudo) it says what is needed and goes on: the build then tells what it really lacks.
set -eu

is_installed() {
  dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

missing=
for package in "$@"; do
  is_installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "need: no apt-get here; please see to it that these are installed:$missing" >&2
  exit 0
fi
if [ "$(id -u)" -eq 0 ]; then
  as_root=
elif command -v sudo >/dev/null; then
  as_root=sudo
else
  echo "need: neither root nor sudo; please install:$missing" >&2
  exit 0
fi

echo "need: installing$missing" >&2
apt_get() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null >&2
}
apt_get update || echo "need: apt-get update failed; trying with the lists there are" >&2
# shellcheck disable=SC2086 # a list of names
apt_get install -y --no-install-recommends $missing
