/* internal.h - what the files of the channel share.
 *
 *   channel.c          the socket, the handshake, PING and PONG, the end
 *   channel_stream.c   streams: sending, turns and credit
 *   channel_receive.c  streams: checking and delivering what arrives
 *   channel_stall.c    streams: requests that the agent does not answer
 *   channel_forward.c  streams: frames for and from another process
 *
 * Any callback may free the channel or cancel streams. So the memory of both is freed only in the
 * next turn of the loop, and after every callback `is_stopped` is checked before anything else is
 * used. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/list.h"
#include "sandbox/channel/channel.h"
#include "wire/stream_rules.h"

enum {
	CHANNEL_BUCKETS = 64,
	/* Above this, new requests are refused: there must be room for CREDIT, CLOSE and SIGNAL. */
	CHANNEL_REQUEST_MAX = CHANNEL_QUEUE_MAX + CHANNEL_QUEUE_MAX / 2,
	/* Above this, the channel fails: an agent that reads nothing must not fill the server's
	 * memory. */
	CHANNEL_BACKLOG_MAX = 2 * CHANNEL_QUEUE_MAX,
	CHANNEL_TURN = 64 * 1024, /* bytes of one stream before another one's turn */
};

struct channel_times {
	uint64_t hello_ms, ping_ms;
};

struct channel {
	struct loop *loop;
	const struct channel_events *events;
	void *ctx;
	struct channel_times times;
	int fd;
	struct input *input;
	struct output *output;
	struct loop_timer *timer; /* deadline of the handshake, then PING interval */
	struct loop_timer *wake;  /* fires at once: work that must not run within a caller */
	struct wire_link link;
	struct buf welcome; /* the WELCOME frame, until it is sent */
	struct buf partial; /* the beginning of a frame that has not arrived whole */

	struct list buckets[CHANNEL_BUCKETS]; /* streams by number */
	struct list waiting;                  /* streams that want to send, in order of arrival */
	struct channel_stream *turn;          /* the stream whose turn it is; or NULL */
	size_t turn_left;                     /* bytes it may still send in its turn */
	unsigned live;                        /* streams that have not ended */

	bool has_received; /* something arrived since the last interval */
	unsigned silent;   /* intervals in which nothing arrived */
	uint64_t pings, pongs;
	bool write_failed; /* the agent has closed its reading end */
	bool is_failing;   /* the wake timer will fail the channel with `why` */
	bool is_stopped;
	struct error why;
};

struct channel_stream {
	struct list node; /* in a bucket */
	struct list wait; /* in channel->waiting */
	struct channel *channel;
	const struct channel_stream_events *events;
	void *ctx;
	struct wire_stream wire;
	enum wire_type request;
	uint32_t records_left; /* that the reply may still have; STATS_ARE counts as one */
	uint64_t bytes_asked, bytes_received; /* bytes of a FETCH */
	uint32_t window[WIRE_CHANNELS];       /* bytes that may be in flight to us */
	uint32_t owed[WIRE_CHANNELS];         /* consumed bytes, not yet returned as credit */
	uint8_t waits_for_credit; /* mask of channels on which a sender waits for credit */
	unsigned stalled;         /* intervals in which the stream waited for the agent */
	uint64_t transferred;     /* bytes since the last interval */
	bool is_closing;          /* CLOSE was sent */
	bool is_removed;          /* removed from all lists; only the memory is left */
};

/* channel_new() with other time-outs, for tests. */
MUST_CHECK int channel_new_timed(struct loop *loop, int fd, const struct wire_welcome *welcome,
                                 const struct channel_times *times,
                                 const struct channel_events *events, void *ctx,
                                 struct channel **ret, struct error *err);

/* --- channel.c, for channel_stream.c --- */

/* Fails the channel from the loop: a caller in the middle of a stream's callback must not see it
 * freed. */
void channel_fail_later(struct channel *channel, const struct error *why);
/* Queues frames; `payload` is the end of the last one. */
void channel_queue(struct channel *channel, struct view frames, struct view payload);
const char *channel_format_ms(uint64_t ms, char out[32]); /* "5 s" or "20 ms" */

/* --- channel_stream.c --- */

/* The callbacks of a stream that was cancelled and has not ended yet: none. */
extern const struct channel_stream_events channel_no_events;

struct channel_stream *channel_find(struct channel *channel, uint32_t id);
/* Removes the stream from all lists; its memory is freed in the next turn of the loop. */
void channel_stream_remove(struct channel_stream *stream);
void channel_stream_fail(struct channel_stream *stream, enum wire_failure failure,
                         const struct error *why);
void channel_wait_turn(struct channel_stream *stream);
/* Calls `writable` of the waiting streams, each for its turn. */
void channel_give_turns(struct channel *channel);

/* --- channel_forward.c --- */

/* Delivers a frame of the agent to the callback `frame`. */
void channel_stream_relay(struct channel_stream *stream, const struct wire_frame *frame);

/* --- channel_stall.c --- */

/* Counts one PING interval for each stream that waits for the agent, and fails those that have
 * waited too long. */
void channel_fail_stalled(struct channel *channel);

/* --- channel_receive.c --- */

/* Handles a frame for a live stream. -1: the agent broke the protocol. */
MUST_CHECK int channel_stream_receive(struct channel_stream *stream, const struct wire_frame *frame,
                                      struct error *err);
