/* ask.c - the questions of a call: what is missing, and how the client is asked for it. */
#include "mcp/ask/ask.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "loop/loop.h"
#include "mcp/ask/asks.h"
#include "mcp/ask/request_state.h"
#include "mcp/internal.h"

enum { ROUNDS_MAX = 8 };

static bool is_stateless(const struct mcp_call *call)
{
	return mcp_revision_has(call->revision, MCP_STATELESS);
}

bool mcp_can_ask(const struct mcp_call *call, enum mcp_question kind)
{
	return (call->abilities & (1U << kind)) != 0;
}

static void init_asks(struct asks *asks)
{
	if (asks->answers != NULL)
		return;
	asks->answers = json_obj();
	asks->questions = json_obj();
	list_init(&asks->requests);
}

void asks_done(struct mcp_call *call)
{
	json_decref(call->asks.given);
	json_decref(call->asks.answers);
	json_decref(call->asks.questions);
	(void)loop_timer_free(call->asks.timer);
}

static struct request_state_scope state_scope(const struct mcp_call *call, const json_t *params)
{
	return (struct request_state_scope){ .owner = call->owner,
		                             .method = call->method,
		                             .params = params,
		                             .now_ms = clock_now_ms() };
}

/* Answers of earlier rounds were checked, so values of this request do not replace them. */
static bool read_state(struct mcp_call *call)
{
	const json_t *given = json_object_get(call->params, "requestState");
	const struct request_state_scope scope = state_scope(call, call->params);
	const char *text = json_as_text(given);
	struct request_state state;
	struct error err;

	if (given == NULL || json_is_null(given))
		return true;
	if (request_state_decode(&call->server->state_key, &scope, text != NULL ? text : "", &state,
	                         &err) < 0) {
		call_respond_error(call, RPC_INVALID_PARAMS, NULL, "%s", err.msg);
		return false;
	}
	init_asks(&call->asks);
	json_decref(call->asks.answers);
	call->asks.answers = state.answers;
	call->asks.round = state.round;
	return true;
}

bool asks_begin(struct mcp_call *call)
{
	if (!is_stateless(call))
		return true;
	call->asks.given = json_incref(json_member(call->params, "inputResponses", JSON_OBJECT));
	call->identity = request_state_identity(call->params);
	return read_state(call);
}

void mcp_ask(struct mcp_call *call, const char *key, enum mcp_question kind, json_t *params)
{
	struct asks *asks = &call->asks;
	json_t *given = json_object_get(asks->given, key), *question;

	init_asks(asks);
	if (params == NULL)
		params = json_obj();
	if (json_object_get(asks->answers, key) == NULL && question_accepts(kind, params, given))
		json_set(asks->answers, key, json_incref(given));
	if (json_object_get(asks->answers, key) != NULL) {
		json_decref(params);
		return;
	}
	question = json_obj();
	json_set(question, "method", json_str(question_method(kind)));
	json_set(question, "params", params);
	json_set(asks->questions, key, question);
	asks->kinds |= 1U << kind;
}

const json_t *mcp_answer(const struct mcp_call *call, const char *key)
{
	const json_t *answer = json_object_get(call->asks.answers, key);

	return json_is_object(answer) ? answer : NULL;
}

bool mcp_answer_is_accepted(const struct mcp_call *call, const char *key)
{
	const char *action = json_text(mcp_answer(call, key), "action");

	return action != NULL && strcmp(action, "accept") == 0;
}

/* --- asking --- */

void call_respond_unable(struct mcp_call *call, unsigned abilities)
{
	json_t *required = describe_abilities(abilities);
	AUTO_FREE char *text = NULL;
	size_t len;

	text = json_write(required, &len);
	if (!is_stateless(call)) {
		struct error err;

		(void)error_set(&err, ERR_UNSUPPORTED,
		                "this needs a client with the capabilities %s", text);
		json_decref(required);
		mcp_respond_tool_error(call, &err);
		return;
	}
	call_respond_error(call, RPC_MISSING_CAPABILITY,
	                   json_pair("requiredCapabilities", required),
	                   "this needs a client with the capabilities %s", text);
}

