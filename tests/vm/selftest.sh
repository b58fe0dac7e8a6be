#!/bin/sh
# selftest.sh - checks that the virtual machine is set up as the tests expect. Boots it four times;
# selftest-guest.sh runs inside.
set -u
cd "$(dirname "$0")/../.." || exit
. tests/scripts/tap.sh

# output_of COMMAND... - stdout and stderr of the command, with its status
output_of() {
  said=$("$@" 2>&1)
  printf '%s\n' "$said [$?]"
}

inside=$(sh tests/vm/vm.sh tests/vm/selftest-guest.sh "it's" 'two words' | sed 's/^/    /')
printf '%s\n' "$inside"
is 'all checks inside pass' "$(printf '%s\n' "$inside" |
  awk '$1 == "not" { bad++ } $1 ~ /^1[.][.]/ { plan = 1 } END { print plan ? bad + 0 : "no plan" }')" 0

left='mkdir /sys/fs/cgroup/x; (echo 0 >/sys/fs/cgroup/x/cgroup.procs; exec setsid sleep 100) & sleep 1'
is 'output and status are passed on, and remaining processes are not waited for' \
  "$(output_of sh tests/vm/vm.sh -t 60 -c "$left; echo out; echo err >&2; exit 77")" 'out
err [77]'
late=$(output_of sh tests/vm/vm.sh -t 8 -c 'echo begun; exec sleep 100' | tail -n 1)
is 'a command that takes too long is killed' "$late" 'vm: killed after 8 s [124]'
dead=$(output_of sh tests/vm/vm.sh -c 'echo c >/proc/sysrq-trigger' | tail -n 1)
is 'a crash of the machine is reported' "$(echo "$dead" | grep -o 'died before.*')" \
  'died before the command exited (qemu: 0) [125]'
is 'a missing script is reported' "$(output_of sh tests/vm/vm.sh /nowhere)" \
  'vm: cannot read the script /nowhere [125]'
finish
