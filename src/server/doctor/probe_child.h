/* probe_child.h - tries in a forked child what would change this process.
 *
 * The child answers with one small record and ends. It is killed when its time is up and
 * dies with us, so that no probe can hang or outlive its caller. */
#pragma once
#include <stddef.h>

#include "base/attr.h"

struct error;

/* Runs in the child, on a copy of the caller's record, which it changes. Must not touch stdio. */
typedef void probe_child_fn(void *record);

enum { PROBE_RECORD_MAX = 2048, PROBE_DEADLINE_MS = 5000 };

/* size is at most PROBE_RECORD_MAX; the record is written only on success. */
MUST_CHECK int probe_child_run(probe_child_fn *fn, void *record, size_t size, struct error *err);
/* With another deadline, in whole seconds. */
MUST_CHECK int probe_child_run_for(probe_child_fn *fn, void *record, size_t size,
                                   unsigned deadline_ms, struct error *err);
