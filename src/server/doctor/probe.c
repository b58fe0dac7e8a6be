#include "server/doctor/probe.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text/utf8.h"

PRINTF_LIKE(3, 0) static void format(char *out, size_t size, const char *fmt, va_list args)
{
	(void)vsnprintf(out, size, fmt, args);
	out[utf8_prefix(out, strlen(out), size - 1)] = '\0';
}

void check_set(struct check *check, enum check_status status, const char *fmt, ...)
{
	va_list args;

	check->status = status;
	va_start(args, fmt);
	format(check->detail, sizeof check->detail, fmt, args);
	va_end(args);
}

void check_fix(struct check *check, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	format(check->fix, sizeof check->fix, fmt, args);
	va_end(args);
}

const char *probe_read_line(const char *path, char *out, size_t size)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, out, size - 1) : 0;

	out[len > 0 ? len : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return out;
}

void probe_list_add(char *list, size_t size, const char *word)
{
	size_t used = strlen(list);

	(void)snprintf(list + used, size - used, "%s%s", used != 0 ? ", " : "", word);
}
