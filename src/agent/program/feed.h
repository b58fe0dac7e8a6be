/* feed.h - bytes from the server into a descriptor, as fast as it takes them.
 *
 * What does not go at once waits here, at most the credit the server was given; credit is
 * given back as bytes go. A descriptor that takes no more (its reader has left) swallows the
 * rest: the sender must not hang because a program did not read its stdin. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "agent/poller.h"
#include "base/view.h"

struct stream;

struct feed {
	struct source source; /* fd -1: bytes are swallowed */
	struct stream *stream;
	uint8_t channel;
	bool packets; /* into a worker: frames, not bytes (worker.h) */
	bool ending;  /* END has come */
	bool held;    /* nowhere to write to yet: everything waits */
	char *queue;  /* WIRE_WINDOW bytes, or NULL */
	size_t start, end;
	size_t owed; /* gone, but credit not given back yet */
	/* After END, when all has gone or nobody takes it any more; closes by default. */
	void (*drained)(struct feed *feed);
	/* Nobody takes it any more. NULL: it is swallowed. */
	void (*broken)(struct feed *feed);
};

MUST_CHECK int feed_start(struct feed *feed, struct stream *stream, uint8_t channel, int fd,
                          void (*drained)(struct feed *), struct error *err);
/* A feed that swallows: credit is given back at once. */
void feed_swallow(struct feed *feed, struct stream *stream, uint8_t channel);
/* A feed whose descriptor comes later: what is put waits until feed_release(). */
void feed_hold(struct feed *feed, struct stream *stream, uint8_t channel,
               void (*drained)(struct feed *));
MUST_CHECK int feed_release(struct feed *feed, int fd, struct error *err);
void feed_put(struct feed *feed, struct view bytes);
void feed_end(struct feed *feed);
void feed_stop(struct feed *feed);
