#!/bin/sh
# check-documents.sh DOCUMENT|FOLDER... - checks that source files and functions named in texts exist.
#
# In a document a name is text in backquotes: a file that ends in .c, .h, .py, .js or .sh, such as
# `src/base/buf.h`, `mcp/call.c: mcp_call_progress()` or `base/buf.c`, which is looked up as it is,
# below src/ and, without a folder, anywhere in the tree; or a function with an underscore and its
# parentheses, which must occur in src/ and, behind the name of a file, in that file. Names with
# capitals are placeholders. In a folder of sources a name is a path that begins with src/ and ends
# in .c or .h.
set -eu

find_file() { # NAME
  case $1 in
  */*) for path in "$1" "src/$1" $(find src -path "*/$1"); do [ ! -e "$path" ] || echo "$path"; done ;;
  *) find src scripts tests -name node_modules -prune -o -name "$1" -print ;;
  esac
}

check_files() { # PATTERN FILE...
  pattern=$1
  shift
  grep -rHonE "$pattern" "$@" | tr -d '`' | while IFS=: read -r document line name; do
    [ -n "$(find_file "$name")" ] || echo "$document:$line: there is no file $name"
  done
}

check_functions() { # DOCUMENT...
  known=$(mktemp)
  grep -rhoE '[A-Za-z_][A-Za-z0-9_]*\(' src | sort -u >"$known"
  # shellcheck disable=SC2016 # backquotes of the documents
  grep -HonE '`[^` ]*(: )?[a-z0-9]+_[a-z0-9_]*\(\)' "$@" | tr -d '`' |
    while IFS=: read -r document line file function; do
      [ -n "$function" ] || { function=$file file=; }
      function=${function# }
      function=${function%)}
      # shellcheck disable=SC2046 # a list of names
      if ! grep -qxF "${function##*[!a-z0-9_(]}" "$known"; then
        echo "$document:$line: there is no function $function)"
      elif [ -n "$file" ] && ! grep -qF "$function" $(find_file "$file") /dev/null; then
        echo "$document:$line: $file has no function $function)"
      fi
    done
  rm "$known"
}

missing=$(for place; do
  if [ -d "$place" ]; then
    check_files '\bsrc/[a-z0-9_/]+\.[ch]\b' "$place"
  else
    check_files '`[a-z0-9_./-]+\.(c|h|py|js|sh)\b' "$place"
    check_functions "$place"
  fi
done)
[ -z "$missing" ] || {
  echo "$missing"
  exit 1
}
