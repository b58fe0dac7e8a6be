#!/bin/sh
# run.sh PROGRAM - installs the conformance suite if needed and runs it against PROGRAM, which is an
# absolute path. Prints TAP and the totals; fails if a scenario fails.
set -eu
cd "$(dirname "$0")"
if [ -z "$(find node_modules/.package-lock.json -newer package-lock.json 2>/dev/null)" ]; then
  npm ci >&2
fi
exec node_modules/node/bin/node run.mjs "$1"
