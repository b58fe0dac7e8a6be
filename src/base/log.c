#include "base/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text/utf8.h"

static const char *const words[] = {
#define X(name, word) word,
	LOG_LEVELS(X)
#undef X
};

static enum log_level most_shown = LOG_WARNING;

void log_set_level(enum log_level most)
{
	most_shown = most;
}

bool log_wants(enum log_level level)
{
	return level <= most_shown;
}

/* A client that never reads our stderr leaves us a full pipe; writing would hang the loop. */
static bool stderr_takes_a_line(void)
{
	struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&ready, 1, 0) == 1 && ready.revents == POLLOUT;
}

/* One write() per line: lines of several processes on one stderr do not mix. A stderr
 * that is full or gone loses the line; there is nobody to tell. */
void log_line(enum log_level level, const char *fmt, ...)
{
	char text[1024], shown[1400], line[1536], now[CLOCK_TEXT_SIZE];
	va_list args;
	ssize_t written;
	int len;

	if (!log_wants(level) || !stderr_takes_a_line())
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	len = snprintf(line, sizeof line, "%s belljar %s: %s\n", clock_text(now), words[level],
	               utf8_escape(view_of(text), shown, sizeof shown));
	written = write(STDERR_FILENO, line, (size_t)len);
	(void)written;
}
