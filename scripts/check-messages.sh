#!/bin/sh
# check-messages.sh [SRC] - fails for a message in the table of SRC/wire/table.c that the end the table names as
# its sender never sends. The agent's end is SRC/agent, the server's end is everything else but SRC/wire.
#
# A message counts as sent where its constant is used as a value: `case WIRE_X:` and comparisons with == or !=
# only receive it.
set -eu
src=${1:-src}

# used_values FIND-ARGUMENT... - the constants WIRE_* that the files below $src use as values
used_values() {
  find "$src" -name '*.c' "$@" -exec sed -E 's/(case|[=!]=) +WIRE_[A-Z0-9_]+//g' {} + |
    grep -oE 'WIRE_[A-Z0-9_]+' | sort -u
}

{
  used_values -path "$src/agent/*" | sed 's/^/sent agent /'
  used_values ! -path "$src/agent/*" ! -path "$src/wire/*" | sed 's/^/sent server /'
  cat "$src/wire/table.c"
} | awk -v table="$src/wire/table.c" '
  function require_sender(end) {
    if (!((end, name) in sent)) {
      print table ": the " end " never sends " name ": delete the message"
      failed = 1
    }
  }
  $1 == "sent" { sent[$2, $3] = 1; next }
  /^\t\[WIRE_[A-Z0-9_]+\] = \{/ { name = $1; gsub(/[][]/, "", name) }
  name != "" && /WIRE_FROM_(SERVER|AGENT|EITHER)|OPENS\(/ {
    if (!/WIRE_FROM_AGENT/) require_sender("server")
    if (/WIRE_FROM_(AGENT|EITHER)/) require_sender("agent")
    name = ""
    count++
  }
  END {
    if (count == 0) print table ": no messages found"
    exit failed || count == 0
  }'
