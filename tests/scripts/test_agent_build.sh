#!/bin/sh
# Checks the built agent: its size, static linking and hardening, and that programs embed the latest one.
set -u
. tests/scripts/tap.sh
agent=build/agent/belljar-agent
most=194560

size=$(wc -c <"$agent")
is "the agent has at most $most bytes" "$([ "$size" -le "$most" ] || echo "$size bytes")" ''
is 'the agent needs no loader and no library' \
  "$(readelf -lW "$agent" | grep INTERP)$(readelf -dW "$agent" 2>/dev/null | grep NEEDED)" ''
is 'the agent has no symbols and no debug information' \
  "$(readelf -SW "$agent" | grep -E ' \.(symtab|debug_[a-z]+) ')" ''
is 'the agent has no segment that is writable and executable' \
  "$(readelf -lW "$agent" | grep -E ' RWE ')" ''
is 'the agent has no text relocations' "$(readelf -dW "$agent" | grep TEXTREL)" ''
is 'the agent has a stack protector' \
  "$(readelf -sW "$agent.debug" | grep -c ' __stack_chk_fail$')" 1
is 'the agent is position independent where musl supports it' \
  "$(readelf -hW "$agent" | awk '$1 == "Type:" { print $2 }')" \
  "$([ -n "$(find /usr/lib/*-linux-musl -name rcrt1.o 2>/dev/null)" ] && echo DYN || echo EXEC)"

# embeds PROGRAM SOURCE - how often make would embed the agent again in PROGRAM if SOURCE changed
embeds() {
  env -u MAKEFLAGS -u MAKELEVEL make -n -W "$2" "$1" |
    awk '/agent_image[.]S/ { again++ } END { print again + 0 }'
}
for program in build/belljar build/san/belljar build/san/unit/engine/test_agent_image; do
  is "$program gets a new agent when src/agent/main.c changes" \
    "$(embeds "$program" src/agent/main.c)" 1
  is "$program gets a new agent when src/wire/table.c changes" \
    "$(embeds "$program" src/wire/table.c)" 1
  is "$program gets a new agent when src/base/view.h changes" \
    "$(embeds "$program" src/base/view.h)" 1
  is "$program keeps its agent when src/cli/main.c changes" \
    "$(embeds "$program" src/cli/main.c)" 0
done
finish
