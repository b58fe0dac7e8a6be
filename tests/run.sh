#!/bin/sh
# run.sh - every test there is; `make test` calls it in the root of the tree when all is built.
#
# One line per suite, the whole output of a suite that fails, and as the very last line
# "N passed, M failed". A suite that crashes, hangs or prints no plan is a failure.
#
# Most suites wait more than they work, so some run side by side; the attacks on sandboxes come
# last and by themselves. The checks of the sources get what all of them leave of the machine.
set -eu

export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0
export UBSAN_OPTIONS=print_stacktrace=1
export CMOCKA_MESSAGE_OUTPUT=TAP
seconds=600
rm -rf build/suites
mkdir -p build/suites

# add NAME COMMAND... - to the suites that run side by side. To xargs a blank at a line's end
# would mean that it goes on.
add() {
  printf ' "%s"' "$seconds" "$@"
  echo
}

agent_suites() {
  for source in tests/unit/agent/live/test_*.c; do
    name=$(basename "$source" .c)
    add "unit agent/live/$name" "build/san/unit/agent/live/$name"
    # Once more with the agent under the sanitizers.
    add "unit agent/live/$name with build/san/agent" \
      env BELLJAR_AGENT="$PWD/build/san/agent" "build/san/unit/agent/live/$name"
  done
}

unit_suites() {
  for source in $(find tests/unit -name 'test_*.c' | LC_ALL=C sort); do
    name=${source#tests/unit/}
    case $name in
    agent/live/*) ;;
    *) add "unit ${name%.c}" "build/san/unit/${name%.c}" ;;
    esac
  done
  for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    add "corpus ${name#fuzz_}" "build/san/replay/$name" "tests/fuzz/corpus/${name#fuzz_}"
  done
  for script in tests/scripts/test_*.sh; do
    add "$(basename "$script" .sh)" sh "$script"
  done
}

end_to_end_suites() {
  node=tests/e2e/node_modules/node/bin/node
  [ -x "$node" ] || node=node
  for build in build build/san; do
    add "e2e with $build/belljar" \
      env BELLJAR="$PWD/$build/belljar" FIXTURE="$PWD/$build/fixture" \
      "$node" --test --test-reporter=tap tests/e2e/*.test.mjs
  done
}

install_e2e() {
  [ -n "$(find tests/e2e/node_modules/.package-lock.json \
    -newer tests/e2e/package-lock.json 2>/dev/null)" ] && return
  (cd tests/e2e && npm ci) >build/suites/npm.log 2>&1 </dev/null && return
  cat build/suites/npm.log
  echo "FAILED  e2e (npm ci)"
  echo 0 1 >build/suites/npm.counts
  return 1
}

{
  # The slow ones first.
  [ "$(id -u)" -ne 0 ] || seconds=1000 add "sandboxes on cgroup version 2" sh tests/vm/cgroup2.sh
  agent_suites
  ! install_e2e >&2 || end_to_end_suites
  unit_suites
} >build/suites/list
nice -n 19 sh tests/suite.sh 1400 lint sh tests/lint.sh &
lint=$!
xargs -P "$(($(nproc) + 1))" -L 1 sh tests/suite.sh <build/suites/list

# They take users to be.
if [ "$(id -u)" -eq 0 ]; then
  sh tests/suite.sh 1200 escape python3 tests/escape/run.py
  grep -E '^# ([A-Z][A-Z]-[0-9]|test )' build/suites/escape.tap || :
else
  echo "SKIPPED escape, sandboxes on cgroup version 2 (not root)"
fi

wait "$lint"
cat build/suites/*.counts | awk '
  { passed += $1; failed += $2 }
  END { print passed + 0 " passed, " failed + 0 " failed"; exit failed > 0 }'
