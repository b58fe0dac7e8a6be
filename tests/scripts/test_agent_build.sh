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

# rebuilt SOURCE - of the programs below, those that make would link again if SOURCE changed, and how often it would
# embed the agent
programs='build/belljar build/san/belljar build/san/unit/engine/test_agent_image'
rebuilt() {
  # shellcheck disable=SC2086 # a list
  env -u MAKEFLAGS -u MAKELEVEL make -n -W "$1" $programs | awk -v programs="$programs" '
    BEGIN { n = split(programs, name, " ") }
    /agent_image[.]S/ { embedded++ }
    { for (i = 1; i <= n; i++) if ($0 ~ " -o " name[i] "$") is_linked[i] = 1 }
    END {
      for (i = 1; i <= n; i++) if (is_linked[i]) linked = linked " " name[i]
      print "embedded " embedded + 0 ", linked" linked
    }'
}
for source in src/agent/main.c src/wire/table.c src/base/view.h; do
  is "every program gets a new agent when $source changes" "$(rebuilt "$source")" "embedded 1, linked $programs"
done
is 'the agent is not embedded again when src/cli/main.c changes' "$(rebuilt src/cli/main.c | cut -d, -f1)" 'embedded 0'
finish
