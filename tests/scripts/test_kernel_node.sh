#!/bin/sh
# test_kernel_node.sh - the Node kernel, with each Node that is here (tests/kernels/node_test.mjs).
set -eu
nodes=
for node in "$PWD/tests/e2e/node_modules/node/bin/node" "$(command -v node || :)"; do
  [ ! -x "$node" ] || nodes=$nodes${nodes:+:}$node
done
if [ -z "$nodes" ]; then
  echo "1..0 # SKIP there is no node"
  exit 0
fi
export KERNEL_NODES="$nodes"
exec "${nodes%%:*}" --test --test-reporter=tap tests/kernels/node_test.mjs
