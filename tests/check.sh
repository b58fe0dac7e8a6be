#!/bin/sh
# check.sh - the quick test; `make check` calls it in the root of the tree when everything is built.
#
# Runs every unit test but the agent's live ones, checks the sources that changed since they were
# checked last, and runs two end-to-end tests. `make test` runs everything.
set -eu
. tests/suites.sh
clear_results

{
  ! install_packages e2e >&2 || end_to_end_suites build tests/e2e/run/run.test.mjs tests/e2e/files/files.test.mjs
  unit_suites
} >build/suites/list
nice -n 19 sh tests/suite.sh 1800 'lint of changed files' sh tests/lint.sh --changed &
lint=$!
run_suites build/suites/list "$(($(nproc) + 2))"
wait "$lint"
count_results
