/* bodies.c - reads the body of a POST before its handler is called.
 *
 * The request is checked and its caller known before the first byte of the body is read. The
 * connection may close meanwhile. */
#include <stdlib.h>

#include "base/mem.h"
#include "transport/mcp_http/internal.h"

struct body {
	struct incoming incoming;
	char *owner;
	body_fn *fn;
};

static void free_body(struct body *body)
{
	free(body->owner);
	free(body);
}

static void on_body(void *ctx, struct view text)
{
	struct body *body = ctx;

	body->fn(&body->incoming, text);
	free_body(body);
}

static void on_closed(void *ctx)
{
	free_body(ctx);
}

void read_json_body(const struct incoming *incoming, body_fn *fn)
{
	struct body *body;

	if (!media_is_json(http_get(incoming->request, "content-type"))) {
		answer_error(incoming->http, incoming->request, 415, ANSWER_TRANSPORT,
		             "Content-Type must be application/json.");
		return;
	}
	body = mem_new(sizeof *body);
	body->incoming = *incoming;
	body->incoming.caller.owner = body->owner = mem_dup(incoming->caller.owner);
	body->fn = fn;
	http_on_close(incoming->request, on_closed, body);
	http_read_body(incoming->request, on_body, body);
}
