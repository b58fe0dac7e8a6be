/* proxy.h - the way out: an HTTP proxy on 127.0.0.1 that asks the server for every connection.
 *
 * There only if the policy opens it. CONNECT host:port makes a tunnel; an absolute-form
 * request (GET http://host/path) is rewritten for the origin and its body passed on, one
 * request a connection. The server decides by host and port; nothing is resolved in here.
 *
 *   accepted -> says what it wants -> waits for the server -> joined to a relay, which owns it
 *                        \----------- refused -----------\--> lingers: reads the answer, leaves */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "agent/poller.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/view.h"
#include "wire/message.h"

struct agent;
struct error;
struct stream;

enum {
	PROXY_CLIENTS = 64,
	PROXY_HEADER_MAX = 16 * 1024,
	PROXY_HEADER_MS = 10000, /* a client has so long to say what it wants */
	PROXY_LINGER_MS = 2000,  /* and so long to read why it does not get it */
	PROXY_PAUSE_MS = 100,    /* nobody is accepted, when the kernel could not */
};

enum proxy_state { PROXY_ASKS, PROXY_WAITS, PROXY_LINGERS };

struct proxy_client {         /* a slot, used again and again: see poller.h */
	struct source source; /* fd -1: free */
	struct agent *agent;
	enum proxy_state state;
	uint64_t due;          /* ASKS, LINGERS: when its time is over; 0: never */
	struct stream *stream; /* WAITS: for the answer to this dial */
	bool tunnel, expects;
	uint64_t left;    /* of the body, behind `bytes` */
	struct buf bytes; /* ASKS: what came; WAITS: what goes out first */
};

struct proxy {
	struct source listener; /* fd -1: the policy does not open it */
	uint16_t port;
	uint64_t paused_until; /* nobody is accepted before */
	uint64_t next_due;     /* when proxy_due() wants to be called; 0: never */
	struct proxy_client clients[PROXY_CLIENTS];
};

/* port 0: any that is free. */
MUST_CHECK int proxy_open(struct agent *agent, uint16_t port, struct error *err);

/* The server's answer to a client's dial. */
void proxy_opened(struct proxy_client *client, struct stream *stream);
void proxy_refused(struct proxy_client *client, enum wire_failure failure, struct view why);

/* Takes over a client's socket that has been given all it gets. What the client still sends
 * is read and dropped for a while: closed at once, the kernel would reset the connection, and with
 * it what the client has not read yet. */
void proxy_linger(struct agent *agent, int fd);

/* Called every turn with the time: clients that say nothing are let go. */
void proxy_due(struct agent *agent, uint64_t now);
