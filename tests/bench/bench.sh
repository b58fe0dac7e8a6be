#!/bin/sh
# bench.sh - measures the way into a sandbox, then the server beside the official SDK's (which
# it installs if it is missing); `make bench` calls it when all is built. BENCH_RUNS, BENCH_MIB,
# BENCH_STARTS and BENCH_CALLS make it longer or shorter.
set -eu
cd "$(dirname "$0")"

"${CHANNEL_BENCH:-../../build/channel_bench}"
echo
e2e=../e2e
if [ -z "$(find "$e2e/node_modules/.package-lock.json" -newer "$e2e/package-lock.json" 2>/dev/null)" ]; then
  (cd "$e2e" && npm ci) >&2
fi
node=$e2e/node_modules/node/bin/node
[ -x "$node" ] || node=node
exec "$node" bench.mjs
