/* line.h - lines out of a byte stream, each at most so long.
 *
 * LF or CRLF ends a line; a byte order mark in front and blank lines are dropped. A line
 * past the maximum is reported once, when it gets too long, and skipped to its end:
 * memory stays bounded and the next line is read as if nothing had happened. The receiver
 * may pause from within its callback: the rest of the bytes fed then waits. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/view.h"

struct line_events {
	void (*line)(void *ctx, struct view line); /* valid during the call only */
	void (*too_long)(void *ctx);
};

struct line_reader {
	size_t max;
	struct buf partial; /* a line whose end has not come yet */
	struct buf held;    /* what was fed while paused */
	bool skipping, paused;
	const struct line_events *events;
	void *ctx;
};

void line_init(struct line_reader *reader, size_t max, const struct line_events *events, void *ctx);
void line_done(struct line_reader *reader);

enum { LINE_FEED_MAX = 64 * 1024 };
/* At most LINE_FEED_MAX bytes, and none while paused. */
void line_feed(struct line_reader *reader, struct view bytes);
void line_pause(struct line_reader *reader);
void line_resume(struct line_reader *reader); /* delivers what was held; may pause again */
void line_end(struct line_reader *reader);    /* the stream ended: a last line needs no LF */
