/* arena.h - many small allocations with one lifetime, freed together.
 *
 * The caller owns the struct: zero it, allocate from it, free everything with arena_done().
 * Pointers into the arena stay valid until then. The caller must have checked every size that
 * comes from input against a limit; running out of memory aborts (see mem.h). */
#pragma once
#include <stddef.h>

#include "base/attr.h"

struct arena {
	struct arena_block *blocks;
	struct arena_object *objects;
};

void *arena_new(struct arena *arena, size_t count, size_t size) RETURNS_NONNULL; /* zeroed */
char *arena_text(struct arena *arena, const char *text) RETURNS_NONNULL;         /* copies text */
/* Calls free_object(object) in arena_done(): for objects that are referred to from the arena. */
void arena_own(struct arena *arena, void *object, void (*free_object)(void *object));
void arena_done(struct arena *arena);
