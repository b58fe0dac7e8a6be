#include "transport/line.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"

/* A byte order mark in front and a CR behind do not count. */
enum { ENDS_MAX = 4 };

void line_init(struct line_reader *reader, size_t max, const struct line_events *events, void *ctx)
{
	*reader = (struct line_reader){ .max = max, .events = events, .ctx = ctx };
	buf_init(&reader->partial, max + ENDS_MAX);
	buf_init(&reader->held, LINE_FEED_MAX);
}

void line_done(struct line_reader *reader)
{
	buf_done(&reader->partial);
	buf_done(&reader->held);
}

static void deliver(struct line_reader *reader, struct view line)
{
	static const char mark[] = "\xef\xbb\xbf";

	if (view_starts(line, mark)) {
		line.ptr += strlen(mark);
		line.len -= strlen(mark);
	}
	line = view_trim(line);
	if (line.len > reader->max)
		reader->events->too_long(reader->ctx);
	else if (line.len != 0)
		reader->events->line(reader->ctx, line);
}

static void keep(struct line_reader *reader, struct view bytes)
{
	struct error full;

	if (reader->skipping || buf_add(&reader->partial, bytes, &full) == 0)
		return;
	reader->skipping = true;
	buf_clear(&reader->partial);
	reader->events->too_long(reader->ctx);
}

/* The end of a line has come: `last` is what precedes it in this chunk. A line that
 * lies in the chunk as a whole is not copied. */
static void finish(struct line_reader *reader, struct view last)
{
	if (reader->partial.len == 0 && !reader->skipping && last.len <= reader->partial.max) {
		deliver(reader, last);
		return;
	}
	keep(reader, last);
	if (!reader->skipping)
		deliver(reader, buf_view(&reader->partial));
	reader->skipping = false;
	buf_clear(&reader->partial);
}

void line_feed(struct line_reader *reader, struct view bytes)
{
	const char *end;
	struct error full;

	assert(!reader->paused && reader->held.len == 0 && bytes.len <= LINE_FEED_MAX);
	while (!reader->paused && bytes.len != 0 &&
	       (end = memchr(bytes.ptr, '\n', bytes.len)) != NULL) {
		size_t len = (size_t)(end - bytes.ptr);

		finish(reader, (struct view){ bytes.ptr, len });
		bytes.ptr += len + 1;
		bytes.len -= len + 1;
	}
	if (reader->paused)
		(void)!buf_add(&reader->held, bytes, &full); /* fits: see the assertion */
	else if (bytes.len != 0)
		keep(reader, bytes);
}

void line_pause(struct line_reader *reader)
{
	reader->paused = true;
}

void line_resume(struct line_reader *reader)
{
	struct buf held = reader->held;

	reader->paused = false;
	buf_init(&reader->held, LINE_FEED_MAX);
	line_feed(reader, buf_view(&held));
	buf_done(&held);
}

void line_end(struct line_reader *reader)
{
	finish(reader, (struct view){ "", 0 });
}
