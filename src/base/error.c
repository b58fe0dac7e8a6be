#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/text/utf8.h"

enum { ERRNO_TEXT_SIZE = 160 };

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

/* The text of an errno. For a limit of open files it names the setting that raises the limit. */
static const char *describe_errno(int errnum, char out[ERRNO_TEXT_SIZE])
{
	struct rlimit files;

	if (errnum == EMFILE && getrlimit(RLIMIT_NOFILE, &files) == 0)
		(void)snprintf(out, ERRNO_TEXT_SIZE,
		               "%s (the limit is %llu: raise it with ulimit -n or LimitNOFILE=)",
		               strerror(errnum), (unsigned long long)files.rlim_cur);
	else if (errnum == ENFILE)
		(void)snprintf(out, ERRNO_TEXT_SIZE,
		               "%s (the limit of this machine: sysctl fs.file-max)",
		               strerror(errnum));
	else
		(void)snprintf(out, ERRNO_TEXT_SIZE, "%s", strerror(errnum));
	return out;
}

int error_sys(struct error *err, const char *fmt, ...)
{
	int saved = errno;
	char text[ERRNO_TEXT_SIZE];
	size_t used;
	va_list args;

	err->kind = ERR_SYSTEM;
	err->errnum = saved;
	va_start(args, fmt);
	(void)vsnprintf(err->msg, sizeof err->msg, fmt, args);
	va_end(args);
	used = strlen(err->msg);
	(void)snprintf(err->msg + used, sizeof err->msg - used, ": %s",
	               describe_errno(saved, text));
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
