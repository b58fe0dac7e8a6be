/* mark.h - finds the bytes that stand behind all output of a run, wherever they were cut.
 *
 * Bytes that may be the beginning of the mark are held back until it is known. */
#pragma once
#include <stdbool.h>

#include "base/view.h"
#include "sandbox/interpreter/kernel_wire.h"

struct mark {
	char bytes[KERNEL_MARK_LEN];
	size_t held; /* so many bytes of it came last */
	bool is_found;
};

void mark_init(struct mark *mark, const char bytes[KERNEL_MARK_LEN]);

/* Goes through *bytes: before[] are bytes that belong in front of the mark, in their order (the
 * first view is of what was held back), *bytes is what stands behind the mark. */
void mark_find(struct mark *mark, struct view *bytes, struct view before[2]);
