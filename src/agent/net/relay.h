/* relay.h - a connection inside, joined to a stream: a port the server wants to reach
 * (PORT), or a dial of the proxy that the server has taken up (DIAL).
 *
 * The socket belongs to the relay, once for each direction, and is closed before the stream
 * is freed. What the server sends before a connection stands waits in the feed. A dial stays until
 * the server has said its last word, and then until the client has taken what came before. */
#pragma once
#include "agent/program/feed.h"
#include "agent/program/pump.h"

struct agent;
struct proxy_client;
struct stream;
struct wire_message;

enum {
	RELAY_CONNECT_MS = 10000, /* a connection inside stands by then */
	RELAY_DRAIN_MS = 30000,   /* a client that takes nothing for so long is let go */
};

struct relay {
	struct pump pump;
	struct feed feed;
	struct source connecting;    /* PORT: until the connection stands */
	struct proxy_client *client; /* DIAL: until the server has answered */
	uint16_t port;
	bool second;  /* PORT: 127.0.0.1 was in vain, this is ::1 */
	int errnum;   /* PORT: what 127.0.0.1 said */
	bool whole;   /* DIAL: one request and its answer, not a tunnel */
	size_t waits; /* DIAL, after DONE: bytes the client had not taken when last counted */
};

/* PORT: connects to 127.0.0.1 or ::1, says OPENED or FAILED. */
void relay_open_port(struct stream *stream, const struct wire_message *message);

/* DIAL: asks the server for a connection on behalf of a client of the proxy, which hears by
 * proxy_opened() or proxy_refused(). NULL: there are too many streams already. */
struct stream *relay_dial(struct agent *agent, struct proxy_client *client, struct view host,
                          uint16_t port);
/* Joins the client's socket to the stream: as a tunnel, or for the `left` bytes of a request
 * and the answer to it. */
void relay_join(struct stream *stream, int fd);
void relay_join_request(struct stream *stream, int fd, uint64_t left);
/* The client has left. The stream goes when the server has heard of it. */
void relay_leave(struct stream *stream);
