#!/bin/sh
# docker_bench.sh - measures the docker engine on a private daemon; `make bench` calls it at the end.
set -eu
cd "$(dirname "$0")/../.."
. tests/docker/daemon.sh
if [ -z "${DOCKER_HOST:-}" ]; then
  if [ "$(id -u)" -ne 0 ] || ! command -v dockerd >/dev/null; then
    echo "the docker engine is not measured: that takes root and docker.io, or DOCKER_HOST"
    exit 0
  fi
  make_image
  trap 'stop_daemon' EXIT
  start_docker
fi
image=localhost/belljar-test:latest
import_image "$image" 2>/dev/null
node=tests/e2e/node_modules/node/bin/node
[ -x "$node" ] || node=node
E2E_BELLJAR_ENGINE=docker E2E_BELLJAR_IMAGE=$image BELLJAR="${BELLJAR:-$PWD/build/belljar}" \
  "$node" tests/bench/docker_bench.mjs
