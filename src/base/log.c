#include "base/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text/utf8.h"

static const char *const level_names[] = {
#define X(name, word) word,
	LOG_LEVELS(X)
#undef X
};

static enum log_level shown_level = LOG_WARNING;

void log_set_level(enum log_level most_verbose)
{
	shown_level = most_verbose;
}

/* stderr may be a pipe that the client never reads. Once it is full, write() would block the event
 * loop. */
static bool is_stderr_writable(void)
{
	struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&ready, 1, 0) == 1 && ready.revents == POLLOUT;
}

/* Each line is one write(), so that the lines of several processes on one stderr do not mix. */
PRINTF_LIKE(2, 0)
static void write_line(const char *word, const char *fmt, va_list args)
{
	char text[1024], line[1536], now[CLOCK_TEXT_SIZE];
	ssize_t written;
	int len;

	if (!is_stderr_writable())
		return;
	(void)vsnprintf(text, sizeof text, fmt, args);
	len = snprintf(line, sizeof line, "%s belljar %s: %s\n", clock_text(now), word,
	               UTF8_ESCAPED(view_of(text), 1400));
	written = write(STDERR_FILENO, line, (size_t)len);
	(void)written;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	va_list args;

	if (level > shown_level)
		return;
	va_start(args, fmt);
	write_line(level_names[level], fmt, args);
	va_end(args);
}

void log_access(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	write_line("access", fmt, args);
	va_end(args);
}
