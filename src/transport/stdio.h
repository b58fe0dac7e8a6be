/* stdio.h - the stdio transport of MCP: one client on two descriptors, one JSON message per line.
 *
 *   OPEN --- output error, stdio_close() --------------------------> CLOSING ---> closed()
 *     `--- end of input ---> calls end, half of the grace period ---'
 *
 * After the end of input calls have half of the grace period to end: a shell pipeline writes its
 * requests, closes the pipe and then reads. Closing closes the MCP session, which cancels all
 * calls. The transport then waits until the calls have ended and the queued output is written, but
 * not longer than the rest of the grace period, and calls closed().
 *
 * While a client does not read its output, its input is not read either, so a client cannot make
 * the queue grow. If the client closes the input meanwhile (a pipe hangs up, a socket is shut down
 * for writing), requests may still be unread in front of the end of input. So a client that reads
 * the queued output within half of the grace period gets all its answers. Otherwise it is gone or
 * stuck: the connection is closed with the other half as its grace period, and the unread requests
 * are dropped. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct loop;
struct mcp_server;
struct stdio;

struct stdio_config {
	const char *owner;  /* of the calls (mcp_caller.owner) */
	const char *locale; /* of the client's user: for mcp_caller_set_language(); or NULL */
	int in_fd, out_fd;  /* the caller closes them, after stdio_free() */
	size_t max_queue;   /* bytes that may be queued for the client */
	uint64_t grace_ms;  /* time for calls and queued output after the session is closed */
	/* The last callback; the caller frees the transport after it has returned. why: NULL if
	 * the client closed the connection or stdio_close() was called, else the error that ended
	 * it. */
	void (*closed)(void *ctx, const struct error *why);
	void *ctx;
};

MUST_CHECK int stdio_new(struct loop *loop, struct mcp_server *server,
                         const struct stdio_config *config, struct stdio **ret, struct error *err);
void stdio_close(struct stdio *stdio); /* idempotent */
struct stdio *stdio_free(struct stdio *stdio);
