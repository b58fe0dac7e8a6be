/* channel_stall.c - streams whose request the agent does not answer (see channel.h). */
#include "loop/output.h"
#include "sandbox/channel/internal.h"

/* Whether the next step is the agent's. A stream that waits for a caller, to consume or to send
 * bytes, does not count, however long it takes: a copy waits for its other end. */
static bool waits_for_agent(const struct channel_stream *stream)
{
	const struct wire_stream *wire = &stream->wire;

	if (stream->is_closing)
		return false; /* no caller waits for this stream any more */
	if (stream->events->frame != NULL)
		return false; /* the guest process that uses the stream counts its own intervals */
	switch (wire->kind) {
	case WIRE_KIND_RUN:
		return wire->phase == WIRE_PHASE_STARTING;
	case WIRE_KIND_FETCH:
	case WIRE_KIND_QUERY:
		return wire->credit[WIRE_OUT] != 0 || (wire->ended & 1u << WIRE_OUT) != 0;
	case WIRE_KIND_STORE:
		/* A stream in the list of waiting streams has bytes to send; the agent has not
		 * read those that were sent before. */
		return (wire->ended & 1u << WIRE_IN) != 0 || stream->waits_for_credit != 0 ||
		       (stream->wait.next != NULL && output_pending(stream->channel->output) != 0);
	case WIRE_KIND_LINK: /* a program in the sandbox may connect at any time, or never */
	case WIRE_KIND_NONE:
	case WIRE_KIND_COUNT:
		break;
	}
	return false;
}

static void count_interval(struct channel_stream *stream)
{
	uint64_t paid = stream->transferred / CHANNEL_PROGRESS;

	stream->transferred %= CHANNEL_PROGRESS;
	stream->stalled -= paid < stream->stalled ? (unsigned)paid : stream->stalled;
	if (waits_for_agent(stream))
		stream->stalled++;
}

/* Callers ask again after each callback, because a callback may remove any stream. */
static struct channel_stream *find_stalled(struct channel *channel)
{
	for (unsigned i = 0; i < CHANNEL_BUCKETS; i++)
		LIST_EACH (node, &channel->buckets[i]) {
			struct channel_stream *stream = container_of(node, struct channel_stream,
			                                             node);

			if (stream->stalled >= CHANNEL_STALLED_MAX && !stream->is_closing)
				return stream;
		}
	return NULL;
}

/* The agent is asked to end the operation. The stream keeps its number until the agent has done so,
 * which bounds how many requests an agent can leave open. */
static void fail_stalled_stream(struct channel_stream *stream)
{
	const struct channel_stream_events *events = stream->events;
	const uint64_t limit_ms = stream->channel->times.ping_ms * CHANNEL_STALLED_MAX;
	void *ctx = stream->ctx;
	char time[32];
	struct error err;

	(void)error_set(&err, ERR_SYSTEM,
	                "the agent did not answer %s for %s, which is the limit, so it was "
	                "cancelled: try a smaller operation, or end what keeps the sandbox busy",
	                wire_spec((uint8_t)stream->request)->name,
	                channel_format_ms(limit_ms, time));
	channel_cancel(stream);
	if (events->failed != NULL)
		events->failed(ctx, WIRE_FAILED_SYSTEM, &err);
}

void channel_fail_stalled(struct channel *channel)
{
	struct channel_stream *stream;

	for (unsigned i = 0; i < CHANNEL_BUCKETS; i++)
		LIST_EACH (node, &channel->buckets[i])
			count_interval(container_of(node, struct channel_stream, node));
	while (!channel_has_ended(channel) && (stream = find_stalled(channel)) != NULL)
		fail_stalled_stream(stream);
}
