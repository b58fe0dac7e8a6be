#!/bin/sh
# The agent as it was built: small, static, hardened, and carried by belljar as it is now.
set -u
. tests/scripts/tap.sh
agent=build/agent/belljar-agent
most=204800

size=$(wc -c <"$agent")
is "at most $most bytes" "$([ "$size" -le "$most" ] || echo "$size bytes")" ''
is 'asks for no loader and no library' \
  "$(readelf -lW "$agent" | grep INTERP)$(readelf -dW "$agent" 2>/dev/null | grep NEEDED)" ''
is 'has no symbols and no debug information' \
  "$(readelf -SW "$agent" | grep -E ' \.(symtab|debug_[a-z]+) ')" ''
is 'has nothing that can be written and executed' \
  "$(readelf -lW "$agent" | grep -E ' RWE ')" ''
is 'relocates nothing in its code' "$(readelf -dW "$agent" | grep TEXTREL)" ''
is 'protects its stack' \
  "$(readelf -sW "$agent.debug" | grep -c ' __stack_chk_fail$')" 1
is 'a fixed address only where musl knows no other' \
  "$(readelf -hW "$agent" | awk '$1 == "Type:" { print $2 }')" \
  "$([ -n "$(find /usr/lib/*-linux-musl -name rcrt1.o 2>/dev/null)" ] && echo DYN || echo EXEC)"

# carries PROGRAM SOURCE - would a changed source change the program's copy of the agent?
carries() {
  env -u MAKEFLAGS -u MAKELEVEL make -n -W "$2" "$1" |
    awk '/agent_image[.]S/ { again++ } END { print again + 0 }'
}
for program in build/belljar build/san/belljar build/san/unit/engine/test_agent; do
  is "$program gets a new agent when src/agent/main.c changes" \
    "$(carries "$program" src/agent/main.c)" 1
  is "$program gets a new agent when src/wire/table.c changes" \
    "$(carries "$program" src/wire/table.c)" 1
  is "$program gets a new agent when src/base/view.h changes" \
    "$(carries "$program" src/base/view.h)" 1
  is "$program keeps its agent when src/cli/main.c changes" \
    "$(carries "$program" src/cli/main.c)" 0
done
finish
