/* batch.c - the answers to one array of messages go back as one array.
 *
 * Notifications are sent as they come; only answers wait for each other, as the text they
 * will be sent as. All of it fits into one message: an answer that would be too much is
 * replaced by an error that says so. The batch is gone when the last expected answer has
 * settled. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "mcp/internal.h"

/* What a refusal takes at most, its id escaped. */
enum { REFUSAL_MAX = 8 * RPC_ID_MAX };

struct mcp_batch {
	struct mcp_session *session; /* NULL: nobody is left to answer */
	struct buf text;
	size_t max;
	size_t expected;
};

/* Expects one answer too many until batch_ready(), so that answers given at once do not
 * complete the batch before all of it was read. */
struct mcp_batch *batch_new(struct mcp_session *session)
{
	const struct mcp_limits *limits = &session->server->config.limits;
	struct mcp_batch *batch = mem_new(sizeof *batch);

	batch->session = session;
	batch->max = limits->max_line;
	batch->expected = 1;
	buf_init(&batch->text, limits->max_line + limits->max_batch * REFUSAL_MAX);
	return batch;
}

void batch_expect(struct mcp_batch *batch)
{
	batch->expected++;
}

static void add(struct mcp_batch *batch, struct view text)
{
	struct error err;

	if (buf_add(&batch->text, view_of(batch->text.len == 0 ? "[" : ","), &err) < 0 ||
	    buf_add(&batch->text, text, &err) < 0)
		abort(); /* the maximum was not thought through */
}

static void add_answer(struct mcp_batch *batch, json_t *id, json_t *answer)
{
	size_t len;
	AUTO_FREE char *text = session_text(batch->session, id, answer, &len);

	if (len + 2 <= batch->max && batch->text.len <= batch->max - len - 2) {
		add(batch, (struct view){ text, len });
		return;
	}
	free(text);
	text = session_text(batch->session, id,
	                    rpc_error(id, RPC_INTERNAL_ERROR,
	                              "the answers to this batch are together too long to be sent "
	                              "(max_line); ask for less at once",
	                              NULL),
	                    &len);
	add(batch, (struct view){ text, len });
}

static void settle(struct mcp_batch *batch)
{
	if (--batch->expected != 0)
		return;
	if (batch->session != NULL && batch->text.len != 0) {
		struct error err;

		if (buf_add(&batch->text, view_of("]"), &err) < 0)
			abort();
		session_send(batch->session, buf_view(&batch->text));
	}
	buf_done(&batch->text);
	free(batch);
}

void batch_settle(struct mcp_batch *batch, json_t *id, json_t *answer)
{
	if (answer != NULL && batch->session != NULL)
		add_answer(batch, id, answer);
	else
		json_decref(answer);
	settle(batch);
}

void batch_ready(struct mcp_batch *batch)
{
	settle(batch);
}

void batch_abandon(struct mcp_batch *batch)
{
	batch->session = NULL;
}
