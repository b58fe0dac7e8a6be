#include "transport/line_reader.h"

#include <assert.h>
#include <string.h>

#include "base/num.h"

/* Bytes of a line that do not count: a byte order mark (3) and a CR. */
enum { UNCOUNTED_MAX = 4 };

void line_reader_init(struct line_reader *reader, size_t max,
                      const struct line_reader_events *events, void *ctx)
{
	*reader = (struct line_reader){ .max = max, .events = events, .ctx = ctx };
	buf_init(&reader->partial, max + UNCOUNTED_MAX);
	buf_init(&reader->held, LINE_READER_FEED_MAX);
}

void line_reader_done(struct line_reader *reader)
{
	buf_done(&reader->partial);
	buf_done(&reader->held);
}

static void deliver_line(struct line_reader *reader, struct view line)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";

	if (view_starts(line, byte_order_mark)) {
		line.ptr += strlen(byte_order_mark);
		line.len -= strlen(byte_order_mark);
	}
	line = view_trim(line);
	if (line.len > reader->max) {
		size_t n = num_min(line.len, LINE_READER_EDGE_MAX);

		reader->events->too_long(reader->ctx, (struct view){ line.ptr, n },
		                         (struct view){ line.ptr + line.len - n, n });
	} else if (line.len != 0)
		reader->events->line(reader->ctx, line);
}

static void keep_first(struct line_edge *edge, struct view bytes)
{
	size_t n = num_min(bytes.len, sizeof edge->bytes - edge->len);

	memcpy(edge->bytes + edge->len, bytes.ptr, n);
	edge->len += n;
}

static void keep_last(struct line_edge *edge, struct view bytes)
{
	size_t n = num_min(bytes.len, sizeof edge->bytes);
	size_t kept = num_min(edge->len, sizeof edge->bytes - n);

	memmove(edge->bytes, edge->bytes + edge->len - kept, kept);
	memcpy(edge->bytes + kept, bytes.ptr + bytes.len - n, n);
	edge->len = kept + n;
}

/* Of a line that is too long only the first and the last bytes are kept. The id of the request is
 * usually among them, so that the client learns which request was refused. */
static void discard_bytes(struct line_reader *reader, struct view bytes)
{
	if (bytes.len == 0)
		return;
	keep_first(&reader->first, bytes);
	keep_last(&reader->last, bytes);
}

/* Appends to the partial line, or begins to discard it if it gets too long. */
static void append_partial(struct line_reader *reader, struct view bytes)
{
	if (!reader->skipping && buf_put(&reader->partial, bytes))
		return;
	if (!reader->skipping) {
		reader->skipping = true;
		reader->first.len = reader->last.len = 0;
		discard_bytes(reader, buf_view(&reader->partial));
		buf_clear(&reader->partial);
	}
	discard_bytes(reader, bytes);
}

/* Ends a line: `last` is its part in the current chunk. A line that lies in the chunk as a whole
 * is delivered without copying. */
static void finish_line(struct line_reader *reader, struct view last)
{
	if (reader->partial.len == 0 && !reader->skipping && last.len <= reader->partial.max) {
		deliver_line(reader, last);
		return;
	}
	append_partial(reader, last);
	if (reader->skipping)
		reader->events->too_long(reader->ctx,
		                         (struct view){ reader->first.bytes, reader->first.len },
		                         (struct view){ reader->last.bytes, reader->last.len });
	else
		deliver_line(reader, buf_view(&reader->partial));
	reader->skipping = false;
	buf_clear(&reader->partial);
}

void line_reader_feed(struct line_reader *reader, struct view bytes)
{
	const char *end;

	assert(!reader->paused && reader->held.len == 0 && bytes.len <= LINE_READER_FEED_MAX);
	while (!reader->paused && bytes.len != 0 &&
	       (end = memchr(bytes.ptr, '\n', bytes.len)) != NULL) {
		size_t len = (size_t)(end - bytes.ptr);

		finish_line(reader, (struct view){ bytes.ptr, len });
		bytes.ptr += len + 1;
		bytes.len -= len + 1;
	}
	if (reader->paused)
		buf_put(&reader->held, bytes); /* cannot fail: see the assertion */
	else if (bytes.len != 0)
		append_partial(reader, bytes);
}

void line_reader_pause(struct line_reader *reader)
{
	reader->paused = true;
}

void line_reader_resume(struct line_reader *reader)
{
	struct buf held = reader->held;

	reader->paused = false;
	buf_init(&reader->held, LINE_READER_FEED_MAX);
	line_reader_feed(reader, buf_view(&held));
	buf_done(&held);
}

void line_reader_end(struct line_reader *reader)
{
	finish_line(reader, (struct view){ "", 0 });
}
