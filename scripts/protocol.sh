#!/bin/sh
# protocol.sh [PROGRAM] - rewrites the reference section of PROTOCOL.md from the tables in
# src/wire. Run it in the root of the tree; PROGRAM is the built test that knows how.
set -eu
program=${1:-build/san/unit/wire/test_protocol}

[ $# -gt 0 ] || make "$program"
PROTOCOL_REWRITE=1 "$program"
