#!/bin/sh
# lint.sh [--changed] - runs `make lint` and prints its checks as test results (TAP).
#
# --changed: checks with clang-tidy only the sources that differ from the last commit.
set -u
make --no-print-directory lint ${1:+LINT=changed} | awk '
  /^ok / { sub(/^ok */, ""); print "ok - " $0; count++; next }
  /^FAILED / { sub(/^FAILED */, ""); print "not ok - " $0; count++; next }
  { print "# " $0 }
  END { print "1.." count }'