static void respond_input_required(struct mcp_call *call)
{
	const struct request_state_scope scope = state_scope(call, call->identity);
	const struct request_state state = { .until_ms = scope.now_ms + REQUEST_STATE_MS,
		                             .round = call->asks.round,
		                             .answers = call->asks.answers };
	AUTO_FREE char *text = request_state_encode(&call->server->state_key, &scope, &state);
	struct error err;
	json_t *result;

	if (strlen(text) > REQUEST_STATE_MAX) {
		(void)error_set(&err, ERR_LIMIT, "the answers so far have more than %d bytes",
		                REQUEST_STATE_MAX / 2);
		mcp_respond_tool_error(call, &err);
		return;
	}
	result = json_obj();
	json_set(result, "resultType", json_str("input_required"));
	json_set(result, "inputRequests", json_incref(call->asks.questions));
	json_set(result, "requestState", json_str(text));
	call_respond(call, result);
}

static void ask_client(struct mcp_call *call)
{
	struct error err;

	if ((call->asks.kinds & ~call->abilities) != 0) {
		call_respond_unable(call, call->asks.kinds & ~call->abilities);
	} else if (++call->asks.round > ROUNDS_MAX) {
		(void)error_set(&err, ERR_LIMIT,
		                "the client was asked %d times without a valid answer", ROUNDS_MAX);
		mcp_respond_tool_error(call, &err);
	} else if (call->server == NULL || call->cancelled) {
		call_end_without_response(call);
	} else if (!is_stateless(call)) {
		ask_requests_send(call);
	} else if (call->task != NULL) {
		ask_wait(call);
		task_set_status(call->task, TASK_INPUT_REQUIRED);
	} else {
		respond_input_required(call);
	}
}

bool mcp_await_answers(struct mcp_call *call)
{
	assert(call->handler != NULL); /* called from a handler, which is entered again */
	if (json_object_size(call->asks.questions) == 0)
		return true;
	ask_client(call);
	return false;
}

static void respond_pages_required(struct mcp_call *call)
{
	json_t *pages = json_list(), *question;
	const char *key;
	char id[32];

	json_object_foreach (call->asks.questions, key, question) {
		json_t *page = json_copy(json_object_get(question, "params"));

		(void)snprintf(id, sizeof id, "ask-%u", ++call->session->ask_count);
		json_set(page, "elicitationId", json_str(id));
		json_push(pages, page);
	}
	call_respond_error(call, RPC_PAGES_REQUIRED, json_pair("elicitations", pages),
	                   "the user has to complete a page first; open it, then call again");
}

bool mcp_require_pages(struct mcp_call *call)
{
	assert((call->asks.kinds & ~(unsigned)CLIENT_URL) == 0);
	if (!mcp_revision_has(call->revision, MCP_PAGE_ERRORS) ||
	    (call->asks.kinds & ~call->abilities) != 0 || call->session == NULL || call->cancelled)
		return mcp_await_answers(call);
	if (json_object_size(call->asks.questions) == 0)
		return true;
	respond_pages_required(call);
	return false;
}

/* Answers that are not valid and unknown keys are ignored: the question stays open. */
void asks_take_responses(struct mcp_call *call, const json_t *responses)
{
	json_t *question;
	const char *key;
	void *next;

	json_object_foreach_safe(call->asks.questions, next, key, question)
	{
		json_t *value = json_object_get(responses, key);

		if (!question_accepts(question_kind(question), json_object_get(question, "params"),
		                      value))
			continue;
		json_set(call->asks.answers, key, json_incref(value));
		(void)json_object_del(call->asks.questions, key);
	}
	if (json_object_size(call->asks.questions) == 0)
		asks_resume(call);
}

void asks_resume(struct mcp_call *call)
{
	struct error err;

	(void)json_object_clear(call->asks.questions);
	call->asks.kinds = 0;
	call->on_cancel = NULL;
	if (call->asks.timer != NULL)
		loop_timer_stop(call->asks.timer);
	if (call->task != NULL)
		task_set_status(call->task, TASK_WORKING);
	if (call->handler(call, call->args, &err) < 0)
		mcp_respond_tool_error(call, &err);
}
