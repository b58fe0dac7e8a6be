#include "agent/agent.h"
#include "agent/program/run.h"

static void answer_tail(struct stream *stream, struct run_output *output)
{
	const struct ring *ring = &output->ring;
	uint64_t oldest = ring_oldest(ring), from = output->tail.offset;
	struct wire_message message = { .type = WIRE_TAIL_IS };
	static char bytes[WIRE_RECORDS_MAX];

	if (from < oldest)
		from = oldest;
	if (from > ring->total)
		from = ring->total;
	message.tail_is = (struct wire_tail_is){
		.channel = output->tail.channel,
		.flags = (uint8_t)(output->pump.source.fd < 0 ? WIRE_TAIL_ENDED : 0),
		.offset = from,
		.total = ring->total,
	};
	message.tail_is.bytes.ptr = bytes;
	if (ring->bytes != NULL)
		message.tail_is.bytes.len = ring_read(ring, from, bytes, output->tail.max);
	output->asked = false;
	stream_say(stream, &message, 0);
}

/* Where nothing is kept there is nothing to wait for. */
static bool waits(const struct run_output *output)
{
	return (output->tail.flags & WIRE_TAIL_WAIT) != 0 && output->ring.bytes != NULL &&
	       output->pump.source.fd >= 0 && output->ring.total <= output->tail.offset;
}

void run_tail_due(struct stream *stream, uint8_t channel)
{
	struct run_output *output = &stream->run.outputs[channel - WIRE_OUT];

	if (output->asked && !waits(output))
		answer_tail(stream, output);
}

void run_tail(struct stream *stream, const struct wire_tail *tail)
{
	struct run_output *output = &stream->run.outputs[tail->channel - WIRE_OUT];

	if (output->asked)
		answer_tail(stream, output); /* one waits at a time */
	output->tail = *tail;
	output->asked = true;
	run_tail_due(stream, tail->channel);
}
