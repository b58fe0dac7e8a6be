#!/bin/sh
# need.sh PACKAGE... - installs the Debian packages that are missing.
#
# Prints nothing if all are installed. Where packages cannot be installed (another system, or neither
# root nor sudo), the script names them and exits with 0: the build then shows what is really missing.
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
  echo "need: no apt-get here; please install:$missing" >&2
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
