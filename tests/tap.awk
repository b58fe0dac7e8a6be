# tap.awk - counts the tests of one TAP stream, each once.
#
# Node nests: an indented block of results belongs to the result line that follows it one
# level further out, which only sums it up. Leaves are counted; a sum counts (as a failure)
# only if it fails though everything inside it passed. `-v status=` is the exit status of the
# program. Prints "passed failed skipped reason", where reason tells what, beyond the tests,
# is wrong with the stream as a whole: that is one more failure.

function deeper_done(level,    i) {
  for (i = level + 1; i <= deepest; i++)
    inside[i] = bad_inside[i] = 0
}

function result(level, good, excused,    sum, guilty) {
  if (level > deepest)
    deepest = level
  sum = inside[level + 1] > 0
  guilty = bad_inside[level + 1] > 0
  deeper_done(level)
  inside[level]++
  if (excused) {
    if (!sum)
      skipped++
    return
  }
  if (!good) {
    bad_inside[level]++
    failed += !(sum && guilty)
  } else if (!sum)
    passed++
}

{ sub(/\r$/, "") }

# What a test tells about itself may look like results.
/^ *---$/ { telling = 1 }
/^ *\.\.\.$/ { telling = 0 }
telling { next }

/^ *(not )?ok( |$)/ {
  match($0, /^ */)
  level = int(RLENGTH / 4)
  result(level, $1 == "ok", toupper($0) ~ /# *(SKIP|TODO)/)
  if (level == 0)
    results++
  next
}
/^1\.\.[0-9]+/ { plans++; planned += substr($1, 4) }
/^Bail out!/ { reason = "bailed out" }

END {
  passed += 0; failed += 0; skipped += 0; results += 0
  if (status == 124 || status == 137)
    reason = "ran out of time or was killed"
  else if (!plans)
    reason = "printed no plan"
  else if (planned != results)
    reason = "planned " planned " results and gave " results
  else if (planned == 0)
    reason = "holds no tests"
  else if (status != 0 && failed == 0)
    reason = "ended with status " status
  print passed, failed + (reason != ""), skipped, reason
}
