#!/bin/sh
# manual.sh BELLJAR PAGE - prints the manual page: PAGE, with each line @name@ replaced by the output of
# `belljar generate name`.
set -eu

if [ $# -ne 2 ]; then
  echo "usage: manual.sh BELLJAR PAGE" >&2
  exit 2
fi
belljar=$1
page=$2

while IFS= read -r line; do
  case $line in
  @*@)
    name=${line#@}
    name=${name%@}
    # An unknown section is an error, not an empty one.
    "$belljar" generate -- "$name" || {
      echo "manual.sh: $page: cannot fill in $line" >&2
      exit 1
    }
    ;;
  *) printf '%s\n' "$line" ;;
  esac
done <"$page"
