/* registry_internal.h - one row of the registry, as columns and as a struct. */
#pragma once
#include "base/attr.h"
#include "base/view.h"
#include "engine/spec.h"
#include "sandbox/registry/registry.h"

struct buf;
struct error;
struct store_row;

enum { REGISTRY_MOUNTS_MAX = SPEC_MOUNTS_MAX * (SPEC_TARGET_MAX + 10) };

/* In the order registry_read_row() expects. Limits are columns of their own, by name. */
#define REGISTRY_COLUMNS                                                                           \
	"id, owner, name, engine, state, instance, throw_away, created_s, used_s, calls, egress, " \
	"mounts, gpus, fresh, all_mounts, idle_s, lifetime_s, "                                    \
	"env" SPEC_LIMITS(REGISTRY_LIMIT_COLUMN)
#define REGISTRY_LIMIT_COLUMN(name, ...) ", limit_" #name

extern const char *const registry_states[SANDBOX_STATE_COUNT];

/* Bytes that matter of such a list, without the empty one at its end. */
size_t registry_env_size(const char env[SANDBOX_ENV_MAX]);

MUST_CHECK int registry_read_row(struct store_row *columns, struct sandbox_row *ret,
                                 struct error *err);

/* One line a mount: the source's number, "ro" or "rw", the target. A target has no line end in it:
 * see spec_check(). */
void registry_write_mounts(const struct spec *spec, struct buf *text);
/* Fills the mounts of `spec`. The text may be anything; what the lines say is left to
 * spec_check(). */
MUST_CHECK int registry_read_mounts(struct view text, struct spec *spec, struct error *err);
