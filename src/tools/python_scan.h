/* python_scan.h - the lexical part of reading Python: logical lines, strings, brackets. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/view.h"

struct buf;

/* One statement, perhaps on several lines. */
struct python_line {
	size_t indent;
	struct view text; /* without indentation and line end; comments are still in it */
};

/* Cuts the next line that says something off *rest. False: there are no more. */
bool python_next_line(struct view *rest, struct python_line *ret);

/* Length of the string or comment at the front of `text`, its prefix included; 0: neither. */
size_t python_skip(struct view text);

/* The colon that ends the head of a compound statement, or text.len. */
size_t python_head(struct view text);

/* The words of a statement's head in one line: comments gone, white space single. */
void python_one_line(struct view text, struct buf *out);

/* If `text` is strings and nothing else: what they say, cleaned as inspect.cleandoc() does it,
 * appended to `out` as far as it fits. False: it is something else. */
bool python_docstring(struct view text, struct buf *out);
