#!/bin/sh
# lint.sh SOURCE... - every check that needs no running program; `make lint` calls it in the root of
# the tree, with the sources that cppcheck reads.
#
# Each check prints one line, with its findings above it. The exit status is 1 if a check failed.
# shellcheck disable=SC2317 # the functions are called through run_check()
set -eu
make=${MAKE:-make}

work=build/lint
jobs=$(nproc)
failed=0
mkdir -p "$work/cppcheck"
sources=$(find src -name '*.c' | LC_ALL=C sort)
headers=$(find src -name '*.h' | LC_ALL=C sort)
c_tests=$(find tests -name node_modules -prune -o -name '*.[ch]' -print | LC_ALL=C sort)
sh_files=$(find run test .ci/run scripts tests -name node_modules -prune -o \
  \( -name '*.sh' -o -path run -o -path test -o -path .ci/run \) -type f -print | LC_ALL=C sort)

# run_check NAME COMMAND... - prints the command's output only if it fails
run_check() {
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

# cppcheck does not know the cleanup attribute (AUTO_FD, AUTO_FREE), so leaks are left to clang's
# analyser and to the sanitizers. cppcheck does not read system headers, so Jansson's loops are
# defined for it. getpwuid() and readdir() are allowed: the program has one thread.
cppcheck_sources() {
  [ $# -gt 0 ] || return 0
  cat >"$work/foreach.h" <<'END'
#define json_array_foreach(a, i, v) for (i = 0; i < json_array_size(a) && (v = json_array_get(a, i)); i++)
#define json_object_foreach(o, k, v) for (k = first_key(o); k && (v = json_object_get(o, k)); k = next_key(o, k))
END
  cppcheck --quiet -j "$jobs" --enable=warning,performance,portability --error-exitcode=1 \
    --include="$work/foreach.h" \
    --inline-suppr --suppress=memleak --suppress=resourceLeak \
    --suppress=getpwuidCalled --suppress=getgrgidCalled --suppress=getpwentCalled \
    --suppress=readdirCalled --std=c11 --library=posix,gnu \
    --cppcheck-build-dir="$work/cppcheck" -Isrc -D_GNU_SOURCE "$@"
}

# npm writes the registry it used into the lock file, but another machine may use another registry.
lock_files_name_no_registry() {
  ! grep -rnE --include=package-lock.json --exclude-dir=node_modules --exclude-dir=build \
    '"resolved"|https?://[^"]*registry' .
}

todos_have_an_issue() {
  # shellcheck disable=SC2086 # lists of names
  ! grep -nE '\b(TODO|FIXME)\b' $sources $headers $c_tests $sh_files Makefile |
    grep -vE 'TODO\(#[0-9]+\)|^scripts/lint.sh:'
}

run_check layers sh scripts/check-layers.sh src
run_check sizes sh scripts/check-sizes.sh src
run_check 'every message has a sender' sh scripts/check-messages.sh src
run_check 'texts name files and functions that exist' sh scripts/check-documents.sh \
  ARCHITECTURE.md CONTRIBUTING.md README.md SECURITY.md STYLE.md doc/kernel-resources.md src
run_check 'todos have an issue' todos_have_an_issue
run_check 'lock files name no registry' lock_files_name_no_registry
# shellcheck disable=SC2086 # lists of names
run_check shellcheck shellcheck -x $sh_files
# shellcheck disable=SC2086
run_check clang-format clang-format --dry-run -Werror $sources $headers $c_tests

run_check 'headers compile alone' "$make" --no-print-directory -k -j "$jobs" lint-headers
run_check cppcheck cppcheck_sources "$@"
run_check 'clang and clang-tidy warn of nothing' "$make" --no-print-directory -k -j "$jobs" lint-sources
exit "$failed"
