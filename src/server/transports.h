/* transports.h - how clients reach the server: standard input and output, HTTP, or both.
 *
 *   transports_prepare  opens what needs the rights of the user who started belljar
 *   (the caller gives up its rights: server/confine.h)
 *   transports_start    serves
 *   transports_close    ends all connections -> closed(), when all calls have returned
 *   transports_done
 *
 * The struct is the caller's. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "base/error.h"

struct http_service;
struct loop;
struct loop_timer;
struct mcp_server;
struct options;
struct profile_mounts;
struct stdio;
struct tools_context;

struct transports_events {
	/* All connections are closed, because of transports_close() or because the client on
	 * standard input and output has disconnected. why: NULL, or the error that ended it. */
	void (*closed)(void *ctx, const struct error *why);
	/* NULL if the server is ready for calls, else the reason why not. */
	const char *(*why_not_ready)(void *ctx);
	void *ctx;
	const struct tools_context *tools; /* of the sandboxes whose ports HTTP serves */
};

struct transports {
	const struct options *options;
	struct transports_events events;
	struct stdio *stdio;       /* NULL: HTTP only */
	struct http_service *http; /* NULL: no HTTP */
	bool stdio_is_closed, http_is_closed;
	bool has_failed; /* with `why` */
	struct error why;
	struct loop_timer *answer_timer;
};

MUST_CHECK int transports_prepare(struct transports *transports, const struct options *options,
                                  struct error *err);
/* `mcp` is served on standard input and output, `mounts` over HTTP. Calls on standard input and
 * output, and over HTTP without authentication, are made for `owner`. All of them must outlive the
 * transports. */
MUST_CHECK int transports_start(struct transports *transports, struct loop *loop,
                                struct mcp_server *mcp, const struct profile_mounts *mounts,
                                const char *owner, const struct transports_events *events,
                                struct error *err);
void transports_close(struct transports *transports); /* idempotent */
void transports_done(struct transports *transports);
