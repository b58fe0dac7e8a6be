#include "cli/support/out.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { WIDTH = 80 };

void out(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vfprintf(stdout, fmt, args);
	va_end(args);
}

void out_wrapped(size_t indent, size_t column, const char *text)
{
	size_t at = column;

	while (*text != '\0') {
		size_t space = strspn(text, " "), len;

		text += space;
		len = strcspn(text, " \n");
		if (*text == '\n') {
			out("\n");
			at = 0;
			text++;
			continue;
		}
		if (at > indent && at + 1 + len > WIDTH) {
			out("\n");
			at = 0;
		}
		if (at < indent) {
			out("%*s", (int)(indent - at), "");
			at = indent;
		} else if (at > indent) {
			out(" ");
			at++;
		}
		out("%.*s", (int)len, text);
		at += len;
		text += len;
	}
	out("\n");
}

int out_finish(struct error *err)
{
	if (fflush(stdout) != 0 || ferror(stdout) != 0)
		return error_sys(err, "write to standard output");
	return 0;
}
