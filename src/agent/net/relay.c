#include "agent/net/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/error.h"

static void init(struct relay *relay)
{
	*relay = (struct relay){ .pump.source.fd = -1, .feed.source.fd = -1, .connecting.fd = -1 };
}

static void stop(struct relay *relay)
{
	source_close(&relay->connecting);
	pump_stop(&relay->pump);
	feed_stop(&relay->feed);
}

/* Both directions at once: the other side has reset it, or there is nothing left to say. */
static bool is_dead(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
}

/* One socket under two descriptors: an epoll set takes each only once. Takes over fd. */
static int join(struct stream *stream, int fd, uint8_t to_server, void (*ended)(struct pump *),
                struct error *err)
{
	struct relay *relay = &stream->relay;
	int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int one = 1;

	if (again < 0) {
		(void)error_sys(err, "a second descriptor");
		(void)close(fd);
		return -1;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (pump_start(&relay->pump, stream, to_server, fd, ended, err) < 0) {
		(void)close(fd);
		(void)close(again);
		return -1;
	}
	if (feed_release(&relay->feed, again, err) < 0) {
		(void)close(again);
		return -1;
	}
	return 0;
}

/* --- PORT: the server wants to reach a port inside --------------------------------- */

/* After this the stream may be gone. */
static void port_end_if_over(struct stream *stream)
{
	struct relay *relay = &stream->relay;
	struct wire_done done = { .bytes = relay->pump.carried };

	if (relay->pump.source.fd >= 0 || relay->feed.source.fd >= 0 || relay->feed.held)
		return;
	stop(relay);
	stream_done(stream, &done);
}

static void port_pump_ended(struct pump *pump)
{
	struct feed *feed = &pump->stream->relay.feed;

	if (feed->source.fd >= 0 && is_dead(feed->source.fd))
		feed_stop(feed);
	port_end_if_over(pump->stream);
}

static void port_feed_drained(struct feed *feed)
{
	if (feed->source.fd >= 0)
		(void)shutdown(feed->source.fd, SHUT_WR);
	source_close(&feed->source);
	port_end_if_over(feed->stream);
}

static void port_feed_broken(struct feed *feed)
{
	port_end_if_over(feed->stream);
}

static void port_failed(struct stream *stream)
{
	struct relay *relay = &stream->relay;
	struct error err;
	char why[80];

	stop(relay);
	if (relay->errnum == ECONNREFUSED) {
		(void)snprintf(why, sizeof why,
		               "port %u: nobody listens inside (connection refused)", relay->port);
		return stream_failed_as(stream, WIRE_FAILED_MISSING, why);
	}
	errno = relay->errnum;
	(void)error_sys(&err, "port %u: connect", relay->port);
	stream_failed(stream, &err);
}

static void port_connected(struct stream *stream)
{
	int fd = source_take(&stream->relay.connecting);
	struct error err;

	stream_due(stream, 0);
	if (join(stream, fd, WIRE_OUT, port_pump_ended, &err) < 0) {
		stop(&stream->relay);
		return stream_failed(stream, &err);
	}
	stream_say(stream, &(struct wire_message){ .type = WIRE_OPENED }, 0);
	pump_credit(&stream->relay.pump); /* from now on it may speak */
}

static void port_try_next(struct stream *stream, int errnum);

static void on_connecting(struct source *source, uint32_t events)
{
	struct stream *stream = container_of(source, struct stream, relay.connecting);
	struct sockaddr_storage peer;
	socklen_t len = sizeof peer;
	socklen_t size = sizeof(int);
	int errnum = 0;

	(void)events;
	if (source->fd < 0)
		return;
	if (getsockopt(source->fd, SOL_SOCKET, SO_ERROR, &errnum, &size) < 0)
		errnum = errno;
	if (errnum != 0)
		return port_try_next(stream, errnum);
	if (getpeername(source->fd, (struct sockaddr *)&peer, &len) == 0)
		port_connected(stream);
}

/* 0, or the errno. */
static int port_connect(struct stream *stream)
{
	struct relay *relay = &stream->relay;
	struct sockaddr_in v4 = { .sin_family = AF_INET,
		                  .sin_port = htons(relay->port),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
		                   .sin6_port = htons(relay->port),
		                   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(relay->second ? AF_INET6 : AF_INET,
	                SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct error err;
	int r;

	if (fd < 0)
		return errno;
	r = relay->second ? connect(fd, (struct sockaddr *)&v6, sizeof v6)
	                  : connect(fd, (struct sockaddr *)&v4, sizeof v4);
	if (r < 0 && errno != EINPROGRESS) {
		r = errno;
	} else if (source_add(&relay->connecting, stream->agent->poller.inner, fd, EPOLLOUT,
	                      on_connecting, &err) < 0) {
		r = err.errnum;
	} else {
		return 0;
	}
	(void)close(fd);
	return r;
}

/* What 127.0.0.1 said counts, whether there is a ::1 or not. */
static void port_try_next(struct stream *stream, int errnum)
{
	struct relay *relay = &stream->relay;

	source_close(&relay->connecting);
	if (relay->second)
		return port_failed(stream);
	relay->errnum = errnum;
	relay->second = true;
	if (port_connect(stream) != 0)
		port_failed(stream);
}

static void port_message(struct stream *stream, const struct wire_message *message, uint8_t channel)
{
	(void)channel;
	if (message->type == WIRE_DATA)
		feed_put(&stream->relay.feed, message->data.bytes);
	else if (message->type == WIRE_END)
		feed_end(&stream->relay.feed);
}

static void relay_credit(struct stream *stream, uint8_t channel)
{
	(void)channel;
	if (stream->relay.pump.source.fd >= 0)
		pump_credit(&stream->relay.pump);
}

static void port_close(struct stream *stream)
{
	stop(&stream->relay);
	stream_failed_as(stream, WIRE_FAILED_CLOSED, "the connection was closed");
}

static void port_due(struct stream *stream)
{
	char why[80];

	(void)snprintf(why, sizeof why, "port %u: no answer inside within %d s", stream->relay.port,
	               RELAY_CONNECT_MS / 1000);
	stop(&stream->relay);
	stream_failed_as(stream, WIRE_FAILED_LOST, why);
}

static const struct carrier port_carrier = {
	.message = port_message,
	.credit = relay_credit,
	.close = port_close,
	.due = port_due,
};

void relay_open_port(struct stream *stream, const struct wire_message *message)
{
	struct relay *relay = &stream->relay;
	const struct proxy *proxy = &stream->agent->proxy;
	int errnum;

	stream->carrier = &port_carrier;
	init(relay);
	relay->port = message->port.port;
	feed_hold(&relay->feed, stream, WIRE_IN, port_feed_drained);
	relay->feed.broken = port_feed_broken;
	/* It leads out again: nobody outside is to come in by it. */
	if (proxy->listener.fd >= 0 && proxy->port == relay->port)
		return stream_failed_as(stream, WIRE_FAILED_DENIED,
		                        "that port is the sandbox's own way out");
	stream_due(stream, clock_now_ms() + RELAY_CONNECT_MS);
	errnum = port_connect(stream);
	if (errnum != 0)
		port_try_next(stream, errnum);
}

/* --- DIAL: a client of the proxy wants to get out ---------------------------------- */

static void dial_free(struct stream *stream)
{
	stop(&stream->relay);
	stream_free(stream);
}

void relay_leave(struct stream *stream)
{
	struct relay *relay = &stream->relay;

	stop(relay);
	relay->client = NULL;
	if (stream->wire.over)
		return stream_free(stream);
	if (!wire_stream_has_said(&stream->wire, WIRE_CLOSE))
		stream_say(stream, &(struct wire_message){ .type = WIRE_CLOSE }, 0);
}

static void dial_pump_ended(struct pump *pump)
{
	const struct feed *feed = &pump->stream->relay.feed;

	if (feed->source.fd >= 0 && is_dead(feed->source.fd))
		relay_leave(pump->stream);
}

static void dial_feed_broken(struct feed *feed)
{
	relay_leave(feed->stream);
}

/* The world has said all, and the client has it. */
static void dial_feed_drained(struct feed *feed)
{
	struct stream *stream = feed->stream;
	struct relay *relay = &stream->relay;
	int fd = feed->source.fd;

	if (stream->wire.over || relay->whole) {
		pump_stop(&relay->pump);
		if (fd >= 0)
			proxy_linger(stream->agent, source_take(&feed->source));
	} else if (fd >= 0) {
		(void)shutdown(fd, SHUT_WR);
		source_close(&feed->source);
	}
	if (stream->wire.over)
		return dial_free(stream);
	if (relay->whole && !(stream->wire.ended & 1u << WIRE_IN))
		stream_end(stream, WIRE_IN);
}

static void dial_done(struct stream *stream)
{
	struct relay *relay = &stream->relay;
	struct feed *feed = &relay->feed;

	pump_stop(&relay->pump);
	if (feed->source.fd < 0)
		return dial_free(stream);
	relay->waits = feed->end - feed->start;
	stream_due(stream, clock_now_ms() + RELAY_DRAIN_MS);
	if (!feed->ending)
		feed_end(feed);
}

static void dial_due(struct stream *stream)
{
	struct relay *relay = &stream->relay;
	size_t waits = relay->feed.end - relay->feed.start;

	if (waits == relay->waits)
		return dial_free(stream);
	relay->waits = waits;
	stream_due(stream, clock_now_ms() + RELAY_DRAIN_MS);
}

/* A broken answer must not look like a whole one: the client's connection is reset. */
static void dial_failed(struct stream *stream, const struct wire_failed *failed)
{
	struct relay *relay = &stream->relay;
	struct linger at_once = { .l_onoff = 1 };

	if (relay->client != NULL)
		proxy_refused(relay->client, (enum wire_failure)failed->why, failed->message);
	else if (relay->feed.source.fd >= 0)
		(void)setsockopt(relay->feed.source.fd, SOL_SOCKET, SO_LINGER, &at_once,
		                 sizeof at_once);
	dial_free(stream);
}

static void dial_message(struct stream *stream, const struct wire_message *message, uint8_t channel)
{
	struct relay *relay = &stream->relay;

	(void)channel;
	if (message->type == WIRE_FAILED)
		return dial_failed(stream, &message->failed);
	if (message->type == WIRE_DONE)
		return dial_done(stream);
	if (wire_stream_has_said(&stream->wire, WIRE_CLOSE))
		return; /* said before CLOSE was heard */
	if (message->type == WIRE_OPENED)
		proxy_opened(relay->client, stream);
	else if (message->type == WIRE_DATA)
		feed_put(&relay->feed, message->data.bytes);
	else if (message->type == WIRE_END)
		feed_end(&relay->feed);
}

static const struct carrier dial_carrier = {
	.message = dial_message,
	.credit = relay_credit,
	.due = dial_due,
};

struct stream *relay_dial(struct agent *agent, struct proxy_client *client, struct view host,
                          uint16_t port)
{
	struct wire_message message = { .type = WIRE_DIAL };
	struct stream *stream;

	if (agent->link.next > WIRE_STREAM_LAST)
		return NULL;
	/* Numbers have no gaps: one is taken only when there is a slot for it. */
	stream = agent_stream(agent, agent->link.next, WIRE_KIND_CONNECT, true);
	if (stream == NULL)
		return NULL;
	(void)wire_link_next(&agent->link);
	stream->carrier = &dial_carrier;
	init(&stream->relay);
	stream->relay.client = client;
	message.dial = (struct wire_dial){ .port = port, .host = host };
	out_message(&agent->out, &message, stream->wire.id, 0);
	return stream;
}

void relay_join(struct stream *stream, int fd)
{
	struct relay *relay = &stream->relay;
	struct error err;

	relay->client = NULL;
	feed_hold(&relay->feed, stream, WIRE_OUT, dial_feed_drained);
	relay->feed.broken = dial_feed_broken;
	if (join(stream, fd, WIRE_IN, dial_pump_ended, &err) < 0)
		relay_leave(stream);
}

void relay_join_request(struct stream *stream, int fd, uint64_t left)
{
	relay_join(stream, fd);
	stream->relay.whole = true;
	if (stream->relay.pump.source.fd >= 0)
		pump_limit(&stream->relay.pump, left);
}
