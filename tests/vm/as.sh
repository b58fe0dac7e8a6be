#!/bin/sh
# as.sh [-n] USER COMMAND... - in the virtual machine: runs the command as an ordinary user, in a
# cgroup that is the user's own, as in `systemd-run --user --scope -p Delegate=yes`. With -n the
# cgroup belongs to root, as in a session of sshd. As with a scope, what the command leaves
# running in it is ended, and the cgroup goes. Few programs are started, because each takes 50 ms.
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

# own DIRECTORY... - what systemd gives away with a cgroup; its limits stay root's.
own() {
  for made in "$@"; do
    set -- "$@" "$made/cgroup.procs" "$made/cgroup.threads" "$made/cgroup.subtree_control"
  done
  chown "$uid:$gid" "$@"
}

# open DIRECTORY - its children get controllers.
open() {
  echo "$controllers" >"$1/cgroup.subtree_control"
}

if $delegate; then
  manager=$slice/user@$uid.service
  apps=$manager/app.slice
  scope=$apps/run-$$.scope
  if [ ! -d "$apps" ]; then
    mkdir -p "$apps"
    own "$manager" "$apps"
    open "$slice"
    open "$manager"
    open "$apps"
  fi
  mkdir "$scope"
  own "$scope"
else
  scope=$slice/session-$$.scope
  mkdir -p "$scope"
  open "$slice"
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
