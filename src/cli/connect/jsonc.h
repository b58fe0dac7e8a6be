/* jsonc.h - JSON with comments, trailing commas and a byte order mark, as editors accept it. */
#pragma once
#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;

/* Appends a copy of the text to *ret that has the same length, so that offsets are valid in both,
 * and that is plain JSON if the text is JSON with comments. Comments and a leading byte order mark
 * become spaces; a trailing comma becomes a tab, which marks it for the caller. Other bytes are
 * copied unchecked: json_read() checks them. Fails for what programs read in different ways: a
 * comment that does not end, a lone carriage return in a line comment, a byte order mark inside the
 * text. */
MUST_CHECK int jsonc_blank(struct view text, struct buf *ret, struct error *err);
