#include "agent/files/job.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text/utf8.h"

/* A closed socket is the same error whether it was noticed by sending or by receiving. */
static int fail_socket(struct error *err)
{
	if (errno != EPIPE && errno != ECONNRESET)
		return error_sys(err, "communicate with the agent");
	(void)error_set(err, ERR_SYSTEM, "the request was closed");
	err->errnum = EPIPE;
	return -1;
}

static int send_packet(const struct job *job, enum wire_type type, struct view payload,
                       struct error *err)
{
	struct wire_frame frame = { .type = (uint8_t)type,
		                    .channel = WIRE_OUT,
		                    .payload = payload };
	char header[WIRE_HEADER];
	/* iov_base is not const, but sendmsg() only reads. */
	struct iovec parts[] = {
		{ .iov_base = header, .iov_len = sizeof header },
		{ .iov_base = (void *)(uintptr_t)payload.ptr, .iov_len = payload.len },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = ARRAY_LEN(parts) };

	wire_frame_header(&frame, header);
	while (sendmsg(job->fd, &message, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return fail_socket(err);
	return 0;
}

int job_send(struct job *job, struct view bytes, struct error *err)
{
	if (job_flush(job, err) < 0)
		return -1;
	while (bytes.len != 0) {
		size_t len = bytes.len < JOB_PACKET_MAX ? bytes.len : JOB_PACKET_MAX;

		if (send_packet(job, WIRE_DATA, (struct view){ bytes.ptr, len }, err) < 0)
			return -1;
		bytes.ptr += len;
		bytes.len -= len;
	}
	return 0;
}

/* Appends a record to the pending ones. */
static int append_record(struct job *job, const struct wire_record *record, const void *in,
                         struct error *err)
{
	struct buf out = buf_fixed(job->out + WIRE_HEADER, JOB_PACKET_MAX + 1);

	out.len = job->pending;
	if (wire_record_encode(record, in, &out, err) < 0)
		return -1;
	job->pending = out.len;
	return 0;
}

int job_record(struct job *job, enum wire_type type, const struct wire_record *record,
               const void *in, struct error *err)
{
	struct error full;

	if (job->pending_type != type && job_flush(job, err) < 0)
		return -1;
	job->pending_type = type;
	/* ERR_LIMIT mostly means that the packet is full: send it and try an empty one. A record
	 * that is invalid fails there too. */
	if (job->pending != 0 && append_record(job, record, in, &full) == 0)
		return 0;
	if (job->pending != 0 && full.kind != ERR_LIMIT) {
		*err = full;
		return -1;
	}
	return job_flush(job, err) < 0 ? -1 : append_record(job, record, in, err);
}

int job_flush(struct job *job, struct error *err)
{
	struct view records = { job->out + WIRE_HEADER, job->pending };

	if (job->pending == 0)
		return 0;
	job->pending = 0;
	return send_packet(job, job->pending_type, records, err);
}

int job_receive(struct job *job, struct view *ret, struct error *err)
{
	struct view packet = { job->in, 0 };
	struct wire_frame frame;
	ssize_t n;

	/* MSG_TRUNC returns the length that the packet had, so that a cut one is noticed. */
	while ((n = recv(job->fd, job->in, sizeof job->in, MSG_TRUNC)) < 0)
		if (errno != EINTR)
			return fail_socket(err);
	if (n == 0) {
		errno = EPIPE;
		return fail_socket(err);
	}
	if ((size_t)n > sizeof job->in)
		return error_set(err, ERR_SYNTAX,
		                 "a packet of %zd bytes from the agent: at most %zu", n,
		                 sizeof job->in);
	packet.len = (size_t)n;
	if (wire_frame_cut(&packet, &frame, err) != 1 || packet.len != 0)
		return error_set(err, ERR_SYNTAX,
		                 "a packet of %zd bytes from the agent is not one frame", n);
	if ((frame.type != WIRE_DATA && frame.type != WIRE_END) || frame.channel != WIRE_IN)
		return error_set(
		        err, ERR_SYNTAX,
		        "message %#x on channel %u from the agent: only bytes are expected",
		        frame.type, frame.channel);
	if (frame.type == WIRE_END)
		return 0;
	*ret = frame.payload;
	return 1;
}

enum { FIRST_MAX = 255 }; /* bytes of a name that DONE carries */

void job_skip_entry(struct wire_done *done, struct view name)
{
	static char first[FIRST_MAX + 1];
	size_t len = utf8_prefix(name.ptr, name.len, FIRST_MAX);

	if (done->skipped++ != 0)
		return;
	memcpy(first, name.ptr, len);
	first[len] = '\0';
	done->cursor = (struct view){ first, len };
}
