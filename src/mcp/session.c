#include "mcp/session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "mcp/internal.h"

struct mcp_session *mcp_session_new(struct mcp_server *server, struct mcp_sink *sink)
{
	struct mcp_session *session = mem_new(sizeof *session);

	session->server = server;
	session->sink = sink;
	session->revision = MCP_ASSUMED;
	session->level = MCP_LEVEL_INFO;
	session->subscriptions = json_obj();
	list_init(&session->calls);
	list_add(&server->sessions, &session->node);
	return session;
}

/* Calls of a batch share it; each is told, once is enough. */
void mcp_session_close(struct mcp_session *session)
{
	LIST_EACH (node, &session->calls) {
		struct mcp_call *call = container_of(node, struct mcp_call, in_session);

		if (call->batch != NULL)
			batch_abandon(call->batch);
	}
	while (!list_is_empty(&session->calls)) {
		struct mcp_call *call = container_of(session->calls.next, struct mcp_call,
		                                     in_session);

		if (call->is_listen)
			listen_finish(call);
		else
			call_cancel(call);
	}
	list_remove(&session->node);
	json_decref(session->subscriptions);
	free(session);
}

void session_end_call(struct mcp_session *session, struct mcp_call *call)
{
	list_remove(&call->in_session);
	if (call->is_listen)
		session->listen_count--;
	else
		session->call_count--;
}

static json_t *too_long(const struct mcp_session *session, json_t *id, size_t len)
{
	char why[160];

	(void)snprintf(why, sizeof why,
	               "the answer has %zu bytes; at most %zu can be sent (max_line)", len,
	               session->server->config.limits.max_line);
	return rpc_error(id, RPC_INTERNAL_ERROR, why, NULL);
}

/* What is said in place of a message that clients would not accept: each request it
 * answers is told. */
static json_t *stand_in(const struct mcp_session *session, const json_t *message, size_t len)
{
	json_t *refusals, *answer;
	size_t i;

	if (!json_is_array(message))
		return too_long(session, json_object_get(message, "id"), len);
	refusals = json_list();
	json_array_foreach(message, i, answer)
	        json_push(refusals, too_long(session, json_object_get(answer, "id"), len));
	return refusals;
}

void session_send(struct mcp_session *session, json_t *message)
{
	size_t len;
	AUTO_FREE char *text = json_write(message, &len);
	AUTO_FREE char *instead = NULL;

	if (len > session->server->config.limits.max_line) {
		AUTO_JSON json_t *refusal = stand_in(session, message, len);

		instead = json_write(refusal, &len);
	}
	session->sink->send(session->sink, (struct view){ instead != NULL ? instead : text, len });
	json_decref(message);
}

void session_notify(struct mcp_session *session, const char *method, json_t *params)
{
	session_send(session, rpc_notification(method, params));
}

static void refuse(struct mcp_session *session, json_t *id, const struct error *why)
{
	enum rpc_code code = why->kind == ERR_SYNTAX ? RPC_PARSE_ERROR : RPC_INVALID_REQUEST;

	log_info("message refused: %s", why->msg);
	session_send(session, rpc_error(id, code, why->msg, NULL));
}

void mcp_session_refuse(struct mcp_session *session, const struct error *why)
{
	refuse(session, NULL, why);
}

static bool id_is_in_use(const struct mcp_session *session, const json_t *id)
{
	LIST_EACH (node, &session->calls)
		if (json_equal(container_of(node, struct mcp_call, in_session)->id, id))
			return true;
	return false;
}

static void receive_request(struct mcp_session *session, struct mcp_batch *batch, json_t *message,
                            const struct rpc_message *rpc)
{
	bool id_taken = id_is_in_use(session, rpc->id);
	struct mcp_call *call = call_new(session, batch, message, rpc);

	if (id_taken)
		call_refuse(call, RPC_INVALID_REQUEST, NULL,
		            "'id' is in use by a request that is not answered yet");
	else if (rpc->bad_params)
		call_refuse(call, RPC_INVALID_PARAMS, NULL, "'params' must be an object");
	else
		methods_dispatch(call);
}

static void receive_decoded(struct mcp_session *session, struct mcp_batch *batch, json_t *message,
                            const struct rpc_message *rpc)
{
	switch (rpc->kind) {
	case RPC_REQUEST:
		receive_request(session, batch, message, rpc);
		break;
	case RPC_NOTIFICATION:
		methods_notified(session, rpc);
		break;
	case RPC_RESPONSE:
		log_debug("a response to nothing we asked is ignored");
		break;
	}
}

/* Whether each element may stand in a batch; the first that may not spoils all. */
static int check_batch(const struct mcp_session *session, const json_t *messages, struct error *err)
{
	const size_t max = session->server->config.limits.max_batch;
	struct rpc_message rpc;
	json_t *message;
	size_t i;

	if (!mcp_revision_has(session->revision, MCP_BATCHES))
		return error_set(err, ERR_INVALID,
		                 "revision %s has no batches: send one message a line",
		                 mcp_revision_name(session->revision));
	if (json_array_size(messages) == 0)
		return error_set(err, ERR_INVALID, "an empty batch");
	if (json_array_size(messages) > max)
		return error_set(err, ERR_LIMIT, "more than %zu messages in a batch (max_batch)",
		                 max);
	json_array_foreach(messages, i, message)
	{
		if (rpc_decode(message, &rpc, err) < 0)
			return error_wrap(err, "message %zu of the batch", i + 1);
		if (envelope_is_claimed(rpc.params))
			return error_set(
			        err, ERR_INVALID,
			        "message %zu of the batch: stateless revisions have no batches",
			        i + 1);
		if (rpc.kind == RPC_REQUEST && view_is(view_of(rpc.method), "initialize"))
			return error_set(err, ERR_INVALID,
			                 "message %zu of the batch: 'initialize' must stand alone",
			                 i + 1);
	}
	return 0;
}

static void receive_batch(struct mcp_session *session, json_t *messages)
{
	struct mcp_batch *batch;
	struct rpc_message rpc;
	struct error err;
	json_t *message;
	size_t i;

	if (check_batch(session, messages, &err) < 0) {
		refuse(session, NULL, &err);
		return;
	}
	batch = batch_new(session);
	json_array_foreach(messages, i, message)
	{
		if (rpc_decode(message, &rpc, &err) == 0)
			receive_decoded(session, batch, message, &rpc);
	}
	batch_ready(batch);
}

void mcp_session_receive(struct mcp_session *session, struct view text)
{
	AUTO_JSON json_t *message = NULL;
	AUTO_JSON json_t *id = NULL;
	struct rpc_message rpc;
	struct error err;

	if (json_read(text, &session->server->config.limits.json, &message, &id, &err) < 0) {
		refuse(session, id != NULL && rpc_is_id(id) ? id : NULL, &err);
		return;
	}
	if (json_is_array(message))
		receive_batch(session, message);
	else if (rpc_decode(message, &rpc, &err) < 0)
		refuse(session, NULL, &err);
	else
		receive_decoded(session, NULL, message, &rpc);
}
