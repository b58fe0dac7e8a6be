/* ask_request.c - questions as requests to the client of a session, in the handshake era.
 *
 * The requests go where the response of the call would go: over HTTP to the stream of its POST. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "loop/loop.h"
#include "mcp/ask/asks.h"
#include "mcp/internal.h"

enum { ANSWER_MS = 600 * 1000, ID_SIZE = 32 };

struct ask_request {
	struct list node; /* in asks.requests */
	char id[ID_SIZE];
	char *key;
	enum mcp_question kind;
	json_t *params;
};

static struct ask_request *request_of(struct list *node)
{
	return container_of(node, struct ask_request, node);
}

static void free_request(struct ask_request *request)
{
	list_remove(&request->node);
	free(request->key);
	json_decref(request->params);
	free(request);
}

static void free_requests(struct mcp_call *call)
{
	struct list *requests = &call->asks.requests;

	if (call->asks.answers == NULL)
		return;
	for (struct list *node = requests->next, *next; node != requests; node = next) {
		/* clang's analyser loses track of list links.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		next = node->next;
		free_request(request_of(node));
	}
	if (call->asks.timer != NULL)
		loop_timer_stop(call->asks.timer);
}

/* Tells the client that no response is needed any more: it may still show a form to its user. */
static void cancel_requests(struct mcp_call *call)
{
	struct mcp_session *session = call->session;

	if (session != NULL) {
		LIST_EACH (node, &call->asks.requests) {
			json_t *params = json_obj();

			/* clang's analyser loses track of list links.
			 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
			json_set(params, "requestId", json_str(request_of(node)->id));
			json_set(params, "reason", json_str("the call was cancelled"));
			session_notify(session, call->sink != NULL ? call->sink : session->sink,
			               "notifications/cancelled", params);
		}
	}
	free_requests(call);
}

static void on_cancel(struct mcp_call *call, void *ctx)
{
	(void)ctx;
	cancel_requests(call);
	call_end_without_response(call);
}

static void fail_call(struct mcp_call *call, const struct error *why)
{
	call->on_cancel = NULL;
	cancel_requests(call);
	mcp_respond_tool_error(call, why);
}

static void on_no_answer(void *ctx)
{
	struct error err;

	(void)error_set(&err, ERR_LIMIT,
	                "the client was asked and has not answered within %d seconds; nothing was "
	                "done",
	                ANSWER_MS / 1000);
	fail_call(ctx, &err);
}

/* A page needs an id in this era, by which the client would learn that it is complete. */
static void send_request(struct mcp_call *call, struct ask_request *request)
{
	AUTO_JSON json_t *message = NULL;
	AUTO_FREE char *text = NULL;
	size_t len;

	if (request->kind == MCP_ASK_URL)
		json_set(request->params, "elicitationId", json_str(request->id));
	if (call->task != NULL)
		json_set(request->params, "_meta", task_related_meta(call->task));
	message = rpc_notification(question_method(request->kind), json_incref(request->params));
	json_set(message, "id", json_str(request->id));
	text = json_write(message, &len);
	sink_send(call->sink, MCP_REQUEST, (struct view){ text, len });
}

void ask_wait(struct mcp_call *call)
{
	call->on_cancel = on_cancel;
	if (call->asks.timer == NULL)
		call->asks.timer = loop_timer_new(call->loop, on_no_answer, call);
	loop_timer_start(call->asks.timer, ANSWER_MS);
}

void ask_requests_send(struct mcp_call *call)
{
	const char *key;
	json_t *question;

	ask_wait(call);
	if (call->task != NULL)
		task_set_status(call->task, TASK_INPUT_REQUIRED);
	json_object_foreach (call->asks.questions, key, question) {
		struct ask_request *request = mem_new(sizeof *request);

		request->key = mem_dup(key);
		request->kind = question_kind(question);
		request->params = json_incref(json_object_get(question, "params"));
		(void)snprintf(request->id, sizeof request->id, "ask-%u",
		               ++call->session->ask_count);
		list_add(&call->asks.requests, &request->node);
	}
	LIST_EACH (node, &call->asks.requests)
		send_request(call, request_of(node));
}

/* --- responses --- */

static struct mcp_call *find_request(const struct mcp_session *session, const char *id,
                                     struct ask_request **ret)
{
	LIST_EACH (node, &session->calls) {
		struct mcp_call *call = container_of(node, struct mcp_call, session_node);

		if (call->asks.answers == NULL)
			continue;
		LIST_EACH (at, &call->asks.requests) {
			if (strcmp(request_of(at)->id, id) != 0)
				continue;
			*ret = request_of(at);
			return call;
		}
	}
	return NULL;
}

/* Takes the answer of a client that declares an ability, but does not know its request, for none:
 * the handler goes on as with a client that cannot be asked. */
static bool take_answer(struct mcp_call *call, const struct ask_request *request,
                        const struct rpc_message *rpc, struct error *err)
{
	const json_t *code = json_object_get(rpc->error, "code");
	const char *text = json_text(rpc->error, "message");

	if (question_accepts(request->kind, request->params, rpc->result)) {
		json_set(call->asks.answers, request->key, json_incref(rpc->result));
		return true;
	}
	if (json_integer_value(code) == RPC_METHOD_NOT_FOUND) {
		json_set(call->asks.answers, request->key, json_null());
		return true;
	}
	(void)error_set(
	        err, ERR_INVALID, "the client was asked (%s) and has not answered: %s",
	        question_method(request->kind),
	        UTF8_ESCAPED(view_of(text != NULL ? text : "its result is not valid"), 200));
	return false;
}

bool ask_requests_receive(struct mcp_session *session, const struct rpc_message *rpc)
{
	const char *id = json_as_text(rpc->id);
	struct ask_request *request;
	struct mcp_call *call;
	struct error err;
	bool is_answered;

	call = id != NULL ? find_request(session, id, &request) : NULL;
	if (call == NULL)
		return false;
	is_answered = take_answer(call, request, rpc, &err);
	free_request(request);
	if (!is_answered) {
		fail_call(call, &err);
	} else if (list_is_empty(&call->asks.requests)) {
		asks_resume(call);
	}
	return true;
}
