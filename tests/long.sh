#!/bin/sh
# long.sh - runs the suites of which `make test` runs only a part: the end-to-end tests, the agent's live tests and
# the conformance suite with the released program and under the sanitizers, and all that runs on Docker and Podman;
# `make test-long` calls it in the root of the tree when everything is built.
set -eu
. tests/suites.sh
clear_results
install_packages e2e
install_packages conformance
for build in build build/san; do
  # shellcheck disable=SC2046 # words
  end_to_end_suites "$build" $(end_to_end_files '*')
  conformance_suite "$build"
done >build/suites/list
live_suites "" >>build/suites/list
run_suites build/suites/list "$(nproc)"
for engine in docker podman; do
  sh tests/docker/run.sh suites "$engine" long
done
run_failed_again
count_results
