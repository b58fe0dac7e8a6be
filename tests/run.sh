#!/bin/sh
# run.sh - every test there is; `make test` calls it in the root of the tree when all is built.
#
# One line per suite, the whole output of a suite that fails, and as the very last line
# "N passed, M failed". A suite that crashes, hangs or prints no plan is a failure.
set -eu

export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0
export UBSAN_OPTIONS=print_stacktrace=1
export CMOCKA_MESSAGE_OUTPUT=TAP
limit=300
passed=0
failed=0
out=build/test-output
mkdir -p build

# suite NAME COMMAND... - the results are on stdout; stderr is shown if something fails.
suite() {
  name=$1
  shift
  status=0
  timeout -k 10 "$limit" "$@" >"$out.tap" 2>"$out.err" </dev/null || status=$?
  # shellcheck disable=SC2046 # four fields
  set -- "$name" $(awk -v status="$status" -f tests/tap.awk "$out.tap")
  passed=$((passed + $2))
  failed=$((failed + $3))
  skipped=$4
  counts="$2 passed"
  [ "$3" -eq 0 ] || counts="$counts, $3 failed"
  [ "$skipped" -eq 0 ] || counts="$counts, $skipped SKIPPED"
  shift 4
  counts="$counts${*:+; the suite $*}"
  case $counts in
  *failed*)
    cat "$out.tap" "$out.err"
    echo "FAILED  $name ($counts)"
    ;;
  *) echo "ok      $name ($counts)" ;;
  esac
  [ "$skipped" -eq 0 ] || grep -iE '^ *(not )?ok .*# *SKIP|^# skipped:' "$out.tap" || :
}

install_e2e() {
  [ -n "$(find tests/e2e/node_modules/.package-lock.json \
    -newer tests/e2e/package-lock.json 2>/dev/null)" ] && return
  (cd tests/e2e && npm ci) >"$out.npm" 2>&1 </dev/null
}

end_to_end() {
  if ! install_e2e; then
    cat "$out.npm"
    echo "FAILED  e2e (npm ci)"
    failed=$((failed + 1))
    return
  fi
  node=tests/e2e/node_modules/node/bin/node
  [ -x "$node" ] || node=node
  for build in build build/san; do
    suite "e2e with $build/belljar" \
      env BELLJAR="$PWD/$build/belljar" FIXTURE="$PWD/$build/fixture" \
      "$node" --test --test-reporter=tap tests/e2e/*.test.mjs
  done
}

# Attacks on sandboxes, here and on a machine with cgroup version 2. They take users to be.
escape() {
  if [ "$(id -u)" -ne 0 ]; then
    echo "SKIPPED escape, cgroup version 2 (not root)"
    return
  fi
  limit=1200
  suite escape python3 tests/escape/run.py
  grep -E '^# ([A-Z][A-Z]-[0-9]|test )' "$out.tap" || :
  suite "sandboxes on cgroup version 2" sh tests/vm/cgroup2.sh
  limit=300
}

for source in tests/unit/*/test_*.c; do
  name=${source#tests/unit/}
  suite "unit ${name%.c}" "build/san/unit/${name%.c}"
done
# Once more with the agent under the sanitizers.
for source in tests/unit/sandbox/test_live*.c; do
  name=$(basename "$source" .c)
  suite "unit sandbox/$name with build/san/agent" \
    env BELLJAR_AGENT="$PWD/build/san/agent" "build/san/unit/sandbox/$name"
done
for source in tests/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c)
  suite "corpus ${name#fuzz_}" "build/san/replay/$name" "tests/fuzz/corpus/${name#fuzz_}"
done
for script in tests/scripts/test_*.sh; do
  suite "$(basename "$script" .sh)" sh "$script"
done
[ ! -e tests/e2e/package.json ] || end_to_end
escape

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
