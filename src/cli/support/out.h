/* out.h - printing of the verbs on standard output.
 *
 * The output is buffered. out_finish() reports a write error at the end, so that a full disk is not
 * taken for success. Serving never uses these functions: standard output then carries MCP. */
#pragma once
#include <stddef.h>

#include "base/attr.h"

struct error;

void out(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Prints the text in lines of at most 80 columns, each indented by `indent` spaces, with a newline
 * at the end. The current line already has `column` columns. Newlines in the text are kept. */
void out_wrapped(size_t indent, size_t column, const char *text);

MUST_CHECK int out_finish(struct error *err);
