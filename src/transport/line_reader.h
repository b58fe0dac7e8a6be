/* line_reader.h - splits a byte stream into lines of limited length.
 *
 * A line ends with LF or CRLF. A byte order mark at its beginning is removed, and blank lines are
 * skipped. A line that exceeds the maximum is discarded but for its first and last bytes, so
 * memory stays limited, and is reported at its end; the next line is read normally. The callbacks
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

enum { LINE_READER_EDGE_MAX = 512 };

struct line_reader_events {
	void (*line)(void *ctx, struct view line); /* valid until the callback returns */
	/* A line was discarded: its first and its last bytes, at most LINE_READER_EDGE_MAX each. */
	void (*too_long)(void *ctx, struct view first, struct view last);
};

struct line_edge {
	char bytes[LINE_READER_EDGE_MAX];
	size_t len;
};

struct line_reader {
	size_t max;
	struct buf partial;           /* a line without its end */
	struct buf held;              /* bytes after the line whose callback paused the reader */
	bool skipping;                /* the rest of a line that is too long is being discarded */
	struct line_edge first, last; /* of that line */
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
