# shellcheck shell=sh
# daemon.sh - a private Docker daemon for tests, and the image that they use; sourced.
#
# The daemon has a directory of its own below TMPDIR, no network and no registry. Nothing of it is left
# afterwards. A daemon that DOCKER_HOST names is used as it is.

# make_image - makes the archive of the test image, once: build/docker/image.tar. Suites run side by side, so
# one makes it and the others wait for it.
make_image() {
  mkdir -p build/docker
  (
    flock 9
    [ -s build/docker/image.tar ] || sh tests/docker/image.sh build/docker/image.tar >&2
  ) 9>build/docker/lock
}

# api METHOD PATH [CURL ARGUMENT...] - one call of the daemon's API
api() {
  method=$1 path=$2
  shift 2
  curl --silent --show-error --fail --unix-socket "${DOCKER_HOST#unix://}" -X "$method" "$@" \
    "http://docker/v1.41$path"
}

# wait_for_daemon - until it answers; on a busy machine that takes a while
wait_for_daemon() {
  for _ in $(seq 1800); do
    ! api GET /version >/dev/null 2>&1 || return 0
    sleep 0.1
  done
  echo "the daemon does not answer" >&2
  cat "$docker_dir/log" >&2
  return 1
}

# start_docker - starts dockerd; sets DOCKER_HOST and docker_dir
start_docker() {
  docker_dir=$(mktemp -d "${TMPDIR:-/tmp}/docker.XXXX")
  export DOCKER_HOST="unix://$docker_dir/docker.sock"
  cat >"$docker_dir/daemon.json" <<END
{ "runtimes": { "other": { "path": "$(command -v runc)" }, "gvisor": { "path": "$(command -v runsc || echo runsc)",
  "runtimeArgs": ["--platform=ptrace", "--ignore-cgroups", "--network=none"] } }, "iptables": false, "bridge": "none",
  "data-root": "$docker_dir/data", "exec-root": "$docker_dir/exec", "pidfile": "$docker_dir/pid",
  "hosts": ["$DOCKER_HOST"], "group": "$(id -gn)" }
END
  # For tests that kill and restart the daemon.
  cat >"$docker_dir/start" <<END
#!/bin/sh
rm -f "$docker_dir/pid" "$docker_dir/exec/containerd/containerd.pid" # of a daemon that was killed
exec dockerd --config-file "$docker_dir/daemon.json" >>"$docker_dir/log" 2>&1
END
  chmod +x "$docker_dir/start"
  "$docker_dir/start" &
  wait_for_daemon
}

# start_podman - starts the API service of Podman; sets DOCKER_HOST and docker_dir
start_podman() {
  docker_dir=$(mktemp -d "${TMPDIR:-/tmp}/docker.XXXX")
  export DOCKER_HOST="unix://$docker_dir/docker.sock"
  podman --runtime runc --cgroup-manager cgroupfs --root "$docker_dir/data" --runroot "$docker_dir/exec" \
    system service --time=0 "$DOCKER_HOST" >"$docker_dir/log" 2>&1 &
  echo $! >"$docker_dir/pid"
  wait_for_daemon
}

# list_processes - the processes whose command line names the daemon's directory: the daemon, its
# containerd, and what holds its containers. A daemon that a test killed leaves the last two behind.
list_processes() {
  for file in /proc/[0-9]*/cmdline; do
    ! tr '\0' '\n' 2>/dev/null <"$file" | grep -qF "$docker_dir/" || basename "${file%/cmdline}"
  done 2>/dev/null
}

# stop_daemon - ends it and removes its directory
stop_daemon() {
  if [ -s "$docker_dir/pid" ]; then
    pid=$(cat "$docker_dir/pid")
    kill "$pid" 2>/dev/null || :
    for _ in $(seq 600); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
  fi
  for pid in $(list_processes); do
    kill -KILL "$pid" 2>/dev/null || :
  done
  # Podman's helpers, which clean up after containers, may still write for a moment.
  for _ in $(seq 60); do
    # Mounts that a killed daemon left, the innermost first.
    sed -n "s,^[^ ]* \($docker_dir/[^ ]*\) .*,\1,p" /proc/mounts | sort -r | while read -r path; do
      umount -l "$path" 2>/dev/null || :
    done
    ! rm -rf "$docker_dir" 2>/dev/null || return 0
    sleep 0.5
  done
  echo "$docker_dir cannot be removed" >&2
}

# import_image NAME - loads the test image
import_image() {
  api POST "/images/create?fromSrc=-&repo=${1%:*}&tag=${1##*:}" -T build/docker/image.tar \
    -H 'Content-Type: application/x-tar' >&2
}

# prepare_image NAME - lets belljar add its agent to the image, which takes long on a busy machine, so that no
# test has to wait for it
prepare_image() {
  state=$(mktemp -d)
  ${BELLJAR:-build/belljar} exec --engine docker --image "$1" --state-dir "$state" -- true >&2 || :
  rm -rf "$state"
}
