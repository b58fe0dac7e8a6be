#!/bin/sh
# run.sh docker|podman [FILE...] - runs tests on the docker engine: those of tests/e2e that apply to every
# engine, and those of tests/docker; or the named files. Prints TAP. life.test.mjs kills and restarts the
# daemon, so it needs one that no other test uses.
# run.sh escape [OPTION...] - attacks containers from inside: tests/escape/run.py in mode D.
# run.sh suites docker|podman [long] - runs each of these files as a suite of its own (tests/suite.sh), several
# side by side on one daemon; with docker also the attacks, and the tests that need a daemon for themselves.
# Only with long: the files that shared-*.txt marks with this word, and the attacks on what is the same program
# with every engine (the gate, the agent, the server).
#
# Without DOCKER_HOST a private daemon is started, which takes root. The differences between the engines
# are marked in the tests with notOn(), which names the reason.
set -eu
. tests/docker/daemon.sh
. tests/suites.sh

# list_tests docker|podman [long] - the tests that one daemon can serve
list_tests() {
  while read -r name mark; do
    [ "$mark" = "" ] || [ "$mark" = "${2:-}" ] || continue
    end_to_end_files "$name"
  done <"tests/docker/shared-$1.txt"
  [ "$1" = podman ] || echo tests/docker/faults.test.mjs tests/docker/registry.test.mjs
}

# list_suites docker|podman [long] - the suites, slow ones first. DAEMON=given makes them use this script's daemon;
# when a suite that failed is run again, that daemon is gone, and the suite starts one for itself.
list_suites() {
  attacks=${2:+--only=}
  [ "$1" = podman ] || seconds=1800 add "escape on docker" sh tests/docker/run.sh escape --exhaustion without \
    "${attacks:---only=CE,FS,KI,PV,SC}"
  if [ "$1" = docker ]; then
    add "escape by exhaustion on docker" sh tests/docker/run.sh escape --exhaustion only
    for name in life daemons; do
      add "$name on docker" env DOCKER_HOST="$given" DAEMON= sh tests/docker/run.sh docker "tests/docker/$name.test.mjs"
    done
  fi
  for file in $(list_tests "$@"); do
    add "$(basename "$file" .test.mjs) on $1" sh tests/docker/run.sh "$1" "$file"
  done
}

which=$1
shift
run=$which
[ "$which" != suites ] || which=$1
given=${DOCKER_HOST:-}
image=localhost/belljar-test:latest
if [ "${DAEMON:-}" != given ]; then
  make_image
  if [ -z "$given" ]; then
    command -v dockerd podman curl >/dev/null
    trap 'stop_daemon' EXIT
    case $which in podman) start_podman ;; *) start_docker ;; esac
    export E2E_DOCKER_DIR="$docker_dir"
  fi
  import_image "$image"
  prepare_image "$image"
fi

# Not with exec: the daemon is stopped afterwards.
if [ "$run" = suites ]; then
  list_suites "$@" >"build/suites/$which.list"
  DAEMON=given run_suites "build/suites/$which.list" 2
  exit
fi
if [ "$run" = escape ]; then
  ESCAPE_IMAGE=$image python3 tests/escape/run.py --mode D "$@"
  exit
fi
node=tests/e2e/node_modules/node/bin/node
[ -x "$node" ] || node=node
# shellcheck disable=SC2046 # words
[ $# -gt 0 ] || set -- $(list_tests "$which" long)
E2E_BELLJAR_ENGINE=docker E2E_BELLJAR_IMAGE="$image" BELLJAR="${BELLJAR:-$PWD/build/belljar}" \
  "$node" --test --test-concurrency=3 --test-reporter=tap "$@"
