#!/bin/sh
# cgroup2-guest.sh [long [TESTS]] - tests in the virtual machine: unit tests of cgroups and quotas, the
# report of doctor as root and as users with and without a delegated cgroup, and limits as a user meets them.
# long: also the unit tests of the spawner, and all escape tests, as root and as both kinds of users, or those named.
set -u
. tests/scripts/tap.sh
belljar=$PWD/build/belljar

# unit NAME - runs one unit test program
unit() {
  if CMOCKA_MESSAGE_OUTPUT=STDOUT "build/san/unit/$1" >/tmp/unit.out 2>&1; then
    is "unit $1" ok ok
  else
    sed 's/^/# /' /tmp/unit.out | tail -n 40
    is "unit $1" failed ok
  fi
}

# layers COMMAND... - the states that doctor, run by the command, reports for ids and limits
layers() {
  "$@" "$belljar" doctor --json | python3 -c '
import json, sys
for check in json.load(sys.stdin)["checks"]:
    if check["name"] in ("sandbox", "ids", "cgroups", "memory", "swap", "cpu", "processes"):
        print(check["name"], check["status"], end="; ")'
}

all_on='sandbox on; ids on; cgroups on; memory on; swap on; cpu on; processes on; '
is 'root has every limit of cgroup version 2' "$(layers sh tests/vm/as.sh root)" "$all_on"
is 'a user with a delegated cgroup has every limit' "$(layers sh tests/vm/as.sh tester)" "$all_on"
is 'doctor reports a missing delegated cgroup' "$(layers sh tests/vm/as.sh -n tester | grep -o 'cgroups [a-z]*')" \
  'cgroups off'
is 'doctor reports that a user has a single id' "$(layers sh tests/vm/as.sh plain | grep -o 'ids [a-z]*')" \
  'ids weaker'

said=$(sh tests/vm/as.sh tester "$belljar" exec --memory 64M python3 -c 'x = b"x" * (200 << 20)' 2>&1)
is 'the memory limit of a user is enforced and named' "${said%%: use less*}" \
  'belljar: memory: processes were killed, the limit is 64 MiB'
# shellcheck disable=SC2016 # for the shell inside
said=$(sh tests/vm/as.sh tester "$belljar" exec --pids 16 sh -c 'for i in $(seq 40); do sleep 60 & done' 2>&1)
is 'the limit on processes of a user is enforced and named' "$(echo "$said" | grep -o 'pids: .*, the limit is [0-9]*')" \
  'pids: processes were refused, the limit is 16'
said=$(sh tests/vm/as.sh tester "$belljar" exec cat /proc/self/cgroup)
is 'a sandbox sees only its own cgroup' "$said" '0::/'

# The server forks its helpers while the spawner prepares the cgroup, so each round is a race.
requests() {
  sleep 1
  printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"vm","version":"1"}}}' \
    '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sandbox_info","arguments":{"detail":"full"}}}'
  sleep 8
}
said=$(for _ in 1 2 3; do requests | sh tests/vm/as.sh tester "$belljar" serve; done |
  grep -o '"layer":"cgroups","state":"[a-z]*"' | sed 's/.*:"//; s/"//' | tr '\n' ' ')
is 'a server with helpers has every limit of a delegated cgroup' "$said" 'on on on '

unit engine/native/cgroup/test_cgroup
unit engine/native/cgroup/test_cgroup_text

# On a file system with project quotas the disk limit is exact.
. tests/vm/quota.sh
test_quotas ext4 -O quota,project -E quotatype=prjquota
test_quotas xfs

if [ "${1:-}" = long ]; then
  unit engine/native/spawner/test_spawner
  # A user cannot read the kernel's number of file locks: the processor time of the sandbox leads to a count.
  said=$(sh tests/vm/as.sh tester "$belljar" exec --timeout 800 --mounts "$PWD/build/escape:/escape" \
    /escape/rx_kernel locks 4 30000 2>&1)
  is 'the limit on record locks of a user is enforced and named' "${said%%; processes*}" \
    'belljar: the sandbox ended: locks: it held more than 100000 record locks (fcntl)'
  for mode in R U S; do
    # The status of run.py tells also that one of its processes crashed.
    status=0
    sh tests/vm/as.sh root env ESCAPE_SLOWER=10 python3 tests/escape/run.py --mode $mode --only "${2:-}" \
      >/tmp/attacks.tap 2>&1 || status=$?
    sed 's/^/    /' /tmp/attacks.tap
    is "no escape test fails ($mode)" "$status" 0
    is "the escape tests ran ($mode)" "$(grep -qE '^ok ' /tmp/attacks.tap && echo yes)" yes
  done
fi
finish
