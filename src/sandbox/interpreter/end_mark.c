#include "sandbox/interpreter/end_mark.h"

#include <string.h>

void end_mark_init(struct end_mark *mark, const char bytes[KERNEL_MARK_LEN])
{
	memcpy(mark->bytes, bytes, KERNEL_MARK_LEN);
	mark->held = 0;
	mark->is_found = false;
}

/* Returns how many bytes at the end of `bytes`, behind the `held` ones, are a prefix of the mark:
 * KERNEL_MARK_LEN if all of it is there. *used: how many bytes of the chunk were examined. */
static size_t match_prefix(const struct end_mark *mark, struct view bytes, size_t *used)
{
	size_t at = mark->held;
	size_t i = 0;

	for (; i < bytes.len && at < KERNEL_MARK_LEN; i++) {
		if (at == 0) {
			const char *first = memchr(bytes.ptr + i, mark->bytes[0], bytes.len - i);

			i = first != NULL ? (size_t)(first - bytes.ptr) : bytes.len;
			if (first == NULL)
				break;
		}
		/* After a mismatch continue with the longest suffix of what has matched that is a
		 * prefix of the mark as well, as in the Knuth-Morris-Pratt search. */
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

void end_mark_search(struct end_mark *mark, struct view *bytes, struct view before[2])
{
	size_t was_held = mark->held, used, at, output;

	before[0] = before[1] = (struct view){ mark->bytes, 0 };
	if (mark->is_found)
		return;
	at = match_prefix(mark, *bytes, &used);
	output = was_held + used - at;
	before[0].len = output < was_held ? output : was_held;
	before[1] = (struct view){ bytes->ptr, output - before[0].len };
	mark->held = at;
	mark->is_found = at == KERNEL_MARK_LEN;
	bytes->ptr += used;
	bytes->len -= used;
}
