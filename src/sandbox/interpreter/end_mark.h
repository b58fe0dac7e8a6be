/* end_mark.h - finds the mark that an interpreter writes behind the last byte of an execution's
 * output, wherever the stream was cut into chunks.
 *
 * Bytes that may be the beginning of the mark are held back until the next chunk decides. */
#pragma once
#include <stdbool.h>

#include "base/view.h"
#include "sandbox/interpreter/kernel_wire.h"

struct end_mark {
	char bytes[KERNEL_MARK_LEN];
	size_t held; /* so many of the last bytes are the beginning of the mark */
	bool is_found;
};

void end_mark_init(struct end_mark *mark, const char bytes[KERNEL_MARK_LEN]);

/* Searches a chunk. before[] gets the bytes in front of the mark in their order: first those that
 * were held back (a view into mark->bytes), then those of this chunk. *bytes becomes what stands
 * behind the mark. */
void end_mark_search(struct end_mark *mark, struct view *bytes, struct view before[2]);
