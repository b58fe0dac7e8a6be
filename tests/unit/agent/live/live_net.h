/* live_net.h - sockets of the test itself, for tests of what goes in and out: never waiting but
 * in LIVE_UNTIL(), so that the agent is served meanwhile. */
#pragma once
#include <netinet/in.h>

#include "unit/agent/live/live.h"

enum { NET_KEEP_MAX = 64 * 1024 * 1024 };

struct net_peer { /* one connection and all that came of it */
	int fd;
	struct buf got;
	bool ended, broken;
};

static inline struct sockaddr_in net_address(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		                     .sin_port = htons(port),
		                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static inline struct net_peer net_peer_of(int fd)
{
	struct net_peer peer = { .fd = fd };

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	buf_init(&peer.got, NET_KEEP_MAX);
	return peer;
}

/* Loopback: it stands when connect() returns. */
static inline struct net_peer net_connect(uint16_t port)
{
	struct sockaddr_in address = net_address(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	return net_peer_of(fd);
}

static inline int net_listen(int backlog, uint16_t *ret_port)
{
	struct sockaddr_in address = net_address(0);
	socklen_t len = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(fd, backlog), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static inline struct net_peer net_accept(struct live *live, int listener)
{
	int fd = -1;

	LIVE_UNTIL(live, (fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0, LIVE_MS);
	return net_peer_of(fd);
}

static inline void net_done(struct net_peer *peer)
{
	(void)close(peer->fd);
	buf_done(&peer->got);
}

/* Little enough for the kernel to take at once. */
static inline void net_say(const struct net_peer *peer, const char *text)
{
	assert_int_equal(write(peer->fd, text, strlen(text)), strlen(text));
}

/* Reads what is there. True: there will be no more. */
static inline bool net_read(struct net_peer *peer)
{
	static char bytes[256 * 1024];
	ssize_t n = 0;

	while (!peer->ended && (n = read(peer->fd, bytes, sizeof bytes)) > 0)
		live_keep(&peer->got, (struct view){ bytes, (size_t)n });
	if (n < 0 && errno != EAGAIN)
		peer->broken = true;
	if (n == 0 || peer->broken)
		peer->ended = true;
	return peer->ended;
}

static inline bool net_has(struct net_peer *peer, const char *text)
{
	(void)net_read(peer);
	return peer->got.len != 0 &&
	       memmem(peer->got.ptr, peer->got.len, text, strlen(text)) != NULL;
}

/* Sends what the kernel takes of `bytes`, from *at on. True: all has gone. */
static inline bool net_push(const struct net_peer *peer, struct view bytes, size_t *at)
{
	ssize_t n = 1;

	while (*at < bytes.len && n > 0) {
		n = write(peer->fd, bytes.ptr + *at, bytes.len - *at);
		*at += n > 0 ? (size_t)n : 0;
	}
	return *at == bytes.len;
}

/* Both at once, lest each side waits for the other to read. */
static inline bool net_push_and_read(struct net_peer *peer, struct view bytes, size_t *at)
{
	bool ended = net_read(peer);

	return net_push(peer, bytes, at) && ended;
}

/* Reads until the connection ends. The deadline is for progress and not for the whole: on a busy
 * machine a few MiB take many seconds, because test and agent take turns with small pieces. */
static inline void net_read_all(struct live *live, struct net_peer *peer)
{
	while (!peer->ended) {
		size_t before = peer->got.len;

		LIVE_UNTIL(live, net_read(peer) || peer->got.len != before, LIVE_MS);
	}
}

/* All text that arrives until the connection ends. */
static inline const char *net_hear(struct live *live, struct net_peer *peer)
{
	net_read_all(live, peer);
	return buf_text(&peer->got);
}

/* Bytes that are the same nowhere within a few kilobytes. */
static inline char *net_pattern(size_t len)
{
	char *bytes = mem_new(len);

	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(i * 2654435761U >> 16);
	return bytes;
}

/* --- clients of the way out --- */

static inline void net_start(struct live *live)
{
	live_start(live, &(struct live_options){ .has_egress = true });
}

/* A new client of the proxy, and what it says first. */
static inline struct net_peer net_client(const struct live *live, const char *text)
{
	struct net_peer client = net_connect(live->proxy_port);

	net_say(&client, text);
	return client;
}

static inline struct net_peer net_start_client(struct live *live, const char *text)
{
	net_start(live);
	return net_client(live, text);
}

static inline void net_stop_client(struct live *live, struct net_peer *client)
{
	net_done(client);
	live_stop(live);
}

/* --- the world behind the server, played by the test --- */

/* The n-th dial since the start, which must be for this host and port. */
static inline struct live_stream *net_dialled(struct live *live, unsigned n, const char *host,
                                              uint16_t port)
{
	const struct live_dial *dial = &live->dials[(n - 1) % ARRAY_LEN(live->dials)];

	LIVE_UNTIL(live, live->dial_count >= n, LIVE_MS);
	assert_string_equal(dial->host, host);
	assert_int_equal(dial->port, port);
	return dial->stream;
}

static inline struct live_stream *net_accepted(struct live *live, unsigned n, const char *host,
                                               uint16_t port)
{
	struct live_stream *s = net_dialled(live, n, host, port);

	channel_accept(s->stream);
	return s;
}

static inline void net_hears(struct live_stream *s, const char *want)
{
	LIVE_UNTIL(s->live, s->got[WIRE_IN].len >= strlen(want), LIVE_MS);
	assert_string_equal(buf_text(&s->got[WIRE_IN]), want);
}

/* All of an answer; its end. */
static inline void net_answers(struct live_stream *s, const char *text)
{
	s->keeps_open = false;
	live_feed_text(s, text);
}

static inline void net_finish(struct live_stream *s)
{
	channel_finish(s->stream);
	s->stream = NULL;
}

static inline void net_finish_when_ended(struct live_stream *s)
{
	LIVE_UNTIL(s->live, s->ended & 1u << WIRE_IN, LIVE_MS);
	net_finish(s);
}
