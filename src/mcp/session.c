#include "mcp/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "mcp/internal.h"
#include "mcp/request_meta.h"

struct mcp_session *mcp_session_new(struct mcp_server *server, struct mcp_sink *sink)
{
	struct mcp_session *session = mem_new(sizeof *session);

	session->server = server;
	session->sink = sink;
	session->revision = MCP_DEFAULT_REVISION;
	session->level = MCP_LEVEL_INFO;
	session->subscriptions = json_obj();
	list_init(&session->calls);
	list_add(&server->sessions, &session->node);
	return session;
}

static struct mcp_call *first_call(const struct mcp_session *session)
{
	return container_of(session->calls.next, struct mcp_call, session_node);
}

/* on_cancel may respond, which ends the call, so the call is removed from the session first. */
void mcp_session_close(struct mcp_session *session)
{
	LIST_EACH (node, &session->calls) {
		struct mcp_call *call = container_of(node, struct mcp_call, session_node);

		if (call->batch != NULL && !call->cancelled)
			batch_detach_session(call->batch);
	}
	while (!list_is_empty(&session->calls)) {
		struct mcp_call *call = first_call(session);

		if (call->is_listen) {
			listen_end(call);
			continue;
		}
		session_remove_call(session, call);
		call->session = NULL;
		call_cancel(call);
	}
	list_remove(&session->node);
	json_decref(session->subscriptions);
	free(session);
}

void session_remove_call(struct mcp_session *session, struct mcp_call *call)
{
	list_remove(&call->session_node);
	session->held_bytes -= call->held_bytes;
	if (call->is_listen)
		session->listen_count--;
	else
		session->call_count--;
}

void session_send(struct mcp_session *session, struct view text)
{
	session->sink->send(session->sink, text);
}

char *session_encode_response(const struct mcp_session *session, json_t *id, json_t *response,
                              size_t *ret_len)
{
	const size_t max = session->server->config.limits.max_line;
	char *text = json_write(response, ret_len);
	AUTO_JSON json_t *error = NULL;
	char why[160];

	json_decref(response);
	if (*ret_len <= max)
		return text;
	(void)snprintf(
	        why, sizeof why,
	        "the answer has %zu bytes, and at most %zu can be sent (max_line); ask for less at "
	        "once",
	        *ret_len, max);
	free(text);
	error = rpc_error(id, RPC_INTERNAL_ERROR, why, NULL);
	return json_write(error, ret_len);
}

void session_respond(struct mcp_session *session, json_t *id, json_t *response)
{
	size_t len;
	AUTO_FREE char *text = session_encode_response(session, id, response, &len);

	session_send(session, (struct view){ text, len });
}

/* A notification has no response, so one that is too long is only logged. */
void session_notify(struct mcp_session *session, const char *method, json_t *params)
{
	AUTO_JSON json_t *message = rpc_notification(method, params);
	size_t len;
	AUTO_FREE char *text = json_write(message, &len);

	if (len > session->server->config.limits.max_line)
		log_warning("a notification of %zu bytes was not sent (max_line)", len);
	else
		session_send(session, (struct view){ text, len });
}

static void respond_invalid(struct mcp_session *session, json_t *id, const struct error *why)
{
	enum rpc_code code = why->kind == ERR_SYNTAX ? RPC_PARSE_ERROR : RPC_INVALID_REQUEST;

	log_info("message refused: %s", why->msg);
	session_respond(session, id, rpc_error(id, code, why->msg, NULL));
}

void mcp_session_reject(struct mcp_session *session, const struct error *why)
{
	respond_invalid(session, NULL, why);
}

struct mcp_call *session_find_call(const struct mcp_session *session, const json_t *id)
{
	LIST_EACH (node, &session->calls) {
		struct mcp_call *call = container_of(node, struct mcp_call, session_node);

		if (!call->cancelled && json_equal(call->id, id))
			return call;
	}
	return NULL;
}

static void receive_request(struct mcp_session *session, struct mcp_batch *batch,
                            const struct rpc_message *rpc)
{
	bool id_taken = session_find_call(session, rpc->id) != NULL;
	struct mcp_call *call = call_new(session, batch, rpc);

	if (id_taken)
		call_respond_error(call, RPC_INVALID_REQUEST, NULL,
		                   "'id' is in use by a request that is not answered yet");
	else if (rpc->bad_params)
		call_respond_error(call, RPC_INVALID_PARAMS, NULL, "'params' must be an object");
	else
		methods_dispatch_request(call);
	call->params = NULL; /* valid: a call that has ended is freed later, by loop_defer() */
}

static void receive_message(struct mcp_session *session, struct mcp_batch *batch,
                            const struct rpc_message *rpc)
{
	switch (rpc->kind) {
	case RPC_REQUEST:
		receive_request(session, batch, rpc);
		break;
	case RPC_NOTIFICATION:
		methods_dispatch_notification(session, rpc);
		break;
	case RPC_RESPONSE:
		if (!roots_receive_response(session, rpc))
			log_debug("a response without a request is ignored");
		break;
	}
}

/* Checks every message of a batch. One invalid message makes the whole batch an error. */
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
		return error_set(err, ERR_INVALID, "an empty batch is not allowed");
	if (json_array_size(messages) > max)
		return error_set(
		        err, ERR_LIMIT,
		        "more than %zu messages in a batch (max_batch); send fewer at once", max);
	json_array_foreach (messages, i, message) {
		if (rpc_decode(message, &rpc, err) < 0)
			return error_wrap(err, "message %zu of the batch", i + 1);
		if (request_meta_has_version(rpc.params))
			return error_set(
			        err, ERR_INVALID,
			        "message %zu of the batch: stateless revisions have no batches",
			        i + 1);
		if (rpc.kind == RPC_REQUEST && strcmp(rpc.method, "initialize") == 0)
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
		respond_invalid(session, NULL, &err);
		return;
	}
	batch = batch_new(session);
	session->message_bytes /= json_array_size(messages); /* an equal share for each message */
	json_array_foreach (messages, i, message) {
		if (rpc_decode(message, &rpc, &err) == 0)
			receive_message(session, batch, &rpc);
	}
	batch_finish_requests(batch);
}

static void receive_text(struct mcp_session *session, struct view text)
{
	AUTO_JSON json_t *message = NULL;
	AUTO_JSON json_t *id = NULL;
	struct rpc_message rpc;
	struct error err;

	if (json_read(text, &session->server->config.limits.json, &message, &id, &err) < 0) {
		respond_invalid(session, id != NULL && rpc_is_id(id) ? id : NULL, &err);
		return;
	}
	if (json_is_array(message))
		receive_batch(session, message);
	else if (rpc_decode(message, &rpc, &err) < 0)
		respond_invalid(session, NULL, &err);
	else
		receive_message(session, NULL, &rpc);
}

void mcp_session_receive(struct mcp_session *session, struct view text)
{
	session->message_bytes = text.len;
	receive_text(session, text);
	mem_trim(text.len);
}
