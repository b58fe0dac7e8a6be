#include "agent/program/ring.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int ring_init(struct ring *ring, size_t size, uint64_t before)
{
	/* Pages nobody has written to cost nothing. */
	void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		return -1;
	*ring = (struct ring){ bytes, size, before, before };
	return 0;
}

void ring_done(struct ring *ring)
{
	if (ring->bytes != NULL)
		(void)munmap(ring->bytes, ring->size);
	*ring = (struct ring){ 0 };
}

ssize_t ring_fill(struct ring *ring, int fd, size_t max)
{
	size_t at = (size_t)(ring->total % ring->size);
	size_t room = ring->size - at;
	ssize_t n = read(fd, ring->bytes + at, max < room ? max : room);

	if (n > 0)
		ring->total += (uint64_t)n;
	return n;
}

uint64_t ring_oldest(const struct ring *ring)
{
	uint64_t oldest = ring->total > ring->size ? ring->total - ring->size : 0;

	return oldest > ring->first ? oldest : ring->first;
}

size_t ring_read(const struct ring *ring, uint64_t offset, char *out, size_t max)
{
	uint64_t there = ring->total - offset;
	size_t len = there < max ? (size_t)there : max;
	size_t at = (size_t)(offset % ring->size);
	size_t first = ring->size - at < len ? ring->size - at : len;

	memcpy(out, ring->bytes + at, first);
	memcpy(out + first, ring->bytes, len - first);
	return len;
}
