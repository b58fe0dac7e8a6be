/* scan.h - what a JSON text would cost, found in one pass without allocating.
 *
 * Jansson allocates while it parses, so three bytes of "[]," can become a hundred of
 * heap, and recursion is bounded only by its own large constant. Counting first keeps
 * both bounded. The scan knows strings and brackets, nothing else; a text that is not
 * JSON gets some answer, and the parser refuses it afterwards. */
#pragma once
#include <stddef.h>

#include "base/view.h"

struct json_scan {
	size_t depth;   /* deepest nesting met */
	size_t values;  /* upper bound of the number of values */
	struct view id; /* the value of "id" in the top-level object; empty if none */
	size_t ids;     /* how many such members there are */
};

void json_scan(struct view text, struct json_scan *ret);
