#!/bin/sh
# check-documents.sh DOCUMENT... - checks that every source file named in the documents exists.
#
# A name is text in backquotes that ends in .c, .h, .py, .js or .sh, such as `src/base/buf.h`,
# `mcp/call.c: mcp_call_progress()` or `base/buf.c`; it is looked up as it is, below src/ and, without a
# folder, anywhere in the tree. Names with capitals are placeholders.
set -eu
missing=$(grep -HonE '`[a-z0-9_./-]+\.(c|h|py|js|sh)\b' "$@" | tr -d '`' |
  while IFS=: read -r document line name; do
    case $name in
    */*) [ -e "$name" ] || [ -e "src/$name" ] || [ -n "$(find src -path "*/$name")" ] ;;
    *) [ -n "$(find src scripts tests -name node_modules -prune -o -name "$name" -print)" ] ;;
    esac || echo "$document:$line: there is no file $name"
  done)
[ -z "$missing" ] || {
  echo "$missing"
  exit 1
}
