#!/bin/sh
# Of a suite that fails, the result of its second run counts: run_failed_again of suites.sh.
set -u
. tests/scripts/tap.sh

top=$(mktemp -d)
trap 'rm -r "$top"' EXIT
mkdir "$top/tests"
cp tests/suite.sh tests/suites.sh tests/tap.awk "$top/tests"

# outcome FIRST SECOND - runs a suite of one test that prints FIRST, and SECOND when it is run again;
# prints how it is named, if it is, and the closing line
outcome() (
  cd "$top" || exit
  . tests/suites.sh
  printf '%s\n' 'echo 1..1' 'if test -e ran; then' "echo $2" 'else' "echo $1" 'fi' 'touch ran' >suite
  rm -f ran
  clear_results
  add 'a suite' sh suite >build/suites/list
  run_suites build/suites/list 2 >/dev/null
  run_failed_again | grep '^UNSTEADY'
  count_results
)

is 'a suite that passes runs once' "$(outcome 'ok 1' 'not ok 1')" '1 passed, 0 failed'
is 'a suite that fails twice has failed' "$(outcome 'not ok 1' 'not ok 1')" '0 passed, 1 failed'
is 'a suite that passes the second time is named' "$(outcome 'not ok 1' 'ok 1')" \
  'UNSTEADY a suite (failed beside others, passed alone)
1 passed, 0 failed'
is 'a suite that crashes twice has failed' "$(outcome 'ok 1; exit 1' 'ok 1; exit 1')" '1 passed, 1 failed'
finish
