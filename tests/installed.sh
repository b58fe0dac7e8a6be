# shellcheck shell=sh
# installed.sh - lists files of this machine's Debian packages, for the roots of virtual machines and containers
# in tests; sourced. To copy installed files takes seconds; to install packages into a new root takes minutes.

# list_with_dependencies PACKAGE... - the packages and all that they depend on
list_with_dependencies() {
  apt-cache depends --installed --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
    --no-enhances "$@" | grep '^[a-z0-9]' | LC_ALL=C sort -u
}

# list_files - the files of the packages that standard input names, without documents, with what belongs to no package:
# Python's compiled files, without which Python starts four times as slowly, and the links of update-alternatives to
# programs and of folders to /usr. Names have no leading slash.
list_files() {
  tag=$(/usr/bin/python3 -c 'import sys; print(sys.implementation.cache_tag)')
  # Names of packages that are not installed (virtual ones, other architectures) are ignored.
  xargs dpkg-query -L 2>/dev/null | sed -n 's,^/,,p' | sed -E 's,^(bin|sbin|lib|lib32|lib64|libx32)/,usr/&,' |
    grep -vE '^usr/share/(doc|man|locale|info|lintian|bug|i18n)/' |
    sed -E "p; s,([^/]*)\\.py\$,__pycache__/\\1.$tag.pyc,; t; d" || :
  find /usr/bin /usr/sbin -lname '/etc/alternatives/*' | cut -c 2-
  find /etc/alternatives -type l | cut -c 2-
  for name in bin sbin lib lib32 lib64 libx32; do
    [ ! -L "/$name" ] || echo "$name"
  done
}

# keep_existing - of the names on standard input, each that exists, once
keep_existing() {
  LC_ALL=C sort -u | while read -r name; do
    if [ -e "/$name" ] || [ -L "/$name" ]; then printf '%s\n' "$name"; fi
  done
}
