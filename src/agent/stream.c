#include "agent/stream.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "agent/agent.h"
#include "base/error.h"

void stream_record(struct stream *stream, const struct wire_frame *frame)
{
	struct error err;

	if (wire_stream_send(&stream->wire, frame, &err) < 0)
		agent_die(err.msg);
}

void stream_send(struct stream *stream, const struct wire_message *message, uint8_t channel)
{
	struct outgoing *out = &stream->agent->out;
	struct view sent = { out->bytes + out->end, 0 };
	struct wire_frame frame;
	struct error err;

	/* The rules are applied to the bytes that were really written, so that both ends count the
	 * same. */
	outgoing_message(out, message, stream->wire.id, channel);
	sent.len = (size_t)(out->bytes + out->end - sent.ptr);
	if (wire_frame_cut(&sent, &frame, &err) != 1)
		agent_die("the encoder made a message that is not a frame");
	stream_record(stream, &frame);
}

void stream_send_end(struct stream *stream, uint8_t channel)
{
	stream_send(stream, &(struct wire_message){ .type = WIRE_END }, channel);
}

void stream_send_credit(struct stream *stream, uint8_t channel, size_t bytes)
{
	stream_send(stream,
	            &(struct wire_message){ .type = WIRE_CREDIT, .credit.bytes = (uint32_t)bytes },
	            channel);
}

/* kill(0) would send the signal to the agent's own process group. */
void stream_kill(struct stream *stream)
{
	if (stream->pid > 0)
		(void)kill(stream->pid, SIGKILL);
}

void stream_set_due(struct stream *stream, uint64_t at_ms)
{
	struct agent *agent = stream->agent;

	stream->due = at_ms;
	if (at_ms != 0 && (agent->next_due == 0 || at_ms < agent->next_due))
		agent->next_due = at_ms;
}

/* The zeroed slot has wire.id 0, so a handler that still holds the stream notices its end. */
void stream_free(struct stream *stream)
{
	struct agent *agent = stream->agent;

	agent->ids[stream - agent->streams] = 0;
	*stream = (struct stream){ 0 };
}

void stream_done(struct stream *stream, const struct wire_done *done)
{
	struct wire_message message = { .type = WIRE_DONE };

	if (done != NULL)
		message.done = *done;
	stream_send(stream, &message, 0);
	stream_free(stream);
}

/* The server maps these classes to its own errors. The errno of the system call decides before the
 * kind of the error, because most errors of system calls have the kind ERR_SYSTEM. */
static enum wire_failure failure_of(const struct error *why)
{
	static const struct {
		int errnum;
		enum wire_failure failure;
	} by_errno[] = {
		{ ENOENT, WIRE_FAILED_MISSING }, { ENOTDIR, WIRE_FAILED_MISSING },
		{ EACCES, WIRE_FAILED_DENIED },  { EPERM, WIRE_FAILED_DENIED },
		{ EROFS, WIRE_FAILED_DENIED },   { EAGAIN, WIRE_FAILED_LIMIT },
		{ EMFILE, WIRE_FAILED_LIMIT },   { ENOSPC, WIRE_FAILED_LIMIT },
		{ EDQUOT, WIRE_FAILED_LIMIT },   { ENOMEM, WIRE_FAILED_LIMIT },
		{ EFBIG, WIRE_FAILED_LIMIT },    { EPIPE, WIRE_FAILED_CLOSED },
		{ EINVAL, WIRE_FAILED_INVALID },
	};

	for (size_t i = 0; i < ARRAY_LEN(by_errno); i++)
		if (why->errnum == by_errno[i].errnum)
			return by_errno[i].failure;
	switch (why->kind) {
	case ERR_INVALID:
	case ERR_SYNTAX:
	case ERR_UNSUPPORTED:
		return WIRE_FAILED_INVALID;
	case ERR_NOT_FOUND:
		return WIRE_FAILED_MISSING;
	case ERR_LIMIT:
		return WIRE_FAILED_LIMIT;
	case ERR_SYSTEM:
	case ERR_KIND_COUNT:
		break;
	}
	return WIRE_FAILED_SYSTEM;
}

_Static_assert(sizeof((struct error *)0)->msg <= WIRE_REASON_MAX, "every error fits into FAILED");

struct wire_message stream_failed_message(const struct error *why)
{
	struct wire_message message = { .type = WIRE_FAILED };

	message.failed = (struct wire_failed){
		.why = (uint8_t)failure_of(why),
		.errnum = why->errnum > 0 && why->errnum < 4096 ? (uint32_t)why->errnum : 0,
		.message = view_of(why->msg[0] != '\0' ? why->msg
		                                       : "the operation failed without a reason"),
	};
	return message;
}

static void send_failed(struct stream *stream, const struct wire_message *failed)
{
	stream_send(stream, failed, 0);
	stream_free(stream);
}

void stream_fail(struct stream *stream, const struct error *why)
{
	struct wire_message message = stream_failed_message(why);

	send_failed(stream, &message);
}

void stream_fail_as(struct stream *stream, enum wire_failure failure, const char *why)
{
	struct wire_message message = { .type = WIRE_FAILED };

	message.failed.why = (uint8_t)failure;
	message.failed.message = view_of(why);
	send_failed(stream, &message);
}
