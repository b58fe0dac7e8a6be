/* exchange.c - one message of mcp_session_receive_on(), with the sink for everything that belongs
 * to it. An exchange ends when each of its requests was answered or cancelled. */
#include <stdlib.h>

#include "base/mem.h"
#include "mcp/internal.h"

/* `pending` is one too high until exchange_release() by the function that received the message: a
 * request may be answered at once, and must not end the exchange before the others were read. */
struct mcp_exchange *exchange_new(struct mcp_session *session, struct mcp_sink *sink,
                                  const struct mcp_headers *headers)
{
	struct mcp_exchange *exchange = mem_new(sizeof *exchange);

	exchange->sink = sink;
	exchange->headers = headers;
	exchange->pending = 1;
	list_add(&session->exchanges, &exchange->node);
	return exchange;
}

void exchange_hold(struct mcp_exchange *exchange)
{
	exchange->pending++;
}

void exchange_release(struct mcp_exchange *exchange)
{
	struct mcp_sink *sink = exchange->sink;

	if (--exchange->pending != 0)
		return;
	list_remove(&exchange->node);
	free(exchange);
	sink->done(sink);
}
