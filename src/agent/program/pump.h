/* pump.h - bytes from a descriptor to the server, as fast as they are wanted.
 *
 * Reads straight behind a frame header in the outgoing buffer, never more than the channel
 * has credit for; without credit the descriptor is left alone. Or, if a ring is given, reads
 * into the ring and says nothing. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "agent/poller.h"

struct ring;
struct stream;

enum pump_mode {
	PUMP_FLOWS,
	PUMP_LIMITED, /* only `left` bytes are wanted: then the end is waited for */
	PUMP_LAST,    /* what wrote into it has ended: only `left` bytes count */
};

struct pump {
	struct source source; /* fd -1: ended, or never there */
	struct stream *stream;
	struct ring *ring;
	uint8_t channel;
	enum pump_mode mode;
	uint64_t left;
	uint64_t carried;                 /* bytes so far */
	void (*ended)(struct pump *pump); /* after END was said */
};

/* Takes over fd, which must not block. */
MUST_CHECK int pump_start(struct pump *pump, struct stream *stream, uint8_t channel, int fd,
                          void (*ended)(struct pump *), struct error *err);
void pump_credit(struct pump *pump);
/* Nobody honest writes any more: deliver what is in the pipe now and end, also if somebody
 * elsewhere still holds the other end. */
void pump_finish(struct pump *pump);
/* The same where nobody can say how much there is: whatever can be read now, at most so much. */
void pump_empty(struct pump *pump, uint64_t max);
/* Of a socket: carries so many bytes, leaves alone what comes behind them, and ends when the
 * other side has ended. */
void pump_limit(struct pump *pump, uint64_t bytes);
void pump_stop(struct pump *pump); /* without a word */
