#!/bin/sh
# Checks what `./run` shows to a new user: the program in the sandbox works and cannot do what it must not.
set -u
. tests/scripts/tap.sh

shown=$(sh scripts/demo.sh build/belljar 2>&1)
is 'the demonstration succeeds' "$?" 0
for line in 'I am coderunner in /workspace' 'I cannot write to /usr: Read-only file system' \
  'I cannot read your home: ' "My networks: ['lo']" '5050'; do
  is "it prints: $line" "$(printf '%s\n' "$shown" | grep -cF "  $line")" 1
done
is 'no traceback is shown' "$(printf '%s\n' "$shown" | grep -c Traceback)" 0
finish
