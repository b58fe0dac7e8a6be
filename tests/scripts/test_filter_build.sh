#!/bin/sh
# The table of system calls: complete, as far as the libseccomp here knows, and for two machines.
set -u
. tests/scripts/tap.sh
generate=build/filter/generate

is 'every call that libseccomp knows is in a class' "$($generate check)" ''
is 'another machine is refused' "$($generate mips 2>&1; echo $?)" \
  'filter_build: usage: x86_64, aarch64 or check
1'
for machine in x86_64 aarch64; do
  is "what is linked for $machine is what the table says" \
    "$($generate $machine | cmp - build/filter/$machine.c 2>&1)" ''
done
finish
