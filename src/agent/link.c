#include "agent/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/error.h"

/* MORE_BYTES of credit beyond the window of every stream: with one window the sender would wait for
 * the receiver's credit after each 64 KiB, and both would be idle most of the time. */
enum { BACKLOG = 128, MORE_BYTES = 192 * 1024 };

static void close_link(struct link *link)
{
	feed_close(&link->in);
	pump_close(&link->out);
	source_close(&link->dialing);
	if (link->listener != NULL && --link->listener->streams == 0)
		source_close(&link->listener->source);
}

static void finish_if_over(struct stream *stream)
{
	if (!stream->link.in_done || stream->link.out.source.fd >= 0)
		return;
	close_link(&stream->link);
	stream_done(stream, NULL);
}

/* The pump has a second descriptor of the connection, so close() alone would not end it. */
static void on_input_drained(struct feed *feed)
{
	struct link *link = container_of(feed, struct link, in);

	if (feed->source.fd >= 0)
		(void)shutdown(feed->source.fd, SHUT_WR);
	source_close(&feed->source);
	link->in_done = true;
	if (feed->stream->wire.phase == WIRE_PHASE_RUNNING)
		finish_if_over(feed->stream);
}

static void on_output_end(struct pump *pump)
{
	finish_if_over(pump->stream);
}

static void on_message(struct stream *stream, const struct wire_message *message, uint8_t channel)
{
	(void)channel; /* a link has one channel to the agent */
	if (message->type != WIRE_DATA)
		return feed_end(&stream->link.in);
	feed_put(&stream->link.in, message->data.bytes);
	/* The program has closed the connection. A host that sends without end would otherwise be
	 * read, and its bytes discarded, for as long as the sandbox is awake. */
	if (stream->link.in.source.fd < 0 && stream->wire.phase == WIRE_PHASE_RUNNING) {
		stream->link.in_done = true;
		finish_if_over(stream);
	}
}

static void on_credit(struct stream *stream, uint8_t channel)
{
	(void)channel;
	pump_credit(&stream->link.out);
}

static void on_close(struct stream *stream)
{
	close_link(&stream->link);
	stream_fail_as(stream, WIRE_FAILED_CLOSED, "the connection was closed");
}

static const struct stream_handlers handlers = { .message = on_message,
	                                         .credit = on_credit,
	                                         .close = on_close };

static int start_link(struct stream *stream, int fd, struct error *err)
{
	struct link *link = &stream->link;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	/* A server that has ended its direction before there was a connection wants none. */
	if (copy < 0 || link->in_done) {
		(void)error_sys(err, "start a connection");
		goto failed;
	}
	if (feed_open(&link->in, stream, WIRE_IN, copy, on_input_drained, err) < 0)
		goto failed;
	copy = -1; /* the feed owns it now */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	stream_send(stream, &(struct wire_message){ .type = WIRE_LINKED }, 0);
	feed_grow(&link->in, MORE_BYTES);
	if (pump_open(&link->out, stream, WIRE_OUT, fd, on_output_end, err) == 0)
		return 0;
failed:
	if (copy >= 0)
		(void)close(copy);
	(void)close(fd);
	return -1;
}

/* The oldest stream that waits for a connection to this port. */
static struct stream *find_waiting(struct agent *agent, const struct listener *listener)
{
	struct stream *oldest = NULL;

	for (size_t i = 0; i < WIRE_STREAMS_MAX; i++) {
		struct stream *stream = &agent->streams[i];

		if (agent->ids[i] != 0 && stream->wire.kind == WIRE_KIND_LINK &&
		    stream->wire.phase == WIRE_PHASE_STARTING &&
		    stream->link.listener == listener &&
		    (oldest == NULL || stream->wire.id < oldest->wire.id))
			oldest = stream;
	}
	return oldest;
}

static void on_connection(struct source *source, uint32_t events)
{
	struct listener *listener = container_of(source, struct listener, source);
	struct agent *agent = container_of(listener - listener->index, struct agent, listeners[0]);
	struct stream *stream = find_waiting(agent, listener);
	struct error err;
	int fd;

	(void)events;
	if (stream == NULL)
		return source_want(source, 0);
	/* cppcheck-suppress nullPointer ; the address of the program is not wanted */
	fd = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
		return;
	/* Without a descriptor the connection stays in the queue and would be reported again at
	 * once: the stream fails, and the server opens another one. */
	if (fd < 0)
		(void)error_sys(&err, "accept a connection");
	else if (start_link(stream, fd, &err) == 0)
		return;
	close_link(&stream->link);
	stream_fail(stream, &err);
}

