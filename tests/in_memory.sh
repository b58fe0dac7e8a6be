#!/bin/sh
# in_memory.sh COMMAND... - runs a command whose temporary files are in a tmpfs of its own: a virtual
# machine's disk may take milliseconds to make or remove a file. No other process sees the mount, and it
# ends with the command. Without root the files are where TMPDIR says.
set -eu
[ "$(id -u)" -eq 0 ] || exec "$@"
dir=$(mktemp -d)
status=0
# shellcheck disable=SC2016 # the inner shell expands them
unshare --mount --propagation private sh -c '
  dir=$1
  shift
  mount -t tmpfs -o mode=1777,size=256g belljar-tests "$dir"
  TMPDIR=$dir exec "$@"' sh "$dir" "$@" || status=$?
rmdir "$dir"
exit "$status"
