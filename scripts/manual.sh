#!/bin/sh
# Writes the manual page to standard output: the page with each line @name@ replaced by
# what `belljar generate name` prints.
#
#   sh scripts/manual.sh build/belljar doc/belljar.1.in >belljar.1
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
    # A section that is not there must not go missing silently.
    "$belljar" generate -- "$name" || {
      echo "manual.sh: $page: cannot fill in $line" >&2
      exit 1
    }
    ;;
  *) printf '%s\n' "$line" ;;
  esac
done <"$page"
