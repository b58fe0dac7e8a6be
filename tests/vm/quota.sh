# shellcheck shell=sh
# quota.sh - tests of the disk limit on file systems with project quotas; sourced by cgroup2-guest.sh, which
# sets $belljar and defines unit().
# shellcheck disable=SC2154 # belljar
# shellcheck disable=SC2016 # commands for the shell inside

# on_quota VERB ARGUMENT... - runs belljar as root, with its state directory on the file system
on_quota() {
  verb=$1
  shift
  sh tests/vm/as.sh root "$belljar" "$verb" --state-dir /mnt/quota "$@"
}

# test_quotas TYPE [MKFS-OPTION...] - makes a file system in a loop file, and removes it after the tests
test_quotas() {
  type=$1
  shift
  truncate -s 400M /tmp/quota.img
  "mkfs.$type" -q "$@" /tmp/quota.img
  mkdir -p /mnt/quota
  mount -o loop,prjquota /tmp/quota.img /mnt/quota || is "$type is mounted with prjquota" failed ok
  BELLJAR_TEST_QUOTA=/mnt/quota unit engine/native/usage/test_disk
  full='head -c 100M /dev/zero >f 2>/dev/null; size=$(stat -c %s f); [ "$size" -gt 3000000 ] && [ "$size" -lt 4200000 ] && echo exact; exit 1'
  said=$(on_quota exec --disk 4M sh -c "$full" 2>&1)
  is "$type: the quota stops a writer at the limit, which is named" "${said%%: delete*}" 'exact
belljar: disk: no room is left, the limit is 4 MiB'
  said=$(on_quota exec --sandbox q --disk 4M sh -c 'head -c 9M /dev/zero >f; rm f; echo alive' 2>&1 |
    sed 's/Disk quota exceeded/No space left on device/')
  is "$type: the sandbox goes on" "$said" "head: error writing 'standard output': No space left on device
alive"
  # A limit that is changed while the sandbox sleeps becomes its quota when the sandbox wakes.
  sh tests/vm/as.sh root "$belljar" client call update_sandbox '{"sandbox": "q", "disk_mb": 8}' -- \
    --state-dir /mnt/quota >/tmp/update.out 2>&1 || sed 's/^/# /' /tmp/update.out
  said=$(on_quota exec --sandbox q sh -c 'head -c 100M /dev/zero >f 2>/dev/null; size=$(stat -c %s f)
    [ "$size" -gt 7000000 ] && [ "$size" -le 8388608 ] && echo exact')
  is "$type: a sandbox wakes with its new disk limit" "$said" exact
  on_quota rm q >/dev/null
  is "$type: a sandbox at its limit is deleted" "$(find /mnt/quota/sandboxes -mindepth 1 | wc -l)" 0
  umount /mnt/quota
  rm /tmp/quota.img
}
