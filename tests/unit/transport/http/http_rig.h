/* http_rig.h - an HTTP server with a handler for tests, and clients that send raw bytes, in one
 * loop. A client that waits for bytes that never come ends the test by the watchdog. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "transport/http/http.h"

enum { RIG_HELD_MAX = 16 };

/* The handler's answer depends on the path:
 *
 *   /hello      "hello"                     /echo     the body
 *   /method     the method                  /field    the field X-Test
 *   /query      the query                   /unread   "unread", without reading the body
 *   /big        BIG_BYTES of 'x'            /hold     nothing: the request is in `held`
 *   /stream     the beginning of a stream; the request is in `held`
 *   anything else: 404 */
struct http_rig {
	struct loop *loop;
	struct http_server *server;
	struct http_request *held[RIG_HELD_MAX]; /* NULL: answered or closed */
	size_t held_count;
	size_t requests, closed; /* calls of the handler and of closed() */
	struct buf body;         /* the last that was read of a held request */
	struct buf log;          /* one line for each finished request */
	int port;                /* 0: a unix socket */
	char *path;              /* of the unix socket */
	bool is_idle;
};

enum { BIG_BYTES = 3 * 1000 * 1000 };

/* Limits that are short enough for tests but do not end a connection of a slow machine. */
struct http_limits rig_limits(void);

void rig_open(struct http_rig *rig, const struct http_limits *limits);
void rig_listen(struct http_rig *rig, const char *address, struct http_tls *tls);
void rig_close(struct http_rig *rig);
/* Runs the loop until `held[index]` is set. */
struct http_request *rig_await_request(struct http_rig *rig, size_t index);
void rig_await_closed(struct http_rig *rig, size_t count);
void rig_await_connections(struct http_rig *rig, size_t count);
/* Ends a held request. */
void rig_respond(struct http_rig *rig, size_t index, const char *body);
void rig_read_body(struct http_rig *rig, size_t index);
void rig_step(struct http_rig *rig); /* lets the loop run for a moment */

struct client {
	struct http_rig *rig;
	struct input *input;
	struct buf got;
	int fd;
	bool has_ended;
	bool sends_single_bytes; /* and lets the server read each of them alone */
	int errnum;              /* of the end; 0: a regular end */
};

void client_open(struct client *client, struct http_rig *rig);
void client_close(struct client *client);
void client_stop_reading(struct client *client);
void client_read_again(struct client *client);
void client_send(struct client *client, const char *text);
void client_send_bytes(struct client *client, struct view bytes);
/* Runs the loop until the client has received `text`, and forgets everything up to it. */
void client_await(struct client *client, const char *text);
/* Runs the loop until the server has closed the connection. */
void client_await_end(struct client *client);
/* Sends and checks the status, then the body, which must be the end of what comes. */
void client_ask(struct client *client, const char *text, int status, const char *body);
