/* channel_forward.c - streams that another process uses through this server (see channel.h).
 *
 * The other process has a channel of its own, whose frames pass through here. Credit is counted but
 * not given: it goes through like everything else, from one end to the other. So a stream of this
 * kind has no more bytes in this server's memory than the other process has given credit for. */
#include "loop/output.h"
#include "sandbox/channel/internal.h"

void channel_stream_relay(struct channel_stream *stream, const struct wire_frame *frame)
{
	if (frame->type == WIRE_DONE || frame->type == WIRE_FAILED)
		channel_stream_remove(stream);
	stream->events->frame(stream->ctx, frame);
}

static void queue_frame(struct channel *channel, const struct wire_frame *frame)
{
	char header[WIRE_HEADER];

	wire_frame_header(frame, header);
	channel_queue(channel, (struct view){ header, sizeof header }, frame->payload);
}

int channel_forward(struct channel_stream *stream, const struct wire_frame *frame,
                    struct error *err)
{
	struct channel *channel = stream->channel;
	struct wire_frame own = *frame;
	struct wire_message message;

	if (stream->is_removed || stream->is_closing || channel_has_ended(channel))
		return 0;
	own.stream = stream->wire.id;
	if (wire_decode(&own, &message, err) < 0 || wire_stream_send(&stream->wire, &own, err) < 0)
		return -1;
	queue_frame(channel, &own);
	if (own.type == WIRE_CLOSE) {
		stream->is_closing = true;
		list_remove(&stream->wait);
		return 0;
	}
	if (channel_has_ended(channel) || output_pending(channel->output) < CHANNEL_QUEUE_MAX)
		return 0;
	channel_wait_turn(stream);
	return 1;
}
