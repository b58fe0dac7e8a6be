#include "tools/packages/package_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/view.h"

enum { ESCAPED_MAX = 400, LIST_END = 160 };

void package_text_add(struct package_text *text, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(text->out + text->used, text->size - text->used, fmt, args);
	va_end(args);
	if (len > 0)
		text->used += (size_t)len;
	if (text->used >= text->size)
		text->used = text->size - 1;
}

void package_text_add_escaped(struct package_text *text, const char *from_sandbox)
{
	char shown[ESCAPED_MAX + 1];

	(void)utf8_escape(view_of(from_sandbox), shown, sizeof shown);
	for (char *at = shown; (at = strchr(at, '[')) != NULL; at++)
		*at = '(';
	package_text_add(text, "%s", shown);
}

void package_text_add_list(struct package_text *text, const struct param_strings *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (text->used + LIST_END > text->size || list->items[i][0] == '\0') {
			package_text_add(text, " and %zu more", list->count - i);
			return;
		}
		package_text_add(text, "%s", i != 0 ? ", " : "");
		package_text_add_escaped(text, list->items[i]);
	}
}
