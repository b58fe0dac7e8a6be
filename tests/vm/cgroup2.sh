#!/bin/sh
# cgroup2.sh - tests sandboxes on a machine with cgroup version 2 only: boots a virtual machine and runs
# cgroup2-guest.sh in it.
set -eu
cd "$(dirname "$0")/../.."
exec sh tests/vm/vm.sh -t "${VM_SECONDS:-3400}" tests/vm/cgroup2-guest.sh "$@"
