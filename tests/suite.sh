#!/bin/sh
# suite.sh SECONDS NAME COMMAND... - one suite of run.sh: its line, and its whole output if it fails.
#
# The results are on the command's stdout (TAP). What was counted goes to build/suites/NAME.counts as
# "passed failed". Everything is said in one piece, for suites run side by side.
set -u

limit=$1
name=$2
shift 2
out=build/suites/$(echo "$name" | tr ' /' '__')
echo 0 1 >"$out.counts"
status=0
timeout -k 10 "$limit" "$@" >"$out.tap" 2>"$out.err" </dev/null || status=$?

# shellcheck disable=SC2046 # fields
set -- $(awk -v status="$status" -f tests/tap.awk "$out.tap")
passed=$1
failed=$2
skipped=$3
shift 3
echo "$passed $failed" >"$out.counts"

counts="$passed passed"
[ "$failed" -eq 0 ] || counts="$counts, $failed failed"
[ "$skipped" -eq 0 ] || counts="$counts, $skipped SKIPPED"
counts="$counts${*:+; the suite $*}"
{
  if [ "$failed" -gt 0 ]; then
    cat "$out.tap" "$out.err"
    echo "FAILED  $name ($counts)"
  else
    echo "ok      $name ($counts)"
  fi
  [ "$skipped" -eq 0 ] || grep -iE '^ *(not )?ok .*# *SKIP|^# skipped:' "$out.tap"
} >"$out.said"
cat "$out.said"
exit 0
