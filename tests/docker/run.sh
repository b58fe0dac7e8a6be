#!/bin/sh
# run.sh docker|podman [FILE...] - runs tests on the docker engine: those of tests/e2e that apply to every
# engine, and those of tests/docker; or the named files. Prints TAP. life.test.mjs kills and restarts the
# daemon, so it needs one that no other test uses.
# run.sh escape [OPTION...] - attacks containers from inside: tests/escape/run.py in mode D.
#
# Without DOCKER_HOST a private daemon is started, which takes root. The differences between the engines
# are marked in the tests with notOn(), which names the reason.
set -eu
. tests/docker/daemon.sh

which=$1
shift
make_image
if [ -z "${DOCKER_HOST:-}" ]; then
  command -v dockerd podman curl >/dev/null
  trap 'stop_daemon' EXIT
  case $which in podman) start_podman ;; *) start_docker ;; esac
  export E2E_DOCKER_DIR="$docker_dir"
fi
image=localhost/belljar-test:latest
import_image "$image"

# Prepares the image, which takes long on a busy machine, so that no test has to wait for it.
state=$(mktemp -d)
${BELLJAR:-build/belljar} exec --engine docker --image "$image" --state-dir "$state" -- true >&2 || :
rm -rf "$state"

if [ "$which" = escape ]; then
  # Not with exec: the daemon is stopped afterwards.
  ESCAPE_IMAGE=$image python3 tests/escape/run.py --mode D "$@"
  exit
fi

node=tests/e2e/node_modules/node/bin/node
[ -x "$node" ] || node=node
if [ $# -eq 0 ]; then
  # shellcheck disable=SC2013 # words
  for name in $(cat "tests/docker/shared-$which.txt"); do
    set -- "$@" "$(find tests/e2e -name node_modules -prune -o -name "$name.test.mjs" -print)"
  done
  [ "$which" = podman ] || set -- "$@" tests/docker/faults.test.mjs tests/docker/registry.test.mjs
fi
E2E_BELLJAR_ENGINE=docker E2E_BELLJAR_IMAGE="$image" BELLJAR="${BELLJAR:-$PWD/build/belljar}" \
  "$node" --test --test-concurrency=3 --test-reporter=tap "$@"
