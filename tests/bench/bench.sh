#!/bin/sh
# bench.sh - installs what bench.mjs compares with, if it is missing, and runs it; `make bench`
# calls it when all is built. BENCH_STARTS and BENCH_CALLS make it longer or shorter.
set -eu
cd "$(dirname "$0")"

e2e=../e2e
if [ -z "$(find "$e2e/node_modules/.package-lock.json" -newer "$e2e/package-lock.json" 2>/dev/null)" ]; then
  (cd "$e2e" && npm ci) >&2
fi
node=$e2e/node_modules/node/bin/node
[ -x "$node" ] || node=node
exec "$node" bench.mjs
