#!/bin/sh
# check-layers.sh [SRC [DOCUMENT]] - checks every #include below SRC (src) against the table of folders in
# DOCUMENT (ARCHITECTURE.md), which says what the rules are.
set -eu
src=${1:-src}
document=${2:-ARCHITECTURE.md}

{
  find "$src" -mindepth 1 -type d | sed 's,$,/,'
  find "$src" -type f -name '*.[ch]'
} | LC_ALL=C sort | awk -v src="$src" -v document="$document" '
function trim(text) { gsub(/^ +| +$/, "", text); return text }
function folder_of(path) { return match(path, /\/[^\/]*$/) ? substr(path, 1, RSTART - 1) : "" }
function below(folder, outer) { return folder == outer || index(folder, outer "/") == 1 }
function report_problem(rule) { printf "%s:%d: %s\n", file, number, rule; failed = 1 }

# One row: | `src/FOLDER` | holds | public headers | may use; libraries |
function read_row(line,    cell, folder, uses, part, i, n) {
  split(line, cell, "|")
  folder = trim(cell[2])
  gsub(/`/, "", folder)
  sub(/^src\//, "", folder)
  known[folder] = 1
  public[folder] = " " trim(cell[4]) " "
  gsub(/[`,]/, "", public[folder])
  n = split(cell[5], uses, ";")
  may_use[folder] = trim(uses[1])
  if (n > 1)
    libraries[folder] = trim(uses[2])
}

function library(name, pattern) { headers[name] = pattern }

BEGIN {
  library("Jansson", "^jansson")
  library("libevent", "^(event2/|event[.]h|ev[a-z]+[.]h)")
  library("SQLite", "^sqlite3")
  library("libseccomp", "^seccomp[.]h")
  library("libyaml", "^yaml[.]h")
  library("libcurl", "^curl/")
  library("libarchive", "^archive")
  library("OpenSSL", "^openssl/")
  while ((getline line <document) > 0)
    if (line ~ /^\| *`src\//)
      read_row(line)
}

# Whether a folder, or one of those around it, names the target in its row.
function allows(folder, target,    uses, i, n) {
  if (below(folder, target))
    return 1
  for (; folder != ""; folder = folder_of(folder)) {
    n = split(may_use[folder], uses, /, */)
    for (i = 1; i <= n; i++)
      if (uses[i] == target || uses[i] == "everything" ||
          (sub(/\/\*$/, "", uses[i]) && below(target, uses[i])))
        return 1
  }
  return 0
}

function check_ours(folder, name,    target, base) {
  target = folder_of(name)
  base = substr(name, length(target) + 2)
  if (target == "")
    report_problem("\"" name "\" names no folder: write \"" folder "/" name "\"")
  else if (!(target in known))
    report_problem("\"" name "\": src/" target " is not in the table of folders")
  else if (!allows(folder, target))
    report_problem("src/" folder " may not use src/" target)
  else if (!below(folder, target) &&
           (base == "internal.h" || (public[target] != " all " && !index(public[target], " " base " "))))
    report_problem("\"" name "\" is private to src/" target)
}

function check_library(folder, name,    i) {
  if (folder_of(name) in known)
    report_problem("<" name "> is ours: write \"" name "\"")
  for (i in headers)
    if (name ~ headers[i] && !index(libraries[folder], i))
      report_problem("src/" folder " may not use " i)
}

{
  file = $0
  folder = folder_of(substr(file, length(src) + 2))
  number = 0
  if (!(folder in known)) {
    if (file ~ /\/$/ || folder == "")
      report_problem("src/" folder " is not in the table of folders (" document ")")
    next
  }
  if (file ~ /\/$/)
    next
  sources++
  while ((getline line <file) > 0) {
    number++
    if (line !~ /^[ \t]*#[ \t]*include/)
      continue
    if (match(line, /"[^"]*"/))
      check_ours(folder, substr(line, RSTART + 1, RLENGTH - 2))
    else if (match(line, /<[^>]*>/))
      check_library(folder, substr(line, RSTART + 1, RLENGTH - 2))
    else
      report_problem("an include that names no file")
  }
  close(file)
}

END {
  if (!sources) { print src ": no sources"; failed = 1 }
  exit failed
}'
