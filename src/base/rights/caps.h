/* caps.h - capabilities(7) of the calling process.
 *
 * A set is a mask with CAPS_BIT(CAP_...) for each capability. The functions make bare system calls,
 * allocate nothing and keep no state, so a freshly forked child may call them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

#define CAPS_BIT(capability) (UINT64_C(1) << (capability))

/* The permitted set. */
MUST_CHECK int caps_get(uint64_t *ret, struct error *err);

/* Makes the permitted and the effective set equal to `set`. The inheritable set becomes the same if
 * `inheritable`, and empty otherwise; clearing a capability there removes it from the ambient set
 * too. */
MUST_CHECK int caps_set(uint64_t set, bool inheritable, struct error *err);

/* Empties the bounding set: no execve() can add a capability to the process any more, neither by
 * user id 0 nor by a file. Takes CAP_SETPCAP. */
MUST_CHECK int caps_bound_none(struct error *err);

/* The process keeps its capabilities but passes none on: empties the ambient and the inheritable
 * set, and the bounding set if the process has CAP_SETPCAP. */
MUST_CHECK int caps_pass_none(struct error *err);

/* Empties all sets but the bounding set, and verifies that. Needed even after setresuid(): the
 * kernel clears capabilities only on a change from user id 0 to another id. */
MUST_CHECK int caps_drop(struct error *err);
