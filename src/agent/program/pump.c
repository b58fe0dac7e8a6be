#include "agent/program/pump.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/program/ring.h"

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

/* Bytes that may be read now. None before it was said that the stream has started. */
static size_t allowed(const struct pump *pump)
{
	const struct wire_stream *wire = &pump->stream->wire;
	uint64_t n = pump->ring != NULL ? WIRE_PAYLOAD_MAX : wire->credit[pump->channel];

	if (wire->phase != WIRE_PHASE_GOING && !wire->mine)
		return 0;
	if (pump->mode != PUMP_FLOWS && n > pump->left)
		n = pump->left;
	return (size_t)n;
}

static bool is_used_up(const struct pump *pump)
{
	return pump->mode == PUMP_LIMITED && pump->left == 0;
}

static void want(struct pump *pump)
{
	if (is_used_up(pump))
		source_want(&pump->source, EPOLLRDHUP);
	else
		source_want(&pump->source, allowed(pump) != 0 ? EPOLLIN : 0);
}

static void carry(struct pump *pump, size_t max)
{
	ssize_t n = pump->ring != NULL ? ring_fill(pump->ring, pump->source.fd, max)
	                               : fill_frame(pump, max);

	if (n < 0 && (errno == EAGAIN || errno == EINTR) && pump->mode != PUMP_LAST)
		return;
	if (n > 0) {
		pump->carried += (uint64_t)n;
		if (pump->mode != PUMP_FLOWS)
			pump->left -= (uint64_t)n;
	}
	/* A terminal whose other side is gone says EIO. */
	if (n <= 0 || (pump->mode == PUMP_LAST && pump->left == 0))
		return end(pump);
	want(pump);
	if (pump->ring != NULL)
		run_tail_due(pump->stream, pump->channel);
}

static void on_ready(struct source *source, uint32_t events)
{
	struct pump *pump = container_of(source, struct pump, source);
	size_t max = allowed(pump);

	if (is_used_up(pump) && (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		end(pump);
	else if (max != 0)
		carry(pump, max);
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

/* If nothing is left, this was the end. */
static void take_last(struct pump *pump, uint64_t left)
{
	pump->mode = PUMP_LAST;
	pump->left = left;
	if (left == 0)
		end(pump);
	else
		want(pump);
}

void pump_finish(struct pump *pump)
{
	int waiting = 0;

	if (pump->source.fd < 0 || pump->mode == PUMP_LAST)
		return;
	(void)ioctl(pump->source.fd, FIONREAD, &waiting);
	take_last(pump, waiting > 0 ? (uint64_t)waiting : 0);
}

void pump_empty(struct pump *pump, uint64_t max)
{
	if (pump->source.fd < 0)
		return;
	if (pump->mode != PUMP_LAST)
		take_last(pump, max);
	on_ready(&pump->source, 0);
}

void pump_limit(struct pump *pump, uint64_t bytes)
{
	pump->mode = PUMP_LIMITED;
	pump->left = bytes;
	want(pump);
}

void pump_stop(struct pump *pump)
{
	source_close(&pump->source);
}
