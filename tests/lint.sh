#!/bin/sh
# lint.sh [--changed] - runs `make lint` and prints its checks as test results (TAP).
#
# The jobserver of a make that runs the tests is not available here, so its MAKEFLAGS are dropped.
# --changed: checks with clang-tidy only the sources that differ from the last commit.
set -u
env -u MAKEFLAGS -u MAKELEVEL make --no-print-directory lint ${1:+LINT=changed} | awk '
  /^ok / { sub(/^ok */, ""); print "ok - " $0; count++; next }
  /^FAILED / { sub(/^FAILED */, ""); print "not ok - " $0; count++; next }
  { print "# " $0 }
  END { print "1.." count }'
