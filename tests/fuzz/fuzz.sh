#!/bin/sh
# fuzz.sh SECONDS PROGRAM... - runs each libFuzzer program (build/fuzz/FOLDER/fuzz_X) for SECONDS.
#
# The inputs of tests/fuzz/corpus/X are the start, with tests/fuzz/dict/X.dict if it exists. Inputs
# that reach new code are kept in build/fuzz/corpus/X. An input that fails is saved in
# tests/fuzz/corpus/X, where `make test` replays it from then on. Fails if a program found one.
set -eu
seconds=$1
shift
failed=0

for program in "$@"; do
  name=${program##*/fuzz_}
  corpus=tests/fuzz/corpus/$name
  log=build/fuzz/$name.log
  mkdir -p "build/fuzz/corpus/$name"
  set -- -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="$corpus/" -print_final_stats=1
  [ ! -e "tests/fuzz/dict/$name.dict" ] || set -- "$@" -dict="tests/fuzz/dict/$name.dict"
  if "$program" "$@" "build/fuzz/corpus/$name" "$corpus" >"$log" 2>&1 </dev/null; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "ok      fuzz $name ($runs inputs in $seconds s)"
  else
    cat "$log"
    echo "FAILED  fuzz $name (the input is in $corpus)"
    failed=1
  fi
done
exit "$failed"
