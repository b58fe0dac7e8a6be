#!/bin/sh
# lint.sh CFLAGS... - every check that needs no running program; `make lint` calls it from the
# root of the tree with the flags of the build. One line per check, its findings above
# it; fails at the end if any failed.
# shellcheck disable=SC2317 # the functions are called through check()
set -eu
set -- "$@" -Werror

work=build/lint
jobs=$(nproc)
failed=0
mkdir -p "$work/cppcheck"
sources=$(find src -name '*.c' | LC_ALL=C sort)
agent=$(find src/agent src/wire src/base -name '*.c' | LC_ALL=C sort)
headers=$(find src -name '*.h' | LC_ALL=C sort)
c_tests=$(find tests -name node_modules -prune -o -name '*.[ch]' -print | LC_ALL=C sort)
sh_files=$(find run test .ci/run scripts tests -name node_modules -prune -o \
  \( -name '*.sh' -o -path run -o -path test -o -path .ci/run \) -type f -print | LC_ALL=C sort)

# check NAME COMMAND... - shows what the command says only if it fails.
check() {
  name=$1
  shift
  if "$@" >"$work/out" 2>&1; then
    echo "ok      $name"
  else
    cat "$work/out"
    echo "FAILED  $name"
    failed=1
  fi
}

# each FILES SCRIPT FLAGS... - runs the script once per $file, on all cores, with the flags as
# its arguments; says only what failed.
each() {
  files=$1
  script="file=\$1; shift; out=\$( ($2) 2>&1) || { printf '%s\n' \"\$out\"; exit 1; }"
  shift 2
  echo "$files" | xargs -P "$jobs" -I{} sh -c "$script" each {} "$@"
}

# It does not know the cleanup attribute (AUTO_FD, AUTO_FREE): leaks are left to clang's
# analyser and to the sanitizers. System headers stay closed to it, so Jansson's loops are
# spelled out. There is one thread: getpwuid() and readdir() are fine.
cppcheck_all() {
  cat >"$work/foreach.h" <<'END'
#define json_array_foreach(a, i, v) for (i = 0; i < json_array_size(a) && (v = json_array_get(a, i)); i++)
#define json_object_foreach(o, k, v) for (k = first_key(o); k && (v = json_object_get(o, k)); k = next_key(o, k))
END
  cppcheck --quiet -j "$jobs" --enable=warning,performance,portability --error-exitcode=1 \
    --include="$work/foreach.h" \
    --inline-suppr --suppress=memleak --suppress=resourceLeak \
    --suppress=getpwuidCalled --suppress=readdirCalled --std=c11 --library=posix,gnu \
    --cppcheck-build-dir="$work/cppcheck" -Isrc -D_GNU_SOURCE src
}

# npm writes the registry it used into the lock file; another machine may have another.
no_registry() {
  ! grep -rnE --include=package-lock.json --exclude-dir=node_modules --exclude-dir=build \
    '"resolved"|https?://[^"]*registry' .
}

owned_todos() {
  # shellcheck disable=SC2086 # lists of names
  ! grep -nE '\b(TODO|FIXME)\b' $sources $headers $c_tests $sh_files Makefile |
    grep -vE 'TODO\(#[0-9]+\)|^scripts/lint.sh:'
}

check layers sh scripts/check-layers.sh src
check sizes sh scripts/check-sizes.sh src
check 'todos have an issue' owned_todos
check 'lock files name no registry' no_registry
# shellcheck disable=SC2086 # lists of names
check shellcheck shellcheck -x $sh_files
# shellcheck disable=SC2086
check clang-format clang-format --dry-run -Werror $sources $headers $c_tests

# shellcheck disable=SC2016 # the scripts are for each()
{
  # Through a file that includes it: #pragma once in a main file is a warning of its own.
  # Without banned.h first, which brings system headers with it.
  check 'headers compile alone' each "$headers" \
    'line="#include \"${file#src/}\""
     echo "$line" | gcc -fsyntax-only "$@" -x c - &&
     echo "$line" | gcc -fsyntax-only "$@" -include src/base/banned.h -x c -' "$@"
  set -- "$@" -include src/base/banned.h
  check 'gcc warns of nothing' each "$sources" 'gcc -O2 -c "$@" "$file" -o /dev/null' "$@"
  # shellcheck disable=SC2086 # flags
  check 'musl-gcc warns of nothing' each "$agent" \
    "${AGENT_CC:-musl-gcc} -Os -c \"\$@\" \"\$file\" -o /dev/null" "$@" ${AGENT_INCLUDES-}
  check 'clang warns of nothing' each "$sources" 'clang -fsyntax-only "$@" "$file"' "$@"
  check cppcheck cppcheck_all
  check clang-tidy each "$sources" 'clang-tidy --quiet "$file" -- "$@"' "$@"
}
exit "$failed"