static int open_listener(struct agent *agent, struct listener *listener, uint16_t port,
                         struct error *err)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
		                             .sin_port = htons(port),
		                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return error_sys(err, "make a socket");
	/* Without SO_REUSEADDR the port would be in use for a minute after the last connection. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
	    listen(fd, BACKLOG) < 0)
		(void)error_sys(err, "listen on port %u", port);
	else if (source_add(&listener->source, agent->poller.inner, fd, 0, on_connection, err) ==
	         0) {
		listener->port = port;
		return 0;
	}
	(void)close(fd);
	return -1;
}

static int find_listener(struct agent *agent, uint16_t port, struct listener **ret,
                         struct error *err)
{
	struct listener *unused = NULL;

	for (size_t i = 0; i < LINK_LISTENERS; i++) {
		struct listener *listener = &agent->listeners[i];

		listener->index = i;
		if (listener->streams == 0)
			unused = listener;
		else if (listener->port == port) {
			*ret = listener;
			return 0;
		}
	}
	if (unused == NULL)
		return error_set(err, ERR_LIMIT, "the agent listens on %d ports, and no more",
		                 LINK_LISTENERS);
	*ret = unused;
	return open_listener(agent, unused, port, err);
}

/* --- CONNECT --- */

static void on_dialed(struct source *source, uint32_t events);

/* A connect() on the loopback interface is refused at once, or waits while the program's queue is
 * full. */
static int dial_port(struct stream *stream, struct error *err)
{
	struct link *link = &stream->link;
	const struct sockaddr_in6 address6 = { .sin6_family = AF_INET6,
		                               .sin6_port = htons(link->port),
		                               .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const struct sockaddr_in address4 = { .sin_family = AF_INET,
		                              .sin_port = htons(link->port),
		                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(link->is_ipv6 ? AF_INET6 : AF_INET,
	                SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return error_sys(err, "make a socket");
	r = link->is_ipv6 ? connect(fd, (const struct sockaddr *)&address6, sizeof address6)
	                  : connect(fd, (const struct sockaddr *)&address4, sizeof address4);
	if ((r == 0 || errno == EINPROGRESS) &&
	    source_add(&link->dialing, stream->agent->poller.inner, fd, EPOLLOUT, on_dialed, err) ==
	            0)
		return 0;
	(void)error_sys(err, "connect to port %u", link->port);
	(void)close(fd);
	return -1;
}

static void fail_dial(struct stream *stream, const struct error *why)
{
	struct error err;

	/* A kernel without IPv6 has no ::1 to try; the refusal of 127.0.0.1 is the reason. */
	if (!stream->link.is_ipv6) {
		stream->link.is_ipv6 = true;
		if (dial_port(stream, &err) == 0)
			return;
	}
	close_link(&stream->link);
	stream_fail(stream, why);
}

static void on_dialed(struct source *source, uint32_t events)
{
	struct stream *stream = container_of(source, struct stream, link.dialing);
	int errnum = 0, fd = -1;
	socklen_t len = sizeof errnum;
	struct error err;

	(void)events;
	(void)getsockopt(source->fd, SOL_SOCKET, SO_ERROR, &errnum, &len);
	errno = errnum;
	if (errnum == 0)
		fd = fcntl(source->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		(void)error_sys(&err, "connect to port %u", stream->link.port);
	/* The pump and the feed register descriptors of their own. */
	source_close(source);
	if (fd < 0)
		return fail_dial(stream, &err);
	if (start_link(stream, fd, &err) == 0)
		return;
	close_link(&stream->link);
	stream_fail(stream, &err);
}

void link_open(struct stream *stream, const struct wire_message *message)
{
	struct link *link = &stream->link;
	struct error err;

	stream->handlers = &handlers;
	link->dialing.fd = -1;
	link->port = message->port.port;
	link->out = (struct pump){ .source.fd = -1, .stream = stream };
	feed_open_discarding(&link->in, stream, WIRE_IN);
	link->in.drained = on_input_drained;
	/* On the host the agent serves files and nothing else. */
	if (stream->agent->on_host)
		return stream_fail_as(stream, WIRE_FAILED_DENIED,
		                      "this agent makes no connections");
	if (message->type == WIRE_CONNECT) {
		if (dial_port(stream, &err) < 0)
			fail_dial(stream, &err);
		return;
	}
	if (find_listener(stream->agent, link->port, &link->listener, &err) < 0)
		return stream_fail(stream, &err);
	link->listener->streams++;
	source_want(&link->listener->source, EPOLLIN);
}
