#!/bin/sh
# suite.sh SECONDS NAME COMMAND... - runs one suite for run.sh and prints one line with its counts and
# its time, elapsed and of the processor, or the suite's whole output if a test failed.
#
# The command prints TAP on stdout and is killed after SECONDS. The counts go to
# build/suites/NAME.counts as "passed failed". The output is printed by one write, because
# suites run side by side. A suite that failed adds its arguments to build/suites/failed, as a line
# for xargs.
set -u

limit=$1
name=$2
shift 2
out=build/suites/$(echo "$name" | tr ' /' '__')
echo 0 1 >"$out.counts"
began=$(date +%s)
status=0
line=$(printf ' "%s"' "$limit" "$name" "$@")
timeout -k 10 "$limit" "$@" >"$out.tap" 2>"$out.err" </dev/null || status=$?

# The second line of `times` counts the children of this shell, not of a subshell: "0m1.230s 0m0.450s".
times >"$out.times"
cpu=$(awk 'NR == 2 { split($0, t, /[ms ]+/)
  printf "%.0f", t[1] * 60 + t[2] + t[3] * 60 + t[4] }' "$out.times")
took="$(($(date +%s) - began)) s, $cpu s of processor"
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
counts="$counts${*:+; the suite $*}; $took"
{
  if [ "$failed" -gt 0 ]; then
    echo "$line" >>build/suites/failed
    cat "$out.tap" "$out.err"
    echo "FAILED  $name ($counts)"
  else
    echo "ok      $name ($counts)"
  fi
  [ "$skipped" -eq 0 ] || grep -iE '^ *(not )?ok .*# *SKIP|^# skipped:' "$out.tap"
  sed -n 's/^# UNSTEADY/UNSTEADY/p' "$out.tap"
} >"$out.said"
cat "$out.said"
exit 0
