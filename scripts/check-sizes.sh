#!/bin/sh
# check-sizes.sh [SRC] - checks the sizes of functions, files and lines below SRC (src).
#
# A function (its body opens and closes at column 0, braces included) has at most 100 lines, a file 500
# lines, a line 100 columns with tabs of 8.
set -eu
src=${1:-src}

find "$src" -type f -name '*.[ch]' | LC_ALL=C sort | LC_ALL=C awk -v src="$src" '
BEGIN { MAX_FUNCTION = 100; MAX_FILE = 500; MAX_COLUMNS = 100 }

function report_problem(at, text) { printf "%s:%d: %s\n", file, at, text; failed = 1 }

# Bytes, less the continuation bytes of UTF-8, each tab to the next multiple of 8.
function columns(line,    parts, n, i, wide) {
  gsub(/[\200-\277]/, "", line)
  n = split(line, parts, "\t")
  for (i = 1; i <= n; i++)
    wide += length(parts[i]) + (i < n ? 8 - (wide + length(parts[i])) % 8 : 0)
  return wide
}

function check_line(line) {
  if (columns(line) > MAX_COLUMNS)
    report_problem(number, columns(line) " columns (at most " MAX_COLUMNS ")")
  if (line ~ /^\{/)
    opened = number
  else if (line ~ /^\}/ && opened) {
    if (number - opened + 1 > MAX_FUNCTION)
      report_problem(opened, "function " heading " has " number - opened + 1 " lines (at most " MAX_FUNCTION ")")
    opened = 0
  } else if (!opened && match(line, /[A-Za-z_][A-Za-z_0-9]*\(/))
    heading = substr(line, RSTART, RLENGTH - 1)
}

{
  file = $0
  number = opened = 0
  while ((getline line <file) > 0) {
    number++
    check_line(line)
  }
  close(file)
  if (opened)
    report_problem(opened, "function " heading " is not closed at column 0")
  if (number > MAX_FILE)
    report_problem(number, number " lines in the file (at most " MAX_FILE ")")
}

END {
  if (NR == 0) { print src ": no sources"; failed = 1 }
  exit failed
}'
