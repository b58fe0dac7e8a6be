/* batch.c - the answers to one array of messages go back as one array.
 *
 * Notifications are sent as they come; only answers wait for each other. The batch is
 * gone when the last expected answer has settled, or when its session is. */
#include <stdlib.h>

#include "base/mem.h"
#include "mcp/internal.h"

struct mcp_batch {
	struct mcp_session *session; /* NULL: nobody is left to answer */
	json_t *answers;
	size_t expected;
};

/* Expects one answer too many until batch_ready(), so that answers given at once do not
 * complete the batch before all of it was read. */
struct mcp_batch *batch_new(struct mcp_session *session)
{
	struct mcp_batch *batch = mem_new(sizeof *batch);

	batch->session = session;
	batch->answers = json_list();
	batch->expected = 1;
	return batch;
}

void batch_expect(struct mcp_batch *batch)
{
	batch->expected++;
}

void batch_settle(struct mcp_batch *batch, json_t *answer)
{
	if (answer != NULL)
		json_push(batch->answers, answer);
	if (--batch->expected != 0)
		return;
	if (batch->session != NULL && json_array_size(batch->answers) != 0)
		session_send(batch->session, json_incref(batch->answers));
	json_decref(batch->answers);
	free(batch);
}

void batch_ready(struct mcp_batch *batch)
{
	batch_settle(batch, NULL);
}

void batch_abandon(struct mcp_batch *batch)
{
	batch->session = NULL;
}
