/* line_reader.h - splits a byte stream into lines of limited length.
 *
 * A line ends with LF or CRLF. A byte order mark at its beginning is removed, and blank lines are
 * skipped. A line that exceeds the maximum is reported once, as soon as it is too long, and its
 * rest is discarded, so memory stays limited and the next line is read normally. The callbacks
 * may pause the reader: the rest of the bytes that were fed is then held until
 * line_reader_resume().
 *
 *   line_reader_init() -> line_reader_feed() ... line_reader_end() -> line_reader_done()
 *
 * The caller owns the struct. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/view.h"

struct line_reader_events {
	void (*line)(void *ctx, struct view line); /* valid until the callback returns */
	void (*too_long)(void *ctx);
};

struct line_reader {
	size_t max;
	struct buf partial; /* a line without its end */
	struct buf held;    /* bytes after the line whose callback paused the reader */
	bool skipping;      /* the rest of a line that is too long is being discarded */
	bool paused;
	const struct line_reader_events *events;
	void *ctx;
};

void line_reader_init(struct line_reader *reader, size_t max,
                      const struct line_reader_events *events, void *ctx);
void line_reader_done(struct line_reader *reader);

enum { LINE_READER_FEED_MAX = 64 * 1024 };
/* Takes at most LINE_READER_FEED_MAX bytes. Must not be called while the reader is paused. */
void line_reader_feed(struct line_reader *reader, struct view bytes);
void line_reader_pause(struct line_reader *reader);
void line_reader_resume(struct line_reader *reader); /* delivers held lines; may pause again */
void line_reader_end(struct line_reader *reader); /* end of the stream: the last line needs no LF */
