/* edit_text.h - exact replacements in a text: all of them are made, or none.
 *
 * Each edit works on the result of the one before it. Its old text must occur exactly once, or at
 * least once with `all`, which leaves out those that overlap the one before. In a text whose lines
 * all end in CR LF, a line end of an edit without CR is CR LF too: models write LF. */
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

/* Writes the new text to `ret`, whose maximum bounds it, and the changed lines to `diff`, as many
 * hunks as fit: "-" before, "+" after, "@@ line 7 @@" for the line in the text as that edit left
 * it. If hunks are missing, diff->max is smaller afterwards. Errors number the edits from 1.
 * ERR_LIMIT: more than 100000 replacements, or too many edits for a text of this length. */
MUST_CHECK int edit_text(struct view text, const struct edit *edits, size_t count, struct buf *ret,
                         struct buf *diff, size_t *ret_replaced, struct error *err);
