/* feed.h - writes bytes from the server into a descriptor, as fast as its reader takes them.
 *
 * Bytes that cannot be written at once wait in a queue, which holds at most the credit given to the
 * server; credit is given back as bytes are written. A descriptor whose reader is gone discards the
 * rest and still gives credit back: the server must not hang because a program does not read its
 * stdin.
 *
 * feed_open() or feed_open_discarding(), then feed_put() and feed_end() as messages arrive, then
 * feed_close(). The feed owns the descriptor and is embedded in its stream. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "agent/poller.h"
#include "base/view.h"
#include "wire/table.h"

struct stream;

/* The largest packet of a feed with `packets`: what a worker has room for. */
enum { FEED_PACKET_MAX = WIRE_RECORDS_MAX };

struct feed {
	struct source source; /* fd -1: bytes are discarded */
	struct stream *stream;
	uint8_t channel;
	bool packets;      /* into a worker: one frame is one packet, see files/worker.h */
	bool ending;       /* END was received */
	size_t window;     /* bytes that the server may have sent and that are not written */
	char *queue;       /* `window` bytes, or NULL */
	size_t start, end; /* bytes in the queue */
	size_t owed;       /* bytes written whose credit was not given back yet */
	/* Called after END when all bytes are written or discarded; NULL: the descriptor is
	 * closed. */
	void (*drained)(struct feed *feed);
};

MUST_CHECK int feed_open(struct feed *feed, struct stream *stream, uint8_t channel, int fd,
                         void (*drained)(struct feed *), struct error *err);
/* A feed without a descriptor: credit is given back at once. */
void feed_open_discarding(struct feed *feed, struct stream *stream, uint8_t channel);
/* Gives more credit. To be called before the first byte. */
void feed_grow(struct feed *feed, size_t bytes);
void feed_put(struct feed *feed, struct view bytes);
void feed_end(struct feed *feed);
void feed_close(struct feed *feed);
