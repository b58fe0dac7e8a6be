#include "mcp/session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "mcp/internal.h"

struct mcp_session *mcp_session_new(struct mcp_server *server, struct mcp_sink *sink,
                                    const struct mcp_caller *caller)
{
	struct mcp_session *session = mem_new(sizeof *session);

	session->server = server;
	session->sink = sink;
	session->owner = mem_dup(caller->owner);
	session->scopes = caller->scopes;
	session->may_have_roots = caller->has_roots;
	memcpy(session->language, caller->language, sizeof session->language);
	session->revision = MCP_DEFAULT_REVISION;
	session->level = MCP_LEVEL_INFO;
	session->subscriptions = json_obj();
	list_init(&session->calls);
	list_init(&session->exchanges);
	list_add(&server->sessions, &session->node);
	return session;
}

const char *mcp_session_revision(const struct mcp_session *session)
{
	return mcp_revision_name(session->revision);
}

bool mcp_session_has_handshake(const struct mcp_session *session)
{
	return session->has_handshake;
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
	assert(list_is_empty(&session->exchanges));
	list_remove(&session->node);
	json_decref(session->subscriptions);
	free(session->owner);
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

void sink_send(struct mcp_sink *sink, enum mcp_message_kind kind, struct view text)
{
	sink->send(sink, &(struct mcp_message){ .text = text, .kind = kind });
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

void session_send_error(struct mcp_session *session, struct mcp_exchange *exchange, json_t *id,
                        enum rpc_code code, const char *text)
{
	struct mcp_sink *sink = exchange != NULL ? exchange->sink : session->sink;
	size_t len;
	AUTO_FREE char *encoded = session_encode_response(session, id,
	                                                  rpc_error(id, code, text, NULL), &len);

	sink->send(sink, &(struct mcp_message){ .text = { encoded, len },
	                                        .kind = MCP_RESPONSE,
	                                        .outcome = MCP_OUTCOME_BAD_REQUEST });
}

/* A notification has no response, so one that is too long is only logged. */
void session_notify(struct mcp_session *session, struct mcp_sink *sink, const char *method,
                    json_t *params)
{
	AUTO_JSON json_t *message = rpc_notification(method, params);
	size_t len;
	AUTO_FREE char *text = json_write(message, &len);

	if (len > session->server->config.limits.max_line)
		log_warning("a notification of %zu bytes was not sent (max_line)", len);
	else
		sink_send(sink, MCP_NOTIFICATION, (struct view){ text, len });
}

static void respond_invalid(struct mcp_session *session, struct mcp_exchange *exchange, json_t *id,
                            const struct error *why)
{
	enum rpc_code code = why->kind == ERR_SYNTAX ? RPC_PARSE_ERROR : RPC_INVALID_REQUEST;

	log_info("message refused: %s", why->msg);
	session_send_error(session, exchange, id, code, why->msg);
}

void mcp_session_reject(struct mcp_session *session, struct view first, struct view last,
                        const struct error *why)
{
	AUTO_JSON json_t *id = rpc_find_id(first, last);

	respond_invalid(session, NULL, id, why);
}

struct mcp_call *session_find_call(const struct mcp_session *session, const json_t *id)
{
	LIST_EACH (node, &session->calls) {
		struct mcp_call *call = container_of(node, struct mcp_call, session_node);

		if (!call->cancelled && call->task == NULL && json_equal(call->id, id))
			return call;
	}
	return NULL;
}

static void receive_request(struct mcp_session *session, const struct call_origin *origin,
                            const struct rpc_message *rpc)
{
	/* Two open calls with one id could not be told apart by a cancellation or a response. */
	bool id_taken = session_find_call(session, rpc->id) != NULL;
	struct mcp_call *call = call_new(session, origin, rpc);

	if (id_taken)
		call_respond_error(call, RPC_INVALID_REQUEST, NULL,
		                   "'id' is in use by a request that is not answered yet");
	else if (rpc->bad_params)
		call_respond_error(call, RPC_INVALID_PARAMS, NULL, "'params' must be an object");
	else
		methods_dispatch_request(call, rpc);
	call->params = NULL; /* valid: a call that has ended is freed later, by loop_defer() */
}

static void receive_message(struct mcp_session *session, const struct call_origin *origin,
                            const struct rpc_message *rpc)
{
	switch (rpc->kind) {
	case RPC_REQUEST:
		receive_request(session, origin, rpc);
		break;
	case RPC_NOTIFICATION:
		if (headers_check_notification(session, origin->exchange, rpc))
			methods_dispatch_notification(session, rpc);
		break;
	case RPC_RESPONSE:
		if (!ask_requests_receive(session, rpc) && !roots_receive_response(session, rpc))
			log_debug("a response without a request is ignored");
		break;
	}
}

static void receive_batch(struct mcp_session *session, const struct mcp_input *input,
                          struct mcp_exchange *exchange)
{
	struct call_origin origin = { .exchange = exchange };
	struct rpc_message rpc;
	struct error err;
	json_t *message;
	size_t i;

	if (input_check_batch(input, session->revision, &err) < 0) {
		respond_invalid(session, exchange, NULL, &err);
		return;
	}
	origin.batch = batch_new(session, exchange != NULL ? exchange->sink : session->sink);
	/* An equal share for each message. */
	session->message_bytes /= json_array_size(input->message);
	json_array_foreach (input->message, i, message) {
		if (rpc_decode(message, &rpc, &err) == 0)
			receive_message(session, &origin, &rpc);
	}
	batch_finish_requests(origin.batch);
}

static void receive_input(struct mcp_session *session, struct mcp_input *input,
                          struct mcp_exchange *exchange)
{
	const struct call_origin origin = { .exchange = exchange };

	session->message_bytes = input->bytes;
	if (input->is_invalid)
		respond_invalid(session, exchange, input->id, &input->err);
	else if (json_is_array(input->message))
		receive_batch(session, input, exchange);
	else
		receive_message(session, &origin, &input->rpc);
}

void mcp_session_receive(struct mcp_session *session, struct view text)
{
	struct mcp_input *input = mcp_input_new(session->server, text);

	receive_input(session, input, NULL);
	(void)mcp_input_free(input);
}

void mcp_session_receive_on(struct mcp_session *session, struct mcp_input *input,
                            struct mcp_sink *sink, const struct mcp_headers *headers)
{
	struct mcp_exchange *exchange = exchange_new(session, sink, headers);

	receive_input(session, input, exchange);
	(void)mcp_input_free(input);
	exchange->headers = NULL;
	exchange_release(exchange);
}
