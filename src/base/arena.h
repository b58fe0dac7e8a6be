/* arena.h - memory that is all given back at once, with the request it belongs to.
 *
 * The struct is the caller's: zero it, allocate, arena_done(). Pointers stay valid until
 * then. Sizes must have been capped by the caller. */
#pragma once
#include <stddef.h>

#include "base/attr.h"

struct arena {
	struct arena_block *blocks;
};

void *arena_new(struct arena *arena, size_t count, size_t size) RETURNS_NONNULL; /* zeroed */
char *arena_text(struct arena *arena, const char *text) RETURNS_NONNULL;         /* a copy */
void arena_done(struct arena *arena);
