/* braces.h - writes a pattern with braces out: "*.{c,h}" stands for "*.c" and "*.h", as in a shell.
 *
 * Braces with a comma in them are alternatives; they may be nested, and an alternative may be
 * empty. Other braces are literal, and so are those behind a backslash and those in a set such as
 * [{]. */
#pragma once
#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;

/* Adds each pattern that `pattern` stands for to `out`, separated by line feeds: one if it has no
 * alternatives. Fails if they do not fit. */
MUST_CHECK int braces_expand(struct view pattern, struct buf *out, struct error *err);
