/* package_text.h - belljar's remark about an installation, in memory of the caller.
 *
 * The installer's own texts are hostile: any program of the sandbox may have written them. They are
 * added without bytes that begin a new line, or another remark. A text that is full stays
 * terminated. */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "mcp/param/param.h"

struct package_text {
	char *out;
	size_t size, used;
};

void package_text_add(struct package_text *text, const char *fmt, ...) PRINTF_LIKE(2, 3);
void package_text_add_escaped(struct package_text *text, const char *from_sandbox);
/* "a==1.0, b==2.0 and 7 more", of strings from the sandbox. Those from the first empty one on are
 * only counted. */
void package_text_add_list(struct package_text *text, const struct param_strings *list);
