/* jsonc.h - JSON as people write it for editors: with comments, trailing commas and a
 * byte order mark. */
#pragma once
#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;

/* Appends a copy of the text to *ret, of the same length, that is plain JSON if the text is
 * JSON with comments: an offset into one is an offset into the other. Comments and a byte
 * order mark in front become spaces; a trailing comma becomes a tab, to be told from a
 * comma in a comment. All else stays, right or wrong, for json_read() to judge. Refused
 * is only what programs read in different ways: a comment that does not end, a lone
 * carriage return in a line comment, a byte order mark further on. */
MUST_CHECK int jsonc_blank(struct view text, struct buf *ret, struct error *err);
