/* channel.h - the server's end of the connection to one agent.
 *
 *   channel_new -> ready -> channel_open ... -> failed or channel_free
 *
 * The channel owns the socket to the agent, performs the handshake, and then carries many streams
 * at once: each exec or file operation is one stream.
 *
 * The agent is treated as hostile, because code in the sandbox may have taken it over. Every frame
 * is checked against the table of messages, the rules of streams and the request before a callback
 * sees it; the first frame that breaks a rule ends the channel. The agent can exhaust neither
 * memory nor time of the server: bytes that arrive are passed on at once and never queued, the
 * agent may send only as many as the receiver has consumed (credit), and frames to the agent are
 * queued up to a maximum, after which senders wait for `writable`. Streams take turns, so one
 * cannot block another.
 *
 * An agent that answers PINGs but not a request costs that request only: a stream whose next step
 * is the agent's, and which transfers too little, fails and is cancelled. A program that runs may
 * be silent as long as it likes; its deadline is the run's (sandbox/run/sandbox_run.h).
 *
 * When the channel ends, for whatever reason, every open stream fails first, then the channel
 * itself. The channel and its streams may be freed from within their own callbacks. */
#pragma once
#include "base/attr.h"
#include "base/cleanup.h"
#include "wire/table.h"

struct channel;
struct channel_stream;
struct error;
struct loop;

enum {
	CHANNEL_QUEUE_MAX = 1024 * 1024, /* bytes queued for the agent */
	CHANNEL_HELLO_MS = 20000,        /* for HELLO and READY together */
	CHANNEL_PING_MS = 5000,          /* without any frame, then a PING is sent */
	CHANNEL_SILENT_MAX = 3,          /* such intervals, then the channel fails */
	/* Intervals of CHANNEL_PING_MS in which a stream waits for the agent, then the stream
	 * fails: 60 s. Each CHANNEL_PROGRESS bytes that were transferred take one interval off. */
	CHANNEL_STALLED_MAX = 12,
	CHANNEL_PROGRESS = 64 * 1024,
};

struct channel_events {
	void (*ready)(void *ctx); /* the agent has set itself up: streams may be opened */
	/* The last call: the agent exited, broke the protocol, or has another version. */
	void (*failed)(void *ctx, const struct error *why);
};

/* Members may be NULL. `done` or `failed` is the last call, and the stream is freed after it. The
 * struct is not copied. */
struct channel_stream_events {
	/* All messages without a callback below. */
	void (*message)(void *ctx, const struct wire_message *message);
	void (*bytes)(void *ctx, uint8_t channel, struct view bytes);
	void (*ended)(void *ctx, uint8_t channel);
	void (*writable)(void *ctx); /* after channel_send() took less than all */
	void (*done)(void *ctx, const struct wire_done *done);
	void (*failed)(void *ctx, enum wire_failure failure, const struct error *why);
	/* For a stream that another process uses (see channel_forward). If set, it gets every frame
	 * of the agent, checked like any other; DONE or FAILED is the last. Besides, only
	 * `writable` is called, and `failed` if the channel ends. */
	void (*frame)(void *ctx, const struct wire_frame *frame);
};

/* Takes over fd, also on failure. The views in the welcome are copied. */
MUST_CHECK int channel_new(struct loop *loop, int fd, const struct wire_welcome *welcome,
                           const struct channel_events *events, void *ctx, struct channel **ret,
                           struct error *err);
/* Closes the socket: the agent exits, and the kernel kills everything in the sandbox. No callback
 * is called. */
struct channel *channel_free(struct channel *channel);
DEFINE_CLEANUP(channel)

/* Fails all streams and the channel at once, for a caller that knows that the agent is gone. */
void channel_fail(struct channel *channel, const struct error *why);

/* Whether the channel has failed or is about to: `failed` was or will be called. */
bool channel_has_ended(const struct channel *channel);

/* Opens a stream with its first message (EXEC, READ ...). Fails before `ready`. ERR_LIMIT: too many
 * streams are open, or too many bytes are queued; try again later. */
MUST_CHECK int channel_open(struct channel *channel, const struct wire_message *request,
                            const struct channel_stream_events *events, void *ctx,
                            struct channel_stream **ret, struct error *err);

/* A further message on an open stream: SIGNAL, RESIZE, DEADLINE. */
MUST_CHECK int channel_send_message(struct channel_stream *stream,
                                    const struct wire_message *message, struct error *err);
/* Sends as many bytes as credit, queue and the turns of other streams allow, and returns how many.
 * If it returns less than all, `writable` is called when the caller can go on. */
size_t channel_send(struct channel_stream *stream, uint8_t channel, struct view bytes);
/* Ends this channel of the stream: the program reads an end of file. */
void channel_send_end(struct channel_stream *stream, uint8_t channel);
/* Reports that bytes were consumed, so that the agent may send as many again. Records of ENTRIES
 * and MATCHES count as bytes on WIRE_OUT. */
void channel_consumed(struct channel_stream *stream, uint8_t channel, size_t bytes);
/* Raises the number of bytes that may be in flight, which is 64 KiB at first. */
void channel_grow_window(struct channel_stream *stream, uint8_t channel, size_t bytes);

/* Sends a frame that another process made for this stream, under the stream's own number. -1: the
 * frame breaks the protocol, and is not sent. 1: the queue is full; the caller stops reading from
 * that process until `writable`. Frames of a stream that was closed are ignored. */
MUST_CHECK int channel_forward(struct channel_stream *stream, const struct wire_frame *frame,
                               struct error *err);

/* Asks the agent to end the stream; `done` or `failed` follows. */
void channel_close(struct channel_stream *stream);
/* Ends the stream like channel_close(), without any further callback. The caller must not use the
 * stream any more. */
void channel_cancel(struct channel_stream *stream);
