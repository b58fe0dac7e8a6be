/* edit_text.h - exact replacements in a text: all of them, or none and the reason why.
 *
 * Each edit is made in what the one before it left. The text looked for must be there once, or at
 * least once with `all`; occurrences do not overlap. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;

struct edit {
	struct view old, new;
	bool all;
};

/* The new text goes into `ret`, whose maximum bounds it, and into `diff` the lines that changed, as
 * many as fit: "-" before, "+" after, "@@ line 7 @@" where in the text as that edit left it.
 * Errors number the edits from 1; ERR_LIMIT: more than 100000 replacements, or too many edits for
 * so long a text. */
MUST_CHECK int edit_text(struct view text, const struct edit *edits, size_t count, struct buf *ret,
                         struct buf *diff, size_t *ret_replaced, struct error *err);
