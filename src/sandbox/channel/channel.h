/* channel.h - the server's end of the conversation with one agent.
 *
 * Takes the byte stream to an agent, greets it, and carries any number of streams over it.
 * The agent is hostile: every frame is checked against the table before anybody hears of it,
 * and the first one that breaks a rule ends the channel. Nothing that arrives is queued
 * here: bytes are handed on at once, and the agent may send no more than the receiver has
 * said it consumed. What is sent is queued up to a maximum; past it streams are told to wait.
 * So memory is bounded whatever the agent does, and one stream cannot hold up another.
 *
 *   channel_new -> ready -> channel_open ... -> failed or channel_free
 *
 * The end of the channel, for whatever reason, is told to every open stream at once, then
 * to the channel's owner. All of it may be freed from within its own callbacks. */
#pragma once
#include "base/attr.h"
#include "base/cleanup.h"
#include "wire/table.h"

struct channel;
struct channel_stream;
struct error;
struct loop;

enum {
	CHANNEL_QUEUE_MAX = 1024 * 1024, /* bytes that wait for the agent to read */
	CHANNEL_HELLO_MS = 20000,        /* it has so long to say HELLO and READY */
	CHANNEL_PING_MS = 5000,          /* after so long without a word it is asked */
	CHANNEL_SILENT_MAX = 3,          /* and given up after so many intervals */
};

struct channel_events {
	void (*ready)(void *ctx); /* the agent has set itself up: streams may be opened */
	/* Last call: the agent ended, broke the protocol, or is of another version. */
	void (*failed)(void *ctx, const struct error *why);
};

/* Members may be NULL. `done` or `failed` is the last call; the stream is gone after it. The
 * structs of events are not copied. */
struct channel_stream_events {
	void (*message)(void *ctx, const struct wire_message *message); /* all but those below */
	void (*bytes)(void *ctx, uint8_t channel, struct view bytes);
	void (*ended)(void *ctx, uint8_t channel);
	void (*writable)(void *ctx); /* after a send that did not take all */
	void (*done)(void *ctx, const struct wire_done *done);
	void (*failed)(void *ctx, enum wire_failure failure, const struct error *why);
};

/* Takes over fd. The welcome's views are copied. */
MUST_CHECK int channel_new(struct loop *loop, int fd, const struct wire_welcome *welcome,
                           const struct channel_events *events, void *ctx, struct channel **ret,
                           struct error *err);
/* Closes it: the agent ends, and everything in the sandbox with it. Open streams hear nothing. */
struct channel *channel_free(struct channel *channel);
DEFINE_CLEANUP(channel)

/* It is known from elsewhere that the agent is gone: streams and `failed` hear it now. */
void channel_fail(struct channel *channel, const struct error *why);

/* It has ended or is about to; `failed` was or will be called. */
bool channel_has_ended(const struct channel *channel);

/* Opens a stream with its first message (EXEC, READ ...). Before `ready` it fails.
 * ERR_LIMIT: so many are open, or so much waits for the agent, that this has to come later. */
MUST_CHECK int channel_open(struct channel *channel, const struct wire_message *request,
                            const struct channel_stream_events *events, void *ctx,
                            struct channel_stream **ret, struct error *err);

/* A further message on an open stream: SIGNAL, RESIZE, DEADLINE. */
MUST_CHECK int channel_send_message(struct channel_stream *stream,
                                    const struct wire_message *message, struct error *err);
/* Sends as much as credit, queue and the turns of others allow; returns how much that was.
 * Whether less than all was taken or nothing: `writable` says when to go on. */
size_t channel_send(struct channel_stream *stream, uint8_t channel, struct view bytes);
void channel_send_end(struct channel_stream *stream, uint8_t channel);
/* So many bytes of what came (records too: on WIRE_OUT) are out of the way: the agent may send
 * as many again. */
void channel_consumed(struct channel_stream *stream, uint8_t channel, size_t bytes);
/* Lets so many bytes more be on their way than the 64 KiB there are at first. */
void channel_grow_window(struct channel_stream *stream, uint8_t channel, size_t bytes);

/* Asks for the end; `done` or `failed` tells when it has come. */
void channel_close(struct channel_stream *stream);
/* The same, and nobody wants to hear of it any more: no further callback, the stream is gone. */
void channel_cancel(struct channel_stream *stream);
