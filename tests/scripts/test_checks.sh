#!/bin/sh
# Plants violations and compares what check-layers.sh, check-sizes.sh, check-messages.sh and
# check-documents.sh print.
set -u
. tests/scripts/tap.sh
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

cat >"$root/table.md" <<'END'
| folder | holds | public headers | may use |
|---|---|---|---|
| `src/base` | ground | all | base/* |
| `src/base/text` | strings | all | |
| `src/json` | JSON | `json.h` | base/*; Jansson |
| `src/mcp` | protocol | `server.h` `call.h` | base/*, json, mcp/* |
| `src/mcp/param` | parameters | `param.h` | |
| `src/engine` | interface | `engine.h` | base/* |
| `src/engine/native` | one engine | `native.h` | engine/native/*; libseccomp |
| `src/engine/docker` | another | `docker.h` | ; libcurl |
| `src/sandbox` | sandboxes | `sandbox.h` | base/*, engine |
| `src/server` | wiring | | everything |
END

# plant FILE LINE... - writes a file below a fresh src
plant() {
  file=$root/src/$1
  shift
  mkdir -p "${file%/*}"
  printf '%s\n' "$@" >"$file"
}

# verdict SCRIPT [TABLE] - the script's exit status and output, without the temporary directory's name
verdict() {
  script=$1
  shift
  said=$(sh "scripts/$script" "$root/src" "$@" 2>&1)
  echo "$? $said" | sed "s,$root/,,g"
  rm -rf "$root/src"
}

layers() {
  is "layers: $1" "$(verdict check-layers.sh "$root/table.md")" "$2"
}

sizes() {
  is "sizes: $1" "$(verdict check-sizes.sh)" "$2"
}

messages() {
  is "messages: $1" "$(verdict check-messages.sh)" "$2"
}

lines() {
  awk -v n="$1" -v text="$2" 'BEGIN { while (n-- > 0) print text }'
}

plant base/a.c '#include "base/a.h"' '#include "base/text/utf8.h"' '#include <stdio.h>'
plant base/text/b.c '#include "base/a.h"'
plant json/json.h '#include <jansson.h>'
plant mcp/a.c '#include "mcp/internal.h"' '#include "mcp/param/param.h"' '#include "json/json.h"'
plant engine/native/a.c '#include "engine/engine.h"' '#include "engine/internal.h"' '#include <seccomp.h>'
plant server/a.c '#include "engine/native/native.h"' '#include "mcp/call.h"'
layers 'includes that the table allows' '0 '

plant base/a.c '' '  #  include "json/json.h"'
layers 'an include upward from the ground' '1 src/base/a.c:2: src/base may not use src/json'

plant sandbox/a.c '#include "mcp/call.h"'
layers 'an include from one pillar to the other' '1 src/sandbox/a.c:1: src/sandbox may not use src/mcp'

plant engine/native/a.c '#include "engine/docker/docker.h"'
layers 'an include of another engine' \
  '1 src/engine/native/a.c:1: src/engine/native may not use src/engine/docker'

plant engine/a.c '#include "engine/native/native.h"'
plant sandbox/a.c '#include "engine/native/native.h"'
layers 'an include past the interface of the engines' \
  '1 src/engine/a.c:1: src/engine may not use src/engine/native
src/sandbox/a.c:1: src/sandbox may not use src/engine/native'

plant server/a.c '#include "mcp/internal.h"' '#include "json/scan.h"' '#include "engine/native/box.h"' \
  '#include "base/internal.h"'
layers 'an include of a private header' '1 src/server/a.c:1: "mcp/internal.h" is private to src/mcp
src/server/a.c:2: "json/scan.h" is private to src/json
src/server/a.c:3: "engine/native/box.h" is private to src/engine/native
src/server/a.c:4: "base/internal.h" is private to src/base'

plant mcp/a.c '#include "mcp/param/internal.h"'
layers 'an include of a private header of an inner folder' \
  '1 src/mcp/a.c:1: "mcp/param/internal.h" is private to src/mcp/param'

plant mcp/a.c '#include <jansson.h>' '#include <event2/event.h>' '#include <sqlite3.h>' \
  '#include <seccomp.h>' '#include <curl/curl.h>' '#include <archive.h>' '#include <openssl/ssl.h>'
layers 'includes of libraries that belong to other folders' '1 src/mcp/a.c:1: src/mcp may not use Jansson
src/mcp/a.c:2: src/mcp may not use libevent
src/mcp/a.c:3: src/mcp may not use SQLite
src/mcp/a.c:4: src/mcp may not use libseccomp
src/mcp/a.c:5: src/mcp may not use libcurl
src/mcp/a.c:6: src/mcp may not use libarchive
src/mcp/a.c:7: src/mcp may not use OpenSSL'

plant server/a.c '#include <jansson.h>'
layers 'an include of a library by a folder that may use every folder' \
  '1 src/server/a.c:1: src/server may not use Jansson'

plant mcp/a.c '#include "a.h"' '#include "nowhere/a.h"' '#include <base/buf.h>' '#include HEADER'
layers 'includes that do not name a file plainly' '1 src/mcp/a.c:1: "a.h" names no folder: write "mcp/a.h"
src/mcp/a.c:2: "nowhere/a.h": src/nowhere is not in the table of folders
src/mcp/a.c:3: <base/buf.h> is ours: write "base/buf.h"
src/mcp/a.c:4: an include that names no file'

plant utils/a.c ''
plant base/a.c ''
layers 'a folder without a row in the table' \
  '1 src/utils/:0: src/utils is not in the table of folders (table.md)'

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

tab=$(printf '\t')
plant_table() {
  plant wire/table.c "${tab}[WIRE_EXEC] = { \"EXEC\", \"start a program\"," "$tab  OPENS(WIRE_KIND_RUN) }," \
    "${tab}[WIRE_DONE] = { \"DONE\", \"the end\", STREAM(WIRE_FROM_AGENT, ANY) }," \
    "${tab}[WIRE_DATA] = { \"DATA\", \"bytes\", STREAM(WIRE_FROM_EITHER, ANY) },"
}

plant_table
plant agent/a.c 'send(WIRE_DONE);' 'struct frame f = { .type = WIRE_DATA };'
plant sandbox/a.c 'm.type = WIRE_EXEC;' 'put(WIRE_DATA, 1);'
messages 'messages that their ends send' '0 '

plant_table
plant agent/a.c 'if (type == WIRE_DONE)' 'case WIRE_EXEC:' 'put(WIRE_DATA, 1);'
plant sandbox/a.c 'm.type = WIRE_EXEC_STDIN;' 'x = type != WIRE_DATA;' 'send(WIRE_DONE);'
messages 'messages that are only received, or sent by the other end' \
  '1 src/wire/table.c: the server never sends WIRE_EXEC: delete the message
src/wire/table.c: the agent never sends WIRE_DONE: delete the message
src/wire/table.c: the server never sends WIRE_DATA: delete the message'

plant wire/table.c 'int x;'
messages 'a table without messages' '1 src/wire/table.c: no messages found'

cat >"$root/page.md" <<'END'
`src/base/buf.h`, `base/buf.c: buf_add()`, `buf.h` and `tests/unit/FOLDER/test_X.c`
`base/nonesuch.c` and `nonesuch.h`
`buf_add()`, `no_such_function()` and `base/buf.c: arena_new()`
END
mkdir -p "$root/comments"
echo '/* See src/base/buf.h and src/base/nonesuch.c. */' >"$root/comments/a.h"
said=$(sh scripts/check-documents.sh "$root/page.md" "$root/comments" 2>&1)
is 'documents: names of files and functions that do not exist' "$? $said" "1 $root/page.md:2: there is no file base/nonesuch.c
$root/page.md:2: there is no file nonesuch.h
$root/page.md:3: there is no function no_such_function()
$root/page.md:3: base/buf.c has no function arena_new()
$root/comments/a.h:1: there is no file src/base/nonesuch.c"

finish
