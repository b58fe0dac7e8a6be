# shellcheck shell=sh
# tap.sh - the shell tests' side of TAP; sourced.
tests=0
bad=0

# is NAME GOT WANT
is() {
  tests=$((tests + 1))
  if [ "$2" = "$3" ]; then
    echo "ok $tests - $1"
  else
    bad=1
    echo "not ok $tests - $1"
    printf '%s\n' "got:" "$2" "wanted:" "$3" | sed 's/^/# /'
  fi
}

# finish - the plan, and the status of the script
finish() {
  echo "1..$tests"
  exit "$bad"
}
