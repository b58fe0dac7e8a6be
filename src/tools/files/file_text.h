/* file_text.h - the bytes of a file in answers: text or binary, pictures, lines with numbers. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"

struct buf;

/* The MIME type of a picture that clients can show, by its first bytes; NULL: it is none. */
const char *file_picture(struct view head);
/* The MIME type of a file with this name and these bytes; never NULL. */
const char *file_mime_type(const char *path, struct view bytes);

/* Whether the bytes are UTF-8 without NUL. `is_cut`: the file continues behind them, perhaps in the
 * middle of a character; the part of such a character is then removed from *bytes. */
bool file_is_text(struct view *bytes, bool is_cut);
bool file_has_bom(struct view text);

struct file_lines {
	uint64_t count; /* lines shown, one that was cut included */
	bool is_full;   /* there are more lines than fit */
	bool is_cut;    /* the only line does not fit, and only its beginning is shown */
};

/* Adds whole lines of `text` to `out`, as many as fit, on request with their numbers in front; the
 * first line has the number `first`. `is_open`: the last line continues behind the text, and is
 * left out unless it is the only one. */
void file_lines_show(struct view text, bool is_open, uint64_t first, bool numbers, struct buf *out,
                     struct file_lines *ret);
