/* stdio.h - one client on a pair of descriptors, one JSON message a line.
 *
 *   OPEN --- end of input, broken output, stdio_close() ---> CLOSING --- idle, drained ---> closed()
 *
 * Ending closes the session, which cancels what runs; the calls then have the grace
 * period to stop, and what is already written to get out. A client that does not read is
 * not read from either, so nothing piles up on its account. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct loop;
struct mcp_server;
struct stdio;

struct stdio_config {
	int in_fd, out_fd; /* borrowed */
	size_t max_queue;  /* bytes that may wait for the client */
	uint64_t grace_ms;
	/* Last call; free the transport after it, not from within. NULL: the client left or
	 * stdio_close() was called; else why the connection could not go on. */
	void (*closed)(void *ctx, const struct error *why);
	void *ctx;
};

MUST_CHECK int stdio_new(struct loop *loop, struct mcp_server *server,
                         const struct stdio_config *config, struct stdio **ret, struct error *err);
void stdio_close(struct stdio *stdio); /* idempotent */
struct stdio *stdio_free(struct stdio *stdio);
