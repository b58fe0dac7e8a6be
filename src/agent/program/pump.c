#include "agent/program/pump.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/agent.h"

void pump_close(struct pump *pump)
{
	if (pump->is_ordered)
		write_order_remove(pump);
	source_close(&pump->source);
}

static void end_pump(struct pump *pump)
{
	pump_close(pump);
	stream_send_end(pump->stream, pump->channel);
	if (pump->ended != NULL)
		pump->ended(pump);
}

static ssize_t read_into_frame(struct pump *pump, size_t max)
{
	struct stream *stream = pump->stream;
	struct wire_frame frame = { WIRE_DATA, pump->channel, stream->wire.id, { NULL, 0 } };
	struct outgoing *out = &stream->agent->out;
	char *payload = outgoing_payload(out);
	ssize_t n;

	frame.payload.ptr = payload;
	n = read(pump->source.fd, payload, max);
	if (n <= 0)
		return n; /* nothing was committed: the next frame uses the same place */
	frame.payload.len = (size_t)n;
	stream_record(stream, &frame);
	outgoing_commit(out, &frame);
	return n;
}

size_t pump_allowed_bytes(const struct pump *pump)
{
	const struct wire_stream *wire = &pump->stream->wire;
	uint64_t n = wire->credit[pump->channel];

	/* DATA must not be sent before STARTED. */
	if (pump->source.fd < 0 || wire->phase != WIRE_PHASE_RUNNING)
		return 0;
	if (pump->finishing && n > pump->left)
		n = pump->left;
	return n < WIRE_PAYLOAD_MAX ? (size_t)n : WIRE_PAYLOAD_MAX;
}

void pump_credit(struct pump *pump)
{
	source_want(&pump->source, pump_allowed_bytes(pump) != 0 ? EPOLLIN : 0);
}

static void send_output(struct pump *pump, size_t max)
{
	ssize_t n = read_into_frame(pump, max);

	/* While finishing no writer is left: EAGAIN means that the pipe is empty for good. */
	if (n < 0 && (errno == EAGAIN || errno == EINTR) && !pump->finishing)
		return;
	if (n > 0 && pump->finishing)
		pump->left -= (uint64_t)n;
	/* A terminal whose other side is closed fails with EIO instead of an end of file. */
	if (n <= 0 || (pump->finishing && pump->left == 0))
		return end_pump(pump);
	pump_credit(pump);
}

/* Sends at most one frame: of this pump, or of one of the same program that was written to earlier.
 * In the second case the descriptor stays readable, and the loop calls this function again. */
static void on_ready(struct source *source, uint32_t events)
{
	struct pump *pump = container_of(source, struct pump, source);
	size_t max = pump_allowed_bytes(pump);

	(void)events;
	if (max == 0)
		return;
	if (pump->is_ordered)
		pump = write_order_next(pump, &max);
	send_output(pump, max);
}

int pump_open(struct pump *pump, struct stream *stream, uint8_t channel, int fd,
              void (*ended)(struct pump *), struct error *err)
{
	*pump = (struct pump){ .stream = stream, .channel = channel, .ended = ended };
	if (source_add(&pump->source, stream->agent->poller.inner, fd, 0, on_ready, err) < 0)
		return -1;
	pump_credit(pump);
	return 0;
}

void pump_set_ordered(struct pump *pump)
{
	pump->is_ordered = true;
	write_order_add(pump);
}

/* Sends `left` more bytes and then END; if no byte is left, END at once. */
static void limit_pump(struct pump *pump, uint64_t left)
{
	pump->finishing = true;
	pump->left = left;
	if (left == 0)
		end_pump(pump);
	else
		pump_credit(pump);
}

void pump_finish(struct pump *pump)
{
	int waiting = 0;

	if (pump->source.fd < 0 || pump->finishing)
		return;
	/* The size is asked for once: a process that inherited the pipe and escaped the keeper
	 * could write forever. */
	(void)ioctl(pump->source.fd, FIONREAD, &waiting);
	limit_pump(pump, waiting > 0 ? (uint64_t)waiting : 0);
}

void pump_drain(struct pump *pump, uint64_t max)
{
	if (pump->source.fd < 0)
		return;
	if (!pump->finishing)
		limit_pump(pump, max);
	on_ready(&pump->source, 0);
}
