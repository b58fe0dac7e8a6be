/* relay_stream.c - the streams of a guest: each is a stream of the holder's own channel under
 * another number, and every frame passes from one to the other. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "loop/input.h"
#include "loop/loop.h"
#include "sandbox/channel/channel.h"
#include "sandbox/sandbox.h"
#include "sandbox/share/internal.h"

/* One guest leaves streams of the channel free for the holder and for other guests. */
enum { GUEST_STREAMS_MAX = WIRE_STREAMS_MAX / 2 };

struct relay_stream {
	struct list node; /* in relay->streams */
	struct relay *relay;
	uint32_t id; /* the guest's number */
	struct channel_stream *stream;
};

/* The guest's input may have been paused for this stream. Resuming the input is always safe: the
 * next frame pauses it again if the queue of the channel is still full. */
static void remove_stream(struct relay_stream *stream)
{
	struct relay *relay = stream->relay;

	list_remove(&stream->node);
	relay->live--;
	if (relay->input != NULL)
		input_resume(relay->input);
	loop_defer(relay->loop, free, stream);
}

void relay_cancel_streams(struct relay *relay)
{
	while (!list_is_empty(&relay->streams)) {
		struct relay_stream *stream = container_of(relay->streams.next, struct relay_stream,
		                                           node);

		channel_cancel(stream->stream);
		remove_stream(stream);
	}
}

/* --- from the agent to the guest --- */

static void on_frame(void *ctx, const struct wire_frame *frame)
{
	static char out[WIRE_FRAME_MAX]; /* the program has one thread, and the queue copies */
	struct relay_stream *stream = ctx;
	struct relay *relay = stream->relay;
	struct wire_frame renamed = *frame;

	renamed.stream = stream->id;
	wire_frame_header(&renamed, out);
	if (frame->payload.len != 0)
		memcpy(out + WIRE_HEADER, frame->payload.ptr, frame->payload.len);
	if (frame->type == WIRE_DONE || frame->type == WIRE_FAILED)
		remove_stream(stream);
	relay_send(relay, (struct view){ out, WIRE_HEADER + frame->payload.len });
}

static void on_writable(void *ctx)
{
	const struct relay_stream *stream = ctx;

	input_resume(stream->relay->input);
}

/* The channel has ended, and has removed the stream already. */
static void on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct relay_stream *stream = ctx;
	struct relay *relay = stream->relay;

	(void)failure;
	(void)why;
	remove_stream(stream);
	relay_close(relay);
}

static const struct channel_stream_events stream_events = { .frame = on_frame,
	                                                    .writable = on_writable,
	                                                    .failed = on_failed };

/* --- from the guest to the agent --- */

static void refuse_stream(struct relay *relay, uint32_t id, const struct error *why)
{
	const struct wire_message failed = { .type = WIRE_FAILED,
		                             .failed = { .why = WIRE_FAILED_LIMIT,
		                                         .message = view_of(why->msg) } };

	relay_send_message(relay, &failed, id);
}

static void open_stream(struct relay *relay, uint32_t id, const struct wire_message *request)
{
	struct channel *channel = sandbox_channel(relay->sandbox);
	struct relay_stream *stream;
	struct error err;

	if (channel == NULL) {
		relay_close(relay);
		return;
	}
	if (relay->live >= GUEST_STREAMS_MAX) {
		(void)error_set(&err, ERR_LIMIT,
		                "%u operations of this process are running in the sandbox, and no "
		                "more are allowed: wait until one has ended",
		                relay->live);
		refuse_stream(relay, id, &err);
		return;
	}
	stream = mem_new(sizeof *stream);
	stream->relay = relay;
	stream->id = id;
	if (channel_open(channel, request, &stream_events, stream, &stream->stream, &err) < 0) {
		free(stream);
		refuse_stream(relay, id, &err);
		return;
	}
	list_add(&relay->streams, &stream->node);
	relay->live++;
	sandbox_touch(relay->sandbox);
}

static void receive_control(struct relay *relay, uint32_t id, const struct wire_message *message)
{
	static const struct wire_message ready = { .type = WIRE_READY };
	struct wire_message pong = { .type = WIRE_PONG };

	switch ((int)message->type) {
	case WIRE_WELCOME: /* the sandbox is awake, so its agent has sent READY before */
		loop_timer_stop(relay->deadline);
		relay_send_message(relay, &ready, 0);
		wire_link_sent(&relay->link, WIRE_READY);
		return;
	case WIRE_PING:
		pong.ping.token = message->ping.token;
		relay_send_message(relay, &pong, 0);
		return;
	default: /* wire_link_receive() refuses all other messages that do not open a stream */
		open_stream(relay, id, message);
	}
}

int relay_receive_frame(struct relay *relay, const struct wire_frame *frame, struct error *err)
{
	struct wire_message message;
	int r;

	LIST_EACH (node, &relay->streams) {
		struct relay_stream *stream = container_of(node, struct relay_stream, node);

		if (stream->id != frame->stream)
			continue;
		r = channel_forward(stream->stream, frame, err);
		if (r > 0)
			input_pause(relay->input);
		return r < 0 ? -1 : 0;
	}
	r = wire_link_receive(&relay->link, frame, err);
	if (r <= 0)
		return r;
	if (wire_decode(frame, &message, err) < 0)
		return -1;
	receive_control(relay, frame->stream, &message);
	return 0;
}
