#include "sandbox/interpreter/end_mark.h"

#include <string.h>

void mark_init(struct mark *mark, const char bytes[KERNEL_MARK_LEN])
{
	memcpy(mark->bytes, bytes, KERNEL_MARK_LEN);
	mark->held = 0;
	mark->is_found = false;
}

static void cut(struct view *bytes, size_t len)
{
	bytes->ptr += len;
	bytes->len -= len;
}

/* How much of the end of `bytes`, behind `held` bytes of the mark, is the mark's beginning: the
 * whole mark if that is there first. *used: bytes that were looked at. */
static size_t follow(const struct mark *mark, struct view bytes, size_t *used)
{
	size_t at = mark->held;
	size_t i = 0;

	for (; i < bytes.len && at < KERNEL_MARK_LEN; i++) {
		/* What came so far is the mark's beginning: go on from the longest end of it
		 * that is one too. */
		while (at != 0 && bytes.ptr[i] != mark->bytes[at]) {
			size_t shorter = at - 1;

			while (shorter != 0 &&
			       memcmp(mark->bytes, mark->bytes + at - shorter, shorter) != 0)
				shorter--;
			at = shorter;
		}
		if (bytes.ptr[i] == mark->bytes[at])
			at++;
	}
	*used = i;
	return at;
}

void mark_find(struct mark *mark, struct view *bytes, struct view before[2])
{
	size_t was_held = mark->held, used, at, all;

	before[0] = before[1] = (struct view){ mark->bytes, 0 };
	if (mark->is_found)
		return;
	at = follow(mark, *bytes, &used);
	all = was_held + used - at; /* bytes of the run */
	before[0].len = all < was_held ? all : was_held;
	before[1] = (struct view){ bytes->ptr, all - before[0].len };
	mark->held = at;
	mark->is_found = at == KERNEL_MARK_LEN;
	cut(bytes, used);
}
