#!/bin/sh
# bench.sh - runs all benchmarks: tool calls beside bare programs, sandboxes beside bubblewrap, the
# channel beside a bare pipe, downloads through the gate beside downloads without one, and the server beside one on the official SDK, which is installed if it
# is missing; what descriptions and answers cost in bytes; and the docker engine beside docker exec.
# `make bench` calls it after the build. BENCH_RUNS, BENCH_ROW, BENCH_AWAKE, BENCH_MIB, BENCH_STARTS and BENCH_CALLS set how often
# each thing is measured.
set -eu
cd "$(dirname "$0")"

../../build/tools_bench
echo
if command -v bwrap >/dev/null; then
  ../../build/native_bench
else
  echo "no bwrap: apt install bubblewrap to compare sandboxes with it"
fi
echo
"${CHANNEL_BENCH:-../../build/channel_bench}"
echo
python3 gate_bench.py
echo
e2e=../e2e
if [ -z "$(find "$e2e/node_modules/.package-lock.json" -newer "$e2e/package-lock.json" 2>/dev/null)" ]; then
  (cd "$e2e" && npm ci) >&2
fi
node=$e2e/node_modules/node/bin/node
[ -x "$node" ] || node=node
"$node" sizes.mjs
echo
"$node" bench.mjs
echo
"$node" http.mjs
echo
exec sh docker_bench.sh
