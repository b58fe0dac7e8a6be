/* out.h - what verbs print on standard output.
 *
 * Buffered; out_finish() at the end tells whether all of it arrived, so that a full disk
 * is not a success. Never used while serving: there standard output is the protocol's. */
#pragma once
#include <stddef.h>

#include "base/attr.h"

struct error;

void out(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* The text broken into lines of at most 80 columns, each behind `indent` spaces; the
 * cursor stands at `column` already. Ends with a newline. An empty line in the text
 * stays one. */
void out_wrapped(size_t indent, size_t column, const char *text);

MUST_CHECK int out_finish(struct error *err);
