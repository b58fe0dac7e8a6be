#!/bin/sh
# The counter must count: tap.awk on streams as cmocka, node and crashes leave them.
set -u
. tests/scripts/tap.sh

# counts NAME STATUS WANT - of the stream on stdin
counts() {
  is "$1" "$(awk -v status="$2" -f tests/tap.awk)" "$3"
}

counts 'plain results' 0 '2 0 0 ' <<'END'
1..2
ok 1 - a
ok 2 - b
# ok - group
END

counts 'a failure' 1 '1 1 0 ' <<'END'
1..2
ok 1 - a
not ok 2 - b
END

counts 'a skipped test has not passed' 0 '1 0 2 ' <<'END'
1..3
ok 1 - a
ok 2 # SKIP
ok 3 - c # skip no such thing here
END

counts 'a crash after some results' 1 '1 1 0 planned 3 results and gave 1' <<'END'
1..3
ok 1 - a
END

counts 'a crash before any result' 139 '0 1 0 printed no plan' <<'END'
END

counts 'a plan at the end' 0 '2 0 0 ' <<'END'
ok 1 - a
ok 2 - b
1..2
END

counts 'a leak found at the exit' 23 '1 1 0 ended with status 23' <<'END'
1..1
ok 1 - a
END

counts 'a hang' 124 '1 1 0 ran out of time or was killed' <<'END'
1..1
ok 1 - a
END

counts 'a suite without tests' 0 '0 1 0 holds no tests' <<'END'
1..0
END

counts 'a bail-out' 0 '1 1 0 bailed out' <<'END'
1..1
ok 1 - a
Bail out! enough
END

counts 'nested results count once, at the leaves' 0 '4 0 0 ' <<'END'
TAP version 13
# Subtest: file
    # Subtest: group
        # Subtest: one
        ok 1 - one
        # Subtest: two
        ok 2 - two
        1..2
    ok 1 - group
    # Subtest: alone
    ok 2 - alone
    1..2
ok 1 - file
# Subtest: flat
ok 2 - flat
1..2
END

counts 'a nested failure counts once' 1 '1 1 0 ' <<'END'
TAP version 13
# Subtest: file
    # Subtest: group
        # Subtest: one
        ok 1 - one
        # Subtest: two
        not ok 2 - two
          ---
          error: |-
            this looks like a result:
            ok 3 - but is none
            not ok 4 - nor this
          ...
        1..2
    not ok 1 - group
    1..1
not ok 1 - file
1..1
END

counts 'a hook that fails around good tests is a failure' 1 '1 1 0 ' <<'END'
TAP version 13
# Subtest: group
    # Subtest: one
    ok 1 - one
    1..1
not ok 1 - group
1..1
END

counts 'a good group after a bad one' 1 '1 1 0 ' <<'END'
    not ok 1 - one
    1..1
not ok 1 - bad
    ok 1 - two
    1..1
ok 2 - good
1..2
END

counts 'a skipped leaf in a group' 0 '1 0 1 ' <<'END'
    ok 1 - one # SKIP
    ok 2 - two
    1..2
ok 1 - group
1..1
END

finish
