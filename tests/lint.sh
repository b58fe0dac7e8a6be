#!/bin/sh
# lint.sh - `make lint` as a suite of run.sh: its checks as test results (TAP).
set -u
make --no-print-directory lint | awk '
  /^ok / { sub(/^ok */, ""); print "ok - " $0; count++; next }
  /^FAILED / { sub(/^FAILED */, ""); print "not ok - " $0; count++; next }
  { print "# " $0 }
  END { print "1.." count }'
