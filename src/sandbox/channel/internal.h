/* internal.h - what the files of the channel share.
 *
 *   channel.c         the bytes, the greeting, who is alive, the end
 *   channel_stream.c  the streams: what goes out, and who may send when
 *   channel_take.c    the streams: what comes in
 *
 * Any callback may free the channel or drop streams. So a channel and its streams stay in
 * memory until the next turn of the loop, and after every callback `is_stopped` is asked
 * before anything else is touched. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/list.h"
#include "sandbox/channel/channel.h"
#include "wire/stream.h"

enum {
	CHANNEL_BUCKETS = 64,
	/* Requests are refused past this, so that there is always room for small answers. */
	CHANNEL_REQUEST_MAX = CHANNEL_QUEUE_MAX + CHANNEL_QUEUE_MAX / 2,
	/* Past this the agent has not read for so long that it never will. */
	CHANNEL_BACKLOG_MAX = 2 * CHANNEL_QUEUE_MAX,
	CHANNEL_TURN = 64 * 1024, /* bytes of one stream before the next one's turn */
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
	struct loop_timer *timer; /* for the greeting, then for signs of life */
	struct loop_timer *wake;  /* due at once: work that must not be done on a caller's stack */
	struct wire_link link;
	struct buf welcome; /* the WELCOME message until HELLO comes */
	struct buf partial; /* the front of a frame whose rest has not come */

	struct list buckets[CHANNEL_BUCKETS]; /* streams by number */
	struct list waiting;                  /* streams that want to send, first come first */
	struct channel_stream *turn;          /* whose turn it is */
	size_t turn_left;                     /* bytes it may still send in it */
	unsigned live;                        /* streams that have not ended */

	bool heard;      /* something came since the last tick */
	unsigned silent; /* ticks without anything */
	uint64_t pings, pongs;
	bool is_deaf;  /* nothing can be written to it any more */
	bool breaking; /* `why` is to be told as soon as the caller's stack is gone */
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
	uint32_t records_left;          /* that the request allows; STATS_ARE is one too */
	uint64_t asked, received;       /* of a FETCH: bytes */
	uint32_t window[WIRE_CHANNELS]; /* most that may be on its way to us */
	uint32_t owed[WIRE_CHANNELS];   /* consumed, but not given back as credit yet */
	uint8_t short_of;               /* mask of channels whose sender waits for credit */
	bool closing;                   /* CLOSE was sent */
	bool is_gone;                   /* after the last call: only its memory is left */
};

/* channel_new() with other times, for tests. */
MUST_CHECK int channel_new_timed(struct loop *loop, int fd, const struct wire_welcome *welcome,
                                 const struct channel_times *times,
                                 const struct channel_events *events, void *ctx,
                                 struct channel **ret, struct error *err);

/* --- channel.c, for channel_stream.c --- */

/* Fails the channel from the loop, not from within the caller. */
void channel_break(struct channel *channel, const struct error *why);
void channel_queue(struct channel *channel, struct view frames);

/* --- channel_stream.c --- */

/* For a stream nobody listens to: its end is still to come. */
extern const struct channel_stream_events channel_nobody;

struct channel_stream *channel_find(struct channel *channel, uint32_t id);
struct channel_stream *channel_stream_add(struct channel *channel, uint32_t id,
                                          enum wire_kind kind);
/* Takes it out of all lists; its memory goes with the next turn of the loop. */
void channel_stream_forget(struct channel_stream *stream);
void channel_stream_fail(struct channel_stream *stream, enum wire_failure failure,
                         const struct error *why);
void channel_wait_turn(struct channel_stream *stream);
/* Lets those that wait send, each in its turn. */
void channel_give_turns(struct channel *channel);

/* --- channel_take.c --- */

/* A frame for a stream that lives. -1: the agent broke the protocol. */
MUST_CHECK int channel_stream_take(struct channel_stream *stream, const struct wire_frame *frame,
                                   struct error *err);
