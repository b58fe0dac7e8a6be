#!/bin/sh
# selftest.sh - the virtual machine is what the tests believe it is. Boots it four times, on this
# machine; selftest-guest.sh is what is checked inside.
set -u
cd "$(dirname "$0")/../.." || exit
. tests/scripts/tap.sh

# says COMMAND... - what it printed on both, with the status
says() {
  said=$("$@" 2>&1)
  printf '%s\n' "$said [$?]"
}

inside=$(sh tests/vm/vm.sh tests/vm/selftest-guest.sh "it's" 'two words' | sed 's/^/    /')
printf '%s\n' "$inside"
is 'everything is right inside' "$(printf '%s\n' "$inside" |
  awk '$1 == "not" { bad++ } $1 ~ /^1[.][.]/ { plan = 1 } END { print plan ? bad + 0 : "no plan" }')" 0

left='mkdir /sys/fs/cgroup/x; (echo 0 >/sys/fs/cgroup/x/cgroup.procs; exec setsid sleep 100) & sleep 1'
is 'output and status come out, and nothing waits for what is left running' \
  "$(says sh tests/vm/vm.sh -t 60 -c "$left; echo out; echo err >&2; exit 77")" 'out
err [77]'
late=$(says sh tests/vm/vm.sh -t 8 -c 'echo begun; exec sleep 100' | tail -n 1)
is 'a command that takes too long is ended' "$late" 'vm: ended after 8 s [124]'
dead=$(says sh tests/vm/vm.sh -c 'echo c >/proc/sysrq-trigger' | tail -n 1)
is 'a machine that dies is no success' "$(echo "$dead" | grep -o 'died before.*')" \
  'died before the command ended (qemu: 0) [125]'
is 'a script that is not there is said so' "$(says sh tests/vm/vm.sh /nowhere)" \
  'vm: cannot read the script /nowhere [125]'
finish
