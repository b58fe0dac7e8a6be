#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { BLOCK_SIZE = 4096 };

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	alignas(max_align_t) unsigned char bytes[];
};

struct arena_object {
	struct arena_object *next;
	void *object;
	void (*free_object)(void *object);
};

static struct arena_block *add_block(struct arena *arena, size_t size)
{
	struct arena_block *block = mem_new(sizeof *block + size);

	block->size = size;
	block->next = arena->blocks;
	arena->blocks = block;
	return block;
}

void *arena_new(struct arena *arena, size_t count, size_t size)
{
	const size_t align = alignof(max_align_t);
	size_t bytes;
	void *ptr;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		abort(); /* A caller did not limit a size that comes from input. */
	bytes = (bytes + align - 1) / align * align;
	if (arena->blocks == NULL || bytes > arena->blocks->size - arena->blocks->used)
		(void)add_block(arena, bytes > BLOCK_SIZE ? bytes : BLOCK_SIZE);
	ptr = arena->blocks->bytes + arena->blocks->used;
	arena->blocks->used += bytes;
	return ptr;
}

char *arena_text(struct arena *arena, const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(arena_new(arena, size, 1), text, size);
}

void arena_own(struct arena *arena, void *object, void (*free_object)(void *object))
{
	struct arena_object *owned = arena_new(arena, 1, sizeof *owned);

	*owned = (struct arena_object){ arena->objects, object, free_object };
	arena->objects = owned;
}

void arena_done(struct arena *arena)
{
	for (struct arena_object *o = arena->objects; o != NULL; o = o->next)
		o->free_object(o->object);
	arena->objects = NULL;
	while (arena->blocks != NULL) {
		struct arena_block *block = arena->blocks;

		arena->blocks = block->next;
		free(block);
	}
}
