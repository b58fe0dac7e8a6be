/* diff.h - the lines in which two texts differ, as a unified diff that a person can read.
 *
 * The texts may be hostile. Time and memory are bounded: if the texts differ in more than
 * DIFF_EDITS_MAX lines, all lines between their common beginning and their common end are shown as
 * removed and added. Lines are escaped like utf8_escape() does, except for tabs, so that a text
 * cannot hide a line or imitate another one; a long line is cut. */
#pragma once
#include <stdbool.h>

#include "base/view.h"

struct buf;

enum {
	DIFF_TEXT_MAX = 256 * 1024, /* bytes of one text */
	DIFF_EDITS_MAX = 400,       /* lines that differ, for the shortest diff */
	DIFF_LINE_MAX = 400,        /* bytes of one line that are shown */
};

/* Whether the bytes are text: valid UTF-8 without NUL. */
bool diff_is_text(struct view bytes);

/* Appends the hunks, without file names. Each text has at most DIFF_TEXT_MAX bytes. False: `out` is
 * full, and the last lines are missing; it never ends within a line. */
bool diff_lines(struct view before, struct view after, struct buf *out);
