#!/bin/sh
# The gates must close: plants violations and looks at what check-layers.sh and check-sizes.sh say.
set -u
. tests/scripts/tap.sh
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# plant FILE LINE... - below a fresh src
plant() {
  file=$root/src/$1
  shift
  mkdir -p "${file%/*}"
  printf '%s\n' "$@" >"$file"
}

# verdict SCRIPT - what it says, less the directory, and how it ends
verdict() {
  said=$(sh "scripts/$1" "$root/src" 2>&1)
  echo "$? $said" | sed "s,$root/,,g"
  rm -rf "$root/src"
}

layers() {
  is "layers: $1" "$(verdict check-layers.sh)" "$2"
}

sizes() {
  is "sizes: $1" "$(verdict check-sizes.sh)" "$2"
}

lines() {
  awk -v n="$1" -v text="$2" 'BEGIN { while (n-- > 0) print text }'
}

plant base/a.c '#include "base/a.h"' '#include <stdio.h>'
plant engine/native/ns.c '#include "engine/engine.h"' '#include "engine/image/store.h"' \
  '#include <seccomp.h>'
plant tools/profiles/x.c '#include "tools/catalogue.h"' '#include "sandbox/process/run.h"'
plant cli/main.c '#include "server/server.h"' '#include "engine/native/ns.h"'
plant json/json.h '#include <jansson.h>'
plant loop/loop.c '#include <event2/event.h>'
layers 'what the table allows passes' '0 '

plant base/a.c '' '  #  include "json/json.h"'
layers 'upward from the ground' \
  '1 src/base/a.c:2: src/base may not include src/json (it may: nothing but itself)'

plant mcp/a.h '#include "transport/stdio.h"'
layers 'upward in a pillar' \
  '1 src/mcp/a.h:1: src/mcp may not include src/transport (it may: base json loop )'

plant sandbox/a.c '#include "mcp/rpc.h"'
layers 'from one pillar to the other' \
  '1 src/sandbox/a.c:1: src/sandbox may not include src/mcp (it may: base json loop store wire kernels engine egress )'

plant engine/native/a.c '#include "engine/docker/api.h"'
layers 'sideways between engines' \
  '1 src/engine/native/a.c:1: src/engine/native may not include src/engine/docker (it may: base json loop wire engine engine/image )'

plant engine/a.c '#include "engine/native/ns.h"'
layers 'from the interface into an engine' \
  '1 src/engine/a.c:1: src/engine may not include src/engine/native (it may: base json loop wire )'

plant sandbox/a.c '#include "engine/native/ns.h"'
layers 'past the interface into an engine' \
  '1 src/sandbox/a.c:1: src/sandbox may not include src/engine/native (it may: base json loop store wire kernels engine egress )'

plant mcp/a.c '#include <jansson.h>' '#include <event2/event.h>' '#include <sqlite3.h>' \
  '#include <seccomp.h>' '#include <curl/curl.h>' '#include <archive.h>' '#include <openssl/ssl.h>'
layers 'each library belongs to one folder' '1 src/mcp/a.c:1: <jansson.h> is for src/json only
src/mcp/a.c:2: <event2/event.h> is for src/loop only
src/mcp/a.c:3: <sqlite3.h> is for src/store only
src/mcp/a.c:4: <seccomp.h> is for src/engine only
src/mcp/a.c:5: <curl/curl.h> is for src/engine only
src/mcp/a.c:6: <archive.h> is for src/engine only
src/mcp/a.c:7: <openssl/ssl.h> is for src/transport only'

plant server/a.c '#include <jansson.h>'
layers 'even where every folder is allowed' '1 src/server/a.c:1: <jansson.h> is for src/json only'

plant mcp/a.c '#include "a.h"' '#include "nowhere/a.h"' '#include <base/buf.h>' '#include HEADER' \
  '#include "loop/internal.h"'
layers 'an include says plainly what it means' '1 src/mcp/a.c:1: "a.h" names no folder: write "mcp/a.h"
src/mcp/a.c:2: "nowhere/a.h": src/nowhere is not in the table of layers
src/mcp/a.c:3: <base/buf.h> is ours: write "base/buf.h"
src/mcp/a.c:4: an include that names no file
src/mcp/a.c:5: "loop/internal.h" is for the files of src/loop only'

plant utils/a.c ''
plant base/a.c ''
layers 'a folder nobody decided on' \
  '1 src/utils/:0: src/utils is not in the table of layers (scripts/check-layers.sh)'

mkdir -p "$root/src"
layers 'no sources at all' '1 src: no sources'

plant base/a.c 'int f(void)' '{' "$(lines 98 '	x();')" '}'
sizes '100 lines of function pass' '0 '

plant base/a.c '' 'static int long_one(int a,' '                    int b)' '{' \
  "$(lines 99 '	x();')" '}'
sizes 'the 101st line of a function' \
  '1 src/base/a.c:4: function long_one has 101 lines (at most 100)'

plant base/a.c 'struct s {' "$(lines 120 '	int x;')" '};' 'static const int t[] = {' \
  "$(lines 120 '	1,')" '};'
sizes 'tables and structs may be long' '0 '

plant base/a.h "$(lines 500 '/* */')"
sizes '500 lines of file pass' '0 '

plant base/a.h "$(lines 501 '/* */')"
sizes 'the 501st line of a file' '1 src/base/a.h:501: 501 lines in the file (at most 500)'

hundred=$(lines 100 x | tr -d '\n')
plant base/a.c "$hundred" "$(printf '\t')$(echo "$hundred" | cut -c 1-92)" \
  "$(echo "$hundred" | sed 's/x/é/g')"
sizes '100 columns pass, a tab being 8 and a character 1' '0 '

plant base/a.c "x$hundred" "$(printf '\t')$(echo "$hundred" | cut -c 1-93)" \
  "$(printf 'abc\t')$(echo "$hundred" | cut -c 1-93)"
sizes 'the 101st column' '1 src/base/a.c:1: 101 columns (at most 100)
src/base/a.c:2: 101 columns (at most 100)
src/base/a.c:3: 101 columns (at most 100)'

mkdir -p "$root/src"
sizes 'no sources at all' '1 src: no sources'

finish
