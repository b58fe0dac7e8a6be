#!/bin/sh
# sanitized.sh - runs all end-to-end tests under the sanitizers; `make test-long` calls it in the root of the tree
# when everything is built. `make test` leaves some of them out.
set -eu
. tests/suites.sh
clear_results
install_packages e2e
# shellcheck disable=SC2046 # words
end_to_end_suites build/san $(end_to_end_files '*') >build/suites/list
run_suites build/suites/list "$(nproc)"
run_failed_again
count_results
