/* file_text.h - the bytes of a file as an answer: text or not, which picture, lines and numbers. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"

struct buf;

/* The MIME type of a picture clients can show, by how it begins; NULL: it is none. */
const char *file_picture(struct view head);
/* What a file with this name and these bytes is called; never NULL. */
const char *file_mime_type(const char *path, struct view bytes);

/* No NUL in it, and UTF-8. `is_cut`: it goes on behind this, perhaps in the middle of a character;
 * such a rest is taken off. */
bool file_is_text(struct view *bytes, bool is_cut);
bool file_has_bom(struct view text);

struct file_lines {
	uint64_t count; /* lines shown, one that was cut included */
	bool is_full;   /* there was no room for the rest */
	bool is_cut;    /* the only line is longer than the room for it */
};

/* Whole lines of `text`, whose first has the number `first`, as long as they fit into `out`; with
 * their numbers in front on request. `is_open`: the last line goes on behind the text. It is left
 * out then, unless it is the only one. */
void file_lines_show(struct view text, bool is_open, uint64_t first, bool numbers, struct buf *out,
                     struct file_lines *ret);
