#include "agent/out.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/error.h"

bool out_is_free(struct out *out)
{
	if (out->end - out->start > OUT_BUSY)
		return false;
	/* Moving the waiting bytes to the front makes room, because at most OUT_BUSY of them
	 * wait. */
	if (OUT_SIZE - out->end < OUT_TURN) {
		memmove(out->bytes, out->bytes + out->start, out->end - out->start);
		out->end -= out->start;
		out->start = 0;
	}
	return true;
}

char *out_payload(struct out *out)
{
	if (OUT_SIZE - out->end < WIRE_FRAME_MAX)
		agent_die("a handler sent more in one turn than the outgoing buffer holds");
	return out->bytes + out->end + WIRE_HEADER;
}

void out_commit(struct out *out, const struct wire_frame *frame)
{
	wire_frame_header(frame, out->bytes + out->end);
	out->end += WIRE_HEADER + frame->payload.len;
}

void out_message(struct out *out, const struct wire_message *message, uint32_t stream,
                 uint8_t channel)
{
	struct buf buf = buf_fixed(out->bytes + out->end, OUT_SIZE - out->end);
	struct error err;

	if (wire_encode(message, stream, channel, &buf, &err) < 0)
		agent_die(err.msg);
	out->end += buf.len;
}

void out_flush(struct out *out)
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
