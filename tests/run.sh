#!/bin/sh
# run.sh - runs every test; `make test` calls it in the root of the tree when everything is built.
#
# Prints one line per suite, the whole output of a suite that fails, and as the very last line
# "N passed, M failed". A suite that crashes, hangs or prints no plan is a failure. A suite that fails
# is run once more at the end, by itself.
#
# The attacks that use up the machine run last. Lint, with a low priority, and the virtual machine
# take long and run beside everything else; the virtual machine with a high priority, because a
# kernel that does not get a processor for half a minute reports that and stops.
set -eu
. tests/suites.sh

{
  # The slow suites come first.
  [ "$(id -u)" -ne 0 ] ||
    seconds=3600 add "escape" python3 tests/escape/run.py --exhaustion without
  ! install_packages e2e >&2 || {
    # shellcheck disable=SC2046 # words
    end_to_end_suite build $(end_to_end_files '*')
    # shellcheck disable=SC2046
    end_to_end_suite build/san $(end_to_end_files '*')
  }
  ! install_packages conformance >&2 || {
    conformance_suite build
    conformance_suite build/san
  }
  if [ "$(id -u)" -eq 0 ] || [ -n "${DOCKER_HOST:-}" ]; then
    seconds=3600 add "e2e on docker" sh tests/docker/run.sh docker
    seconds=2400 add "containers of docker" sh tests/docker/run.sh docker tests/docker/life.test.mjs \
      tests/docker/daemons.test.mjs
    [ -n "${DOCKER_HOST:-}" ] || seconds=2400 add "e2e on podman" sh tests/docker/run.sh podman
    [ "$(id -u)" -ne 0 ] ||
      seconds=3600 add "escape on docker" sh tests/docker/run.sh escape --exhaustion without
  fi
  soak_suites
  live_suites
  unit_suites
  corpus_suites
  script_suites
} >build/suites/list
nice -n 5 sh tests/suite.sh 3600 lint sh tests/lint.sh &
beside=$!
if [ "$(id -u)" -eq 0 ]; then
  nice -n -10 sh tests/suite.sh 3600 "sandboxes on cgroup version 2" sh tests/vm/cgroup2.sh &
  beside="$beside $!"
fi
run_suites

if [ "$(id -u)" -eq 0 ]; then
  sh tests/suite.sh 2400 "escape by exhaustion" python3 tests/escape/run.py --exhaustion only
  sh tests/suite.sh 1200 "escape by exhaustion on docker" sh tests/docker/run.sh escape --exhaustion only
  cat build/suites/escape*.tap | grep -E '^# ([A-Z][A-Z]-[0-9]|test )' || :
else
  echo "SKIPPED escape, sandboxes on cgroup version 2${DOCKER_HOST:-, docker, podman} (not root)"
fi

# shellcheck disable=SC2086 # a list
wait $beside
run_failed_again
count_results
