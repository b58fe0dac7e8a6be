#include "agent/program/pump.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/agent.h"

static void end_pump(struct pump *pump)
{
	source_close(&pump->source);
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
	n = read(pump->source.fd, payload, max < WIRE_PAYLOAD_MAX ? max : WIRE_PAYLOAD_MAX);
	if (n <= 0)
		return n; /* nothing was committed: the next frame uses the same place */
	frame.payload.len = (size_t)n;
	stream_record(stream, &frame);
	outgoing_commit(out, &frame);
	return n;
}

/* How many bytes may be read now. DATA must not be sent before STARTED. */
static size_t allowed_bytes(const struct pump *pump)
{
	const struct wire_stream *wire = &pump->stream->wire;
	uint64_t n = wire->credit[pump->channel];

	if (wire->phase != WIRE_PHASE_RUNNING)
		return 0;
	if (pump->finishing && n > pump->left)
		n = pump->left;
	return (size_t)n;
}

static bool is_starting(const struct pump *pump)
{
	return pump->stream->wire.phase == WIRE_PHASE_STARTING;
}

void pump_credit(struct pump *pump)
{
	bool is_wanted = is_starting(pump) ? pump->rank == 0 : allowed_bytes(pump) != 0;

	source_want(&pump->source, is_wanted ? EPOLLIN : 0);
}

/* The pump of the stream whose output came first of what came before STARTED, and was not read
 * yet; or NULL. */
static struct pump *first_early(struct stream *stream)
{
	struct pump *first = NULL;

	/* The pump of a link has no siblings, and the memory of the program is the link's. */
	for (size_t i = 0; stream->wire.kind == WIRE_KIND_RUN && i < PROGRAM_PUMPS; i++) {
		struct pump *pump = &stream->program.pumps[i];

		if (pump->source.fd >= 0 && pump->rank != 0 && allowed_bytes(pump) != 0 &&
		    (first == NULL || pump->rank < first->rank))
			first = pump;
	}
	return first;
}

void pump_set_older(struct pump *pump, struct pump *older, size_t count)
{
	pump->older = older;
	pump->older_count = count;
}

static void count_older_bytes(struct pump *pump)
{
	for (size_t i = 0; i < pump->older_count; i++) {
		int waiting = 0;

		if (pump->older[i].source.fd >= 0)
			(void)ioctl(pump->older[i].source.fd, FIONREAD, &waiting);
		pump->older[i].ahead = waiting > 0 ? (uint64_t)waiting : 0;
	}
}

/* A pump of output that has to send before this pump of messages; NULL: none. The waiting output is
 * counted once, when a message can be read, so that a program that prints without end does not
 * delay the message for ever. Output without credit does not delay it either. */
static struct pump *next_older(struct pump *pump)
{
	if (!pump->is_waiting)
		count_older_bytes(pump);
	pump->is_waiting = true;
	for (size_t i = 0; i < pump->older_count; i++) {
		struct pump *older = &pump->older[i];

		if (older->source.fd >= 0 && older->ahead != 0 && allowed_bytes(older) != 0)
			return older;
	}
	pump->is_waiting = false;
	return NULL;
}

static void send_output(struct pump *pump)
{
	size_t max = allowed_bytes(pump);
	ssize_t n;

	if (max == 0)
		return;
	pump->rank = 0;
	n = read_into_frame(pump, max);
	/* A program may have read its own output back: then the pipe has fewer bytes than were
	 * counted, and the rest of the count is dropped. */
	pump->ahead = n > 0 && (uint64_t)n < pump->ahead ? pump->ahead - (uint64_t)n : 0;
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

/* Sends at most one frame: of this pump, or of output that has to be sent before it. In the second
 * case the descriptor stays readable, and the loop calls this function again. */
static void on_ready(struct source *source, uint32_t events)
{
	struct pump *pump = container_of(source, struct pump, source);
	struct pump *older = allowed_bytes(pump) != 0 ? next_older(pump) : NULL;

	(void)events;
	/* DATA must not be sent before STARTED. epoll(7) returns descriptors in the order in which
	 * they became ready, which is the order of the output. */
	if (is_starting(pump)) {
		pump->rank = ++pump->stream->program.early_pumps;
		pump_credit(pump);
		return;
	}
	if (older == NULL)
		older = first_early(pump->stream);
	send_output(older != NULL ? older : pump);
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

void pump_close(struct pump *pump)
{
	source_close(&pump->source);
}
