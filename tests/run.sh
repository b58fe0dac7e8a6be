#!/bin/sh
# run.sh - runs every test; `make test` calls it in the root of the tree when everything is built.
#
# Prints one line per suite, the whole output of a suite that fails, and as the very last line
# "N passed, M failed". A suite that crashes, hangs or prints no plan is a failure. A suite that fails
# is run once more at the end, by itself.
#
# Everything runs once: an end-to-end test either under the sanitizers or, where it mostly runs other programs, with
# the program as it is released. `make test-long` runs them with both.
#
# Three lines of work run side by side: the suites of this machine, the suites on Docker and then on Podman,
# and, with a low priority, lint. The virtual machine runs beside them, with a high priority, because a kernel
# that does not get a processor for half a minute reports that and stops.
set -eu
. tests/suites.sh
clear_results
npm_ok=true
install_packages e2e || npm_ok=false
install_packages conformance || npm_ok=false

# run_on docker|podman - a daemon that cannot be started counts as a failure
run_on() {
  sh tests/docker/run.sh suites "$1" && return
  echo "FAILED  the suites on $1 did not run"
  echo 0 1 >"build/suites/$1.counts"
}

is_root() {
  [ "$(id -u)" -eq 0 ]
}

released='packages.*|profile_(code_executor|hostile|packages|walks|words)|languages|limits|notes|questions'
released="$released|cli|doctor|ends|buffering|sdk2|http_sdk|http_tools"
{
  # The slow suites come first.
  if is_root; then
    seconds=2400 add "escape" python3 tests/escape/run.py --exhaustion without
    seconds=2400 add "escape by exhaustion" env ESCAPE_FIRST_USER=61003 python3 tests/escape/run.py --exhaustion only
  fi
  if $npm_ok; then
    # shellcheck disable=SC2046 # words
    end_to_end_suites build $(end_to_end_files '*' | grep -E "/($released)\.test\.mjs$")
    # shellcheck disable=SC2046
    end_to_end_suites build/san $(end_to_end_files '*' | grep -vE "/($released)\.test\.mjs$")
    conformance_suite build/san
  fi
  soak_suites
  script_suites
  live_suites build/san/agent
  live_suites "" | grep test_live_run
  # Hundreds of short ones are last: no processor waits for the end of a long one.
  unit_suites
  corpus_suites
} >build/suites/list

nice -n 5 sh tests/suite.sh 5000 lint sh tests/lint.sh &
beside=$!
if is_root; then
  nice -n -10 sh tests/suite.sh 2400 "sandboxes on cgroup version 2" sh tests/vm/cgroup2.sh &
  beside="$beside $!"
fi
containers=
if is_root || [ -n "${DOCKER_HOST:-}" ]; then
  {
    run_on docker
    [ -n "${DOCKER_HOST:-}" ] || run_on podman
  } &
  containers=$!
fi
run_suites build/suites/list "$(($(nproc) + 2))"
# shellcheck disable=SC2086 # a list
wait $beside $containers
if is_root; then
  cat build/suites/escape*.tap | grep -E '^# ([A-Z][A-Z]-[0-9]|test )' || :
else
  echo "SKIPPED escape, sandboxes on cgroup version 2${DOCKER_HOST:-, docker, podman} (not root)"
fi
run_failed_again
count_results
