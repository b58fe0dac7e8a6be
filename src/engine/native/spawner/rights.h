/* rights.h - capabilities: which ones stay with a process. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

/* Permitted and effective become exactly these; inheritable too, if asked. */
MUST_CHECK int rights_set(uint64_t capabilities, bool inheritable, struct error *err);
/* None can be gained by an exec any more but those that are permitted now. */
MUST_CHECK int rights_bound_none(struct error *err);

/* What the spawner needs as root of the host: to make namespaces, to give files away, to look
 * after processes. */
MUST_CHECK int rights_for_spawner(struct error *err);
