#!/bin/sh
# as.sh [-n] USER COMMAND... - runs a command in the virtual machine as an ordinary user, in a cgroup
# that the user owns, like `systemd-run --user --scope -p Delegate=yes`. With -n the cgroup belongs to
# root, as in a session of sshd. When the command exits, remaining processes of the cgroup are killed and
# the cgroup is removed. The script starts few programs, because starting one takes 50 ms here.
set -eu
delegate=true
if [ "$1" = -n ]; then
  delegate=false
  shift
fi
user=$1
shift
while IFS=: read -r name _ uid gid _ home _; do
  [ "$name" != "$user" ] || break
done </etc/passwd
[ "$name" = "$user" ] || { echo "as.sh: no user $user" >&2 && exit 125; }
slice=/sys/fs/cgroup/user.slice/user-$uid.slice
controllers='+memory +pids +cpu'

# delegate_dirs DIRECTORY... - gives the user the files that systemd delegates; limits stay root's.
delegate_dirs() {
  for made in "$@"; do
    set -- "$@" "$made/cgroup.procs" "$made/cgroup.threads" "$made/cgroup.subtree_control"
  done
  chown "$uid:$gid" "$@"
}

# enable_controllers DIRECTORY - passes the controllers on to children of the cgroup.
enable_controllers() {
  echo "$controllers" >"$1/cgroup.subtree_control"
}

if $delegate; then
  manager=$slice/user@$uid.service
  apps=$manager/app.slice
  scope=$apps/run-$$.scope
  if [ ! -d "$apps" ]; then
    mkdir -p "$apps"
    delegate_dirs "$manager" "$apps"
    enable_controllers "$slice"
    enable_controllers "$manager"
    enable_controllers "$apps"
  fi
  mkdir "$scope"
  delegate_dirs "$scope"
else
  scope=$slice/session-$$.scope
  mkdir -p "$scope"
  enable_controllers "$slice"
fi

status=0
(
  echo 0 >"$scope/cgroup.procs"
  exec env -i PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 TERM=dumb USER="$user" \
    LOGNAME="$user" HOME="$home" SHELL=/bin/bash XDG_RUNTIME_DIR="/run/user/$uid" \
    setpriv --reuid "$uid" --regid "$gid" --init-groups --inh-caps=-all -- "$@"
) || status=$?
echo 1 >"$scope/cgroup.kill"
tries=0
until rmdir "$scope" 2>/dev/null || find "$scope" -depth -type d -exec rmdir {} + 2>/dev/null; do
  tries=$((tries + 1))
  [ "$tries" -lt 100 ] || { echo "as.sh: cannot remove $scope" >&2 && break; }
  sleep 0.05
done
exit "$status"
