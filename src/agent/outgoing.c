#include "agent/outgoing.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/error.h"

bool outgoing_is_free(struct outgoing *out)
{
	if (out->end - out->start > OUTGOING_BUSY)
		return false;
	/* Moving the waiting bytes to the front makes room, because at most OUTGOING_BUSY of them
	 * wait. */
	if (OUTGOING_SIZE - out->end < OUTGOING_TURN) {
		memmove(out->bytes, out->bytes + out->start, out->end - out->start);
		out->end -= out->start;
		out->start = 0;
	}
	return true;
}

char *outgoing_payload(struct outgoing *out)
{
	if (OUTGOING_SIZE - out->end < WIRE_FRAME_MAX)
		agent_die("a handler sent more in one turn than the outgoing buffer holds");
	return out->bytes + out->end + WIRE_HEADER;
}

void outgoing_commit(struct outgoing *out, const struct wire_frame *frame)
{
	wire_frame_header(frame, out->bytes + out->end);
	out->end += WIRE_HEADER + frame->payload.len;
}

void outgoing_message(struct outgoing *out, const struct wire_message *message, uint32_t stream,
                      uint8_t channel)
{
	struct buf buf = buf_fixed(out->bytes + out->end, OUTGOING_SIZE - out->end);
	struct error err;

	if (wire_encode(message, stream, channel, &buf, &err) < 0)
		agent_die(err.msg);
	out->end += buf.len;
}

void outgoing_flush(struct outgoing *out)
{
	while (out->end > out->start && !out->broken) {
		ssize_t n = write(out->fd, out->bytes + out->start, out->end - out->start);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		/* EPIPE or ECONNRESET: the server is gone, and the main loop ends the agent. */
		if (n <= 0)
			out->broken = true;
		else
			out->start += (size_t)n;
	}
	out->start = out->end = 0;
}
