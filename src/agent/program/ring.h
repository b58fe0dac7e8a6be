/* ring.h - the last so many bytes of what a program wrote, by their place in all of it. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/view.h"

struct ring {
	char *bytes; /* NULL: none */
	size_t size;
	uint64_t first; /* offset where the ring began */
	uint64_t total; /* bytes ever written, those before the ring included */
};

/* `before` bytes were written already and are not in it. -1: no memory for it. */
int ring_init(struct ring *ring, size_t size, uint64_t before);
void ring_done(struct ring *ring);
ssize_t ring_fill(struct ring *ring, int fd, size_t max); /* one read(2) of at most max */

uint64_t ring_oldest(const struct ring *ring); /* offset of the oldest byte still there */
/* Copies at most max bytes from an offset not before the oldest; returns how many. */
size_t ring_read(const struct ring *ring, uint64_t offset, char *out, size_t max);
