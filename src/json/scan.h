/* scan.h - counts the values and the depth of a JSON text, without allocating.
 *
 * Jansson allocates while it parses: three bytes of "[]," become about a hundred bytes of heap,
 * and its recursion is limited only by a large constant of its own. json_read() counts first, so
 * that a hostile text can exhaust neither the heap nor the stack. The scan knows only strings,
 * brackets, commas and colons. For a text that is not JSON its numbers mean nothing; Jansson
 * rejects such a text afterwards. */
#pragma once
#include <stddef.h>

#include "base/view.h"

struct json_scan {
	size_t depth;  /* deepest nesting */
	size_t values; /* upper bound of the number of values */
	struct view
	        id; /* text of the first "id" in the top-level object; empty if it is no scalar */
	size_t ids; /* number of "id" members in the top-level object */
};

void json_scan(struct view text, struct json_scan *ret);
