/* probe_child.h - tries in a forked child what would change this process.
 *
 * The child answers with one small record and ends. It is killed after five seconds and
 * dies with us, so that no probe can hang or outlive its caller. */
#pragma once
#include <stddef.h>

#include "base/attr.h"

struct error;

/* Runs in the child: fills the record. Must not allocate, lock or touch stdio. */
typedef void probe_child_fn(void *record);

enum { PROBE_RECORD_MAX = 512, PROBE_DEADLINE_MS = 5000 };

/* size is at most PROBE_RECORD_MAX; the record is written only on success. */
MUST_CHECK int probe_child_run(probe_child_fn *fn, void *record, size_t size, struct error *err);
