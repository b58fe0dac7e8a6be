#include "agent/files/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

enum { CLOSE_MS = 2000 }; /* for a worker process to undo a partial operation */

static const struct stream_handlers handlers;

static void close_sockets(struct stream *stream)
{
	source_close(&stream->worker.source);
	feed_close(&stream->worker.feed);
}

/* Kills the process and fails the stream. */
static void fail_worker(struct stream *stream, const char *why)
{
	stream_kill(stream);
	close_sockets(stream);
	stream_fail_as(stream, WIRE_FAILED_LOST, why);
}

/* --- frames from the process ------------------------------------------------------- */

/* Whether a worker process may send frames of this type. All others only the agent itself sends. */
static bool is_allowed(uint8_t type)
{
	return type == WIRE_DATA || type == WIRE_ENTRIES || type == WIRE_MATCHES ||
	       type == WIRE_STATS_ARE || type == WIRE_DONE || type == WIRE_FAILED;
}

/* Checks a packet and commits it to the channel. The packet was received straight into the outgoing
 * buffer, where a frame would begin, so its bytes are not copied. The stream number is overwritten:
 * a process must not write to the stream of another one. */
static void forward_packet(struct stream *stream, char *packet, size_t len)
{
	struct view bytes = { packet, len };
	struct wire_message message;
	struct wire_frame frame;
	struct error err;

	if (wire_frame_cut(&bytes, &frame, &err) != 1 || bytes.len != 0 ||
	    !is_allowed(frame.type) || wire_decode(&frame, &message, &err) < 0)
		return fail_worker(stream, "the worker process sent an invalid message");
	frame.stream = stream->wire.id;
	if (wire_stream_send(&stream->wire, &frame, &err) < 0)
		return fail_worker(stream, "the worker process sent an invalid message");
	outgoing_commit(&stream->agent->out, &frame);
	if (!stream->wire.over)
		return;
	close_sockets(stream);
	stream_free(stream);
}

/* The size of the next packet; 0: there will be none; -1: there is none yet. A process that exits
 * without reading everything the agent sent causes ECONNRESET once, in front of its last
 * packets. */
static ssize_t peek_packet(const struct source *source, char header[WIRE_HEADER])
{
	ssize_t n;

	do
		n = recv(source->fd, header, WIRE_HEADER, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	return n < 0 && errno != EAGAIN ? 0 : n;
}

/* The socket is at its end and no frame has ended the stream: the process died, or is about to
 * exit. Until it is reaped there is nothing to read. */
static void on_socket_end(struct stream *stream)
{
	if (stream->pid != 0)
		return source_want(&stream->worker.source, 0); /* on_child() follows */
	fail_worker(stream, "the worker process was killed");
}

static void on_ready(struct source *source, uint32_t events)
{
	struct worker *worker = container_of(source, struct worker, source);
	struct stream *stream = container_of(worker, struct stream, worker);
	char *packet = outgoing_payload(&stream->agent->out) - WIRE_HEADER;
	char header[WIRE_HEADER];
	ssize_t n = peek_packet(source, header);
	const struct wire_spec *spec;

	(void)events;
	if (n < 0)
		return;
	if (n == 0)
		return on_socket_end(stream);
	if (n < WIRE_HEADER || n > WIRE_FRAME_MAX)
		return fail_worker(stream, "the worker process sent an invalid message");
	/* Without credit the packet stays in the socket, and the process blocks when that is
	 * full. */
	spec = wire_spec((uint8_t)header[0]);
	if (spec != NULL && spec->uses_credit &&
	    (size_t)n - WIRE_HEADER > stream->wire.credit[WIRE_OUT])
		return source_want(source, 0);
	n = recv(source->fd, packet, WIRE_FRAME_MAX, MSG_DONTWAIT);
	if (n > 0)
		forward_packet(stream, packet, (size_t)n);
}

static void on_credit(struct stream *stream, uint8_t channel)
{
	if (channel == WIRE_OUT && !stream->worker.closing)
		source_want(&stream->worker.source, EPOLLIN);
}

/* --- frames to the process --------------------------------------------------------- */

static void on_message(struct stream *stream, const struct wire_message *message, uint8_t channel)
{
	(void)channel;
	if (message->type == WIRE_DATA)
		feed_put(&stream->worker.feed, message->data.bytes);
	if (message->type == WIRE_END)
		feed_end(&stream->worker.feed);
}

static void on_close(struct stream *stream)
{
	close_sockets(stream);
	if (stream->pid == 0) /* the process has exited; its last packets were waiting for credit */
		return stream_fail_as(stream, WIRE_FAILED_CLOSED, "closed");
	stream->worker.closing = true;
	stream_set_due(stream, clock_now_ms() + CLOSE_MS);
}

/* The last packets of the reaped process may still be in the socket: on_ready() reads them. */
static void on_child(struct stream *stream, int status)
{
	char header[WIRE_HEADER];

	(void)status;
	if (stream->worker.closing)
		return stream_fail_as(stream, WIRE_FAILED_CLOSED, "closed");
	if (peek_packet(&stream->worker.source, header) <= 0)
		on_socket_end(stream);
}

static void on_due(struct stream *stream)
{
	stream_kill(stream);
}

static const struct stream_handlers handlers = { on_message, on_credit, on_close, on_child,
	                                         on_due };

/* --- starting ---------------------------------------------------------------------- */

static int start_process(struct stream *stream, const struct wire_message *message,
                         const int pair[2], struct error *err)
{
	struct worker *worker = &stream->worker;
	int inner = stream->agent->poller.inner;
	int duplicate; /* source and feed each close their descriptor */

	if (fd_set_nonblocking(pair[0], err) < 0)
		return -1;
	duplicate = fcntl(pair[0], F_DUPFD_CLOEXEC, 0);
	if (duplicate < 0)
		return error_sys(err, "duplicate a socket");
	if (feed_open(&worker->feed, stream, WIRE_IN, duplicate, NULL, err) < 0)
		return -1;
	worker->feed.packets = true;
	stream->pid = fork();
	if (stream->pid == 0)
		worker_process_run(stream->agent, message, pair[1]);
	if (stream->pid < 0) {
		stream->pid = 0;
		return error_sys(err, "no room for another process in the sandbox");
	}
	return source_add(&worker->source, inner, pair[0], EPOLLIN, on_ready, err);
}

void worker_open(struct stream *stream, const struct wire_message *message)
{
	struct error err;
	int pair[2];

	stream->handlers = &handlers;
	stream->worker = (struct worker){ .source.fd = -1, .feed.source.fd = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		(void)error_sys(&err, "socketpair");
		return stream_fail(stream, &err);
	}
	if (start_process(stream, message, pair, &err) < 0) {
		if (stream->worker.source.fd < 0)
			(void)close(pair[0]);
		stream_kill(stream);
		close_sockets(stream);
		stream_fail(stream, &err);
	}
	(void)close(pair[1]);
}
