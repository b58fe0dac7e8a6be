#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"

/* snprintf() may cut the message inside a UTF-8 character, and JSON text must be valid UTF-8. */
static void cut_partial_char(struct error *err)
{
	err->msg[utf8_prefix(err->msg, strlen(err->msg), sizeof err->msg - 1)] = '\0';
}

int error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
{
	va_list args;

	err->kind = kind;
	err->errnum = 0;
	va_start(args, fmt);
	(void)vsnprintf(err->msg, sizeof err->msg, fmt, args);
	va_end(args);
	cut_partial_char(err);
	return -1;
}

int error_sys(struct error *err, const char *fmt, ...)
{
	int saved = errno;
	size_t used;
	va_list args;

	err->kind = ERR_SYSTEM;
	err->errnum = saved;
	va_start(args, fmt);
	(void)vsnprintf(err->msg, sizeof err->msg, fmt, args);
	va_end(args);
	used = strlen(err->msg);
	(void)snprintf(err->msg + used, sizeof err->msg - used, ": %s", strerror(saved));
	cut_partial_char(err);
	return -1;
}

int error_wrap(struct error *err, const char *fmt, ...)
{
	struct error inner = *err;
	size_t used;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(err->msg, sizeof err->msg, fmt, args);
	va_end(args);
	used = strlen(err->msg);
	(void)snprintf(err->msg + used, sizeof err->msg - used, ": %s", inner.msg);
	cut_partial_char(err);
	return -1;
}
