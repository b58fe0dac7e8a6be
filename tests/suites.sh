# shellcheck shell=sh
# suites.sh - the lists of suites that check.sh and run.sh run, and how they are run and counted; sourced.
#
# A list has one suite per line: a time limit in seconds, a name, and a command that prints TAP.

export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0
export UBSAN_OPTIONS=print_stacktrace=1
export CMOCKA_MESSAGE_OUTPUT=TAP
# Debian's programs first: pyenv's python3 is a script that starts thirty shells.
export PATH="/usr/sbin:/usr/bin:/sbin:/bin:$PATH"
seconds=900 # of a usual suite; the long ones have more, for a machine that does other work as well

# clear_results - forgets what an earlier run found
clear_results() {
  rm -rf build/suites
  mkdir -p build/suites
}

# add NAME COMMAND... - prints the line of one suite. The line starts with the blank, because xargs
# takes a blank at the end of a line for a continuation.
add() {
  printf ' "%s"' "$seconds" "$@"
  echo
}

unit_suites() {
  for source in $(find tests/unit -name 'test_*.c' | LC_ALL=C sort); do
    name=${source#tests/unit/}
    case $name in
    agent/live/*) ;;
    *) add "unit ${name%.c}" "build/san/unit/${name%.c}" ;;
    esac
  done
}

# live_suites AGENT - the agent's live tests, with the agent in that file, "" for the released one; their large file is
# a part of what test_live_load.c transfers by default
live_suites() {
  for source in tests/unit/agent/live/test_*.c; do
    name=$(basename "$source" .c)
    add "unit agent/live/$name${1:+ with $1}" \
      env ${1:+BELLJAR_AGENT="$PWD/$1"} BELLJAR_LOAD_MIB=8 "build/san/unit/agent/live/$name"
  done
}

corpus_suites() {
  for source in $(find tests/fuzz -name 'fuzz_*.c' | LC_ALL=C sort); do
    name=$(basename "$source" .c)
    program=${source#tests/fuzz/}
    add "corpus ${name#fuzz_}" "build/san/replay/${program%.c}" "tests/fuzz/corpus/${name#fuzz_}"
  done
}

script_suites() {
  for script in tests/scripts/test_*.sh; do
    add "$(basename "$script" .sh)" sh "$script"
  done
}

# end_to_end_files NAME - the paths of the end-to-end tests of that name, in whichever folder
end_to_end_files() {
  find tests/e2e -name node_modules -prune -o -name "$1.test.mjs" -print | LC_ALL=C sort
}

# end_to_end_suites BUILD FILE... - a suite for each file of end-to-end tests, of the programs in BUILD
end_to_end_suites() {
  node=tests/e2e/node_modules/node/bin/node
  [ -x "$node" ] || node=node
  build=$1
  shift
  for file in "$@"; do
    add "e2e $(basename "$file" .test.mjs) with $build/belljar" env BELLJAR="$PWD/$build/belljar" \
      FIXTURE="$PWD/$build/fixture" "$node" --test --test-reporter=tap "$file"
  done
}

# conformance_suite BUILD - the official conformance suite against the fixture in BUILD
conformance_suite() {
  add "conformance of $1/fixture" tests/conformance/node_modules/node/bin/node \
    tests/conformance/run.mjs "$PWD/$1/fixture"
}

# soak_suites - many users of one server over HTTP, and many connections to it, for a short time
soak_suites() {
  add "soak over HTTP" python3 tests/soak/soak_http.py --seconds 25 --users 4
  add "load over HTTP" python3 tests/soak/load_http.py --seconds 15 --streams 1000 --connections 100
}

# install_packages FOLDER - installs the npm packages of tests/FOLDER; a failure counts as a failed suite
install_packages() {
  [ -n "$(find "tests/$1/node_modules/.package-lock.json" \
    -newer "tests/$1/package-lock.json" 2>/dev/null)" ] && return
  (cd "tests/$1" && npm ci) >"build/suites/npm-$1.log" 2>&1 </dev/null && return
  cat "build/suites/npm-$1.log"
  echo "FAILED  $1 (npm ci)"
  echo 0 1 >"build/suites/npm-$1.counts"
  return 1
}

# run_suites FILE NUMBER - runs the suites of a list, NUMBER of them side by side
run_suites() {
  xargs -P "$2" -L 1 sh tests/suite.sh <"$1"
}

# run_failed_again - runs each suite that failed a second time, with nothing beside it. Many tests watch
# processes, memory and files of the whole machine, and a neighbour can disturb them. What a suite
# printed the first time stays in the output, and a suite that passes now is named as unsteady.
run_failed_again() {
  [ -f build/suites/failed ] || return 0
  mv build/suites/failed build/suites/again
  echo "# the suites that failed, again and one at a time:"
  run_suites build/suites/again 1
  sed 's/^ "[0-9]*" "\([^"]*\)".*/\1/' build/suites/again | while read -r name; do
    grep -qF "\"$name\"" build/suites/failed 2>/dev/null || echo "UNSTEADY $name (failed beside others, passed alone)"
  done
}

# count_results - prints the closing line "N passed, M failed", and fails if a test failed
count_results() {
  cat build/suites/*.counts | awk '
    { passed += $1; failed += $2 }
    END { print passed + 0 " passed, " failed + 0 " failed"; exit failed > 0 }'
}
