#!/bin/sh
# check-layers.sh [SRC] - every #include below SRC (src) obeys the table of design.md, section 3.
#
# A folder may include itself and the folders of its row ("*": any). Each library's headers
# belong to one folder, which wraps it. internal.h and *_internal.h stay in their folder.
set -eu
src=${1:-src}

{
  find "$src" -mindepth 1 -type d | sed 's,$,/,'
  find "$src" -type f -name '*.[ch]'
} | LC_ALL=C sort | awk -v src="$src" '
function row(folder, folders) { known[folder] = 1; allowed[folder] = " " folders " " }
function library(pattern, folder) { owner[++libraries] = folder; header[libraries] = pattern }

BEGIN {
  # ground
  row("base",      "")
  row("json",      "base")
  row("loop",      "base")
  row("store",     "base loop")
  # protocol pillar
  row("mcp",       "base json loop")
  row("transport", "base json loop mcp")
  # sandbox pillar
  row("wire",      "base")
  row("agent",     "base wire")
  row("kernels",   "base")
  row("engine",    "base json loop wire")
  row("engine/image",  "base json loop wire engine")
  row("engine/native", "base json loop wire engine engine/image")
  row("engine/docker", "base json loop wire engine engine/image")
  row("engine/kube",   "base json loop wire engine engine/image")
  row("egress",    "base json loop")
  row("sandbox",   "base json loop store wire kernels engine egress")
  # roof
  below_tools = "base json loop store mcp wire kernels engine egress sandbox"
  row("tools",          below_tools " tools/profiles")
  row("tools/profiles", below_tools " tools")
  row("server",    "*")
  row("cli",       "*")

  library("^jansson", "json")
  library("^(event2/|event[.]h|ev[a-z]+[.]h)", "loop")
  library("^sqlite3", "store")
  library("^(seccomp[.]h|curl/|archive|yaml[.]h)", "engine")
  library("^openssl/", "transport")
}

function refuse(rule) { printf "%s:%d: %s\n", file, number, rule; failed = 1 }

function folder_of(path) { return match(path, /\/[^\/]*$/) ? substr(path, 1, RSTART - 1) : "" }

function check_ours(folder, name,    target) {
  target = folder_of(name)
  if (target == "")
    refuse("\"" name "\" names no folder: write \"" folder "/" name "\"")
  else if (!(target in known))
    refuse("\"" name "\": src/" target " is not in the table of layers")
  else if (target != folder && name ~ /(\/|_)internal[.]h$/)
    refuse("\"" name "\" is for the files of src/" target " only")
  else if (target != folder && allowed[folder] != " * " && !index(allowed[folder], " " target " "))
    refuse("src/" folder " may not include src/" target \
           " (it may:" (allowed[folder] == "  " ? " nothing but itself" : allowed[folder]) ")")
}

function check_library(folder, name,    i) {
  if (folder_of(name) in known)
    refuse("<" name "> is ours: write \"" name "\"")
  for (i = 1; i <= libraries; i++)
    if (name ~ header[i] && folder != owner[i] && index(folder, owner[i] "/") != 1)
      refuse("<" name "> is for src/" owner[i] " only")
}

{
  file = $0
  folder = folder_of(substr(file, length(src) + 2))
  number = 0
  if (!(folder in known)) {
    if (file ~ /\/$/ || folder == "")
      refuse("src/" folder " is not in the table of layers (scripts/check-layers.sh)")
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
      refuse("an include that names no file")
  }
  close(file)
}

END {
  if (!sources) { print src ": no sources"; failed = 1 }
  exit failed
}'
