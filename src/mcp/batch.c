/* batch.c - collects the responses to a JSON-RPC batch and sends them as one array.
 *
 * Notifications are sent at once. Responses are encoded and kept until the last one has arrived.
 * The array is one message and must not exceed max_line: a response that does not fit is replaced
 * by an error. The batch is freed with its last response. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "mcp/internal.h"

/* Bytes of an error response at most. A byte of the id takes up to six when it is escaped. */
enum { ERROR_MAX = 8 * RPC_ID_MAX };

struct mcp_batch {
	struct mcp_session *session; /* NULL after it is closed */
	struct mcp_sink *sink;
	struct buf text; /* the array so far, without "]" */
	size_t max;
	size_t expected; /* responses that have not arrived */
};

/* `expected` is one too high until batch_finish_requests(): a request may be responded to at
 * once, and must not complete the batch before the others have been read. */
struct mcp_batch *batch_new(struct mcp_session *session, struct mcp_sink *sink)
{
	const struct mcp_limits *limits = &session->server->config.limits;
	struct mcp_batch *batch = mem_new(sizeof *batch);

	batch->session = session;
	batch->sink = sink;
	batch->max = limits->max_line;
	batch->expected = 1;
	buf_init(&batch->text, limits->max_line + limits->max_batch * ERROR_MAX);
	return batch;
}

void batch_add_request(struct mcp_batch *batch)
{
	batch->expected++;
}

static void append_text(struct mcp_batch *batch, struct view text)
{
	if (!buf_put(&batch->text, view_of(batch->text.len == 0 ? "[" : ",")) ||
	    !buf_put(&batch->text, text))
		abort(); /* ERROR_MAX is too small */
}

static void append_response(struct mcp_batch *batch, json_t *id, json_t *response)
{
	size_t len;
	AUTO_FREE char *text = session_encode_response(batch->session, id, response, &len);

	if (len + 2 <= batch->max && batch->text.len <= batch->max - len - 2) {
		append_text(batch, (struct view){ text, len });
		return;
	}
	free(text);
	text = session_encode_response(
	        batch->session, id,
	        rpc_error(id, RPC_INTERNAL_ERROR,
	                  "the answers to this batch are together too long to be sent "
	                  "(max_line); send fewer requests at once",
	                  NULL),
	        &len);
	append_text(batch, (struct view){ text, len });
}

static void count_response(struct mcp_batch *batch)
{
	if (--batch->expected != 0)
		return;
	if (batch->session != NULL && batch->text.len != 0) {
		if (!buf_put(&batch->text, view_of("]")))
			abort();
		sink_send(batch->sink, MCP_RESPONSE, buf_view(&batch->text));
	}
	buf_done(&batch->text);
	free(batch);
}

void batch_add_response(struct mcp_batch *batch, json_t *id, json_t *response)
{
	if (response != NULL && batch->session != NULL)
		append_response(batch, id, response);
	else
		json_decref(response);
	count_response(batch);
}

void batch_finish_requests(struct mcp_batch *batch)
{
	count_response(batch);
}

void batch_detach_session(struct mcp_batch *batch)
{
	batch->session = NULL;
}
