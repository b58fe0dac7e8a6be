#include "agent/pump.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/ring.h"

static void end(struct pump *pump)
{
	source_close(&pump->source);
	stream_end(pump->stream, pump->channel);
	if (pump->ended != NULL)
		pump->ended(pump);
}

static ssize_t fill_frame(struct pump *pump, size_t max)
{
	struct stream *stream = pump->stream;
	struct wire_frame frame = { WIRE_DATA, pump->channel, stream->wire.id, { NULL, 0 } };
	struct out *out = &stream->agent->out;
	char *payload = out_payload(out);
	ssize_t n;

	frame.payload.ptr = payload;
	n = read(pump->source.fd, payload, max < WIRE_PAYLOAD_MAX ? max : WIRE_PAYLOAD_MAX);
	if (n <= 0)
		return n;
	frame.payload.len = (size_t)n;
	stream_put(stream, &frame);
	out_commit(out, &frame);
	return n;
}

/* Nothing is said of a stream's bytes before it was said that it has started. */
static void want(struct pump *pump)
{
	const struct wire_stream *wire = &pump->stream->wire;
	bool may = pump->ring != NULL || wire->credit[pump->channel] != 0;

	if (wire->phase != WIRE_PHASE_GOING && !wire->mine)
		source_want(&pump->source, 0);
	else if (pump->limited && pump->left == 0)
		source_want(&pump->source, EPOLLRDHUP);
	else
		source_want(&pump->source, may ? EPOLLIN : 0);
}

static void on_ready(struct source *source, uint32_t events)
{
	struct pump *pump = container_of(source, struct pump, source);
	uint64_t max = pump->ring != NULL ? WIRE_PAYLOAD_MAX
	                                  : pump->stream->wire.credit[pump->channel];
	ssize_t n;

	if (source->fd < 0)
		return;
	if (pump->limited && pump->left == 0) {
		if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			end(pump);
		return;
	}
	if (max == 0)
		return;
	if ((pump->last_words || pump->limited) && max > pump->left)
		max = pump->left;
	n = pump->ring != NULL ? ring_fill(pump->ring, source->fd, (size_t)max)
	                       : fill_frame(pump, (size_t)max);
	if (n < 0 && (errno == EAGAIN || errno == EINTR) && !pump->last_words)
		return;
	if (n > 0) {
		pump->carried += (uint64_t)n;
		pump->left -= pump->last_words || pump->limited ? (uint64_t)n : 0;
	}
	/* A terminal whose other side is gone says EIO. */
	if (n <= 0 || (pump->last_words && pump->left == 0))
		return end(pump);
	want(pump);
	if (pump->ring != NULL)
		run_tail_due(pump->stream, pump->channel);
}

int pump_start(struct pump *pump, struct stream *stream, uint8_t channel, int fd,
               void (*ended)(struct pump *), struct error *err)
{
	*pump = (struct pump){ .stream = stream, .channel = channel, .ended = ended };
	if (source_add(&pump->source, stream->agent->poller.inner, fd, 0, on_ready, err) < 0)
		return -1;
	want(pump);
	return 0;
}

void pump_credit(struct pump *pump)
{
	want(pump);
}

void pump_finish(struct pump *pump)
{
	int waiting = 0;

	if (pump->source.fd < 0 || pump->last_words)
		return;
	(void)ioctl(pump->source.fd, FIONREAD, &waiting);
	pump->last_words = true;
	pump->left = waiting > 0 ? (uint64_t)waiting : 0;
	if (pump->left == 0)
		end(pump);
}

void pump_empty(struct pump *pump, uint64_t max)
{
	if (!pump->last_words) {
		pump->last_words = true;
		pump->left = max;
	}
	on_ready(&pump->source, 0);
}

void pump_limit(struct pump *pump, uint64_t bytes)
{
	pump->limited = true;
	pump->left = bytes;
	want(pump);
}

void pump_stop(struct pump *pump)
{
	source_close(&pump->source);
}
