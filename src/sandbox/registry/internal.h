/* internal.h - one row of the registry: its columns in the database, and reading it into a struct.
 *
 *   registry.c          statements on single rows and sums
 *   registry_row.c      reading and checking the columns of a row
 *   registry_recover.c  taking over the rows of dead servers */
#pragma once
#include "base/attr.h"
#include "base/view.h"
#include "engine/spec.h"
#include "sandbox/registry/registry.h"

struct buf;
struct error;
struct store_row;

enum { REGISTRY_MOUNTS_MAX = SPEC_MOUNTS_MAX * (SPEC_TARGET_MAX + 10) };

/* The columns of every SELECT and INSERT, in the order that registry_read_row() reads them. Each
 * limit of SPEC_LIMITS has a column of its own. */
#define REGISTRY_COLUMNS                                                                           \
	"id, owner, name, engine, state, instance, throw_away, created_s, used_s, calls, "         \
	"mounts, gpus, fresh, all_mounts, idle_s, lifetime_s, "                                    \
	"env, labels, image, network, network_allow" SPEC_LIMITS(REGISTRY_LIMIT_COLUMN)
#define REGISTRY_LIMIT_COLUMN(name, ...) ", limit_" #name

extern const char *const registry_states[SANDBOX_STATE_COUNT];

/* The bytes of a list of variables or labels without the empty string that ends it. */
size_t registry_list_size(const char *list);

MUST_CHECK int registry_read_row(struct store_row *columns, struct sandbox_row *ret,
                                 struct error *err);

/* Writes one line per mount: the number of the source and the target. A target contains no line
 * end: see spec_check(). */
void registry_write_mounts(const struct spec *spec, struct buf *text);
/* Parses such lines into the mounts of `spec`; the text may be anything. Whether the targets are
 * valid is checked by spec_check() later. */
MUST_CHECK int registry_read_mounts(struct view text, struct spec *spec, struct error *err);
