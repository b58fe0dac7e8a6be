/* pump.h - reads the output of a program from a descriptor and sends it, as fast as the server
 * takes it.
 *
 * A pump reads directly behind a frame header in the outgoing buffer, and never more than the
 * channel has credit for; without credit the descriptor is not read, so a full pipe blocks the
 * program. pump_open(), then pump_credit() whenever credit arrives; at the end of the output END is
 * sent and `ended` is called. The pump owns the descriptor and is embedded in its stream. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "agent/poller.h"

struct stream;

struct pump {
	struct source source; /* fd -1: ended, or never opened */
	struct stream *stream;
	uint8_t channel;
	bool finishing; /* only `left` more bytes are sent */
	uint64_t left;
	bool is_ordered;   /* sends in turn with the others of its program: write_order.h */
	uint64_t early_ms; /* when bytes were sent whose signal had not come yet; 0: none */
	void (*ended)(struct pump *pump); /* after END was sent; may end the stream */
};

/* Takes over fd, which must be non-blocking, if it succeeds. */
MUST_CHECK int pump_open(struct pump *pump, struct stream *stream, uint8_t channel, int fd,
                         void (*ended)(struct pump *), struct error *err);
void pump_credit(struct pump *pump);
/* Puts the pump of a program in order with the others. */
void pump_set_ordered(struct pump *pump);
/* How many bytes may be read now. */
size_t pump_allowed_bytes(const struct pump *pump);
/* The program and its descendants have exited: sends what is in the pipe now and ends, even if some
 * other process still holds the write end open. */
void pump_finish(struct pump *pump);
/* Sends what can be read from a terminal now, at most `max` bytes: the kernel does not say how much
 * waits in one. */
void pump_drain(struct pump *pump, uint64_t max);
void pump_close(struct pump *pump); /* without sending END */
