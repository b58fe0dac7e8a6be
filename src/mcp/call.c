#include "mcp/call.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "loop/loop.h"
#include "mcp/envelope.h"
#include "mcp/internal.h"

/* Progress: a burst of this many at once, then one in a hundred milliseconds. */
enum { PROGRESS_BURST = 10, PROGRESS_EVERY_MS = 100, PROGRESS_TEXT_MAX = 200 };

struct mcp_call *call_new(struct mcp_session *session, struct mcp_batch *batch,
                          const struct rpc_message *rpc)
{
	struct mcp_call *call = mem_new(sizeof *call);

	call->session = session;
	call->server = session->server;
	call->loop = session->server->loop;
	call->app = session->server->config.app;
	call->batch = batch;
	call->id = json_incref(rpc->id);
	call->method = rpc->method;
	call->params = rpc->params;
	call->revision = session->revision;
	call->level = session->level;
	call->progress_token = json_incref(envelope_progress_token(rpc->params));
	call->progress_sent = -1;
	call->progress_budget = PROGRESS_BURST;
	call->progress_at_ms = clock_now_ms();
	list_add(&session->server->calls, &call->node);
	list_add(&session->calls, &call->in_session);
	session->call_count++;
	if (batch != NULL)
		batch_expect(batch);
	return call;
}

static void free_call(void *ctx)
{
	struct mcp_call *call = ctx;

	arena_done(&call->arena);
	json_decref(call->id);
	json_decref(call->progress_token);
	json_decref(call->arguments);
	mem_trim(call->held_bytes);
	free(call);
}

static void end(struct mcp_call *call)
{
	struct mcp_server *server = call->server;

	if (call->session != NULL)
		session_end_call(call->session, call);
	list_remove(&call->node);
	loop_defer(call->loop, free_call, call);
	if (server != NULL && list_is_empty(&server->calls) && server->idle != NULL) {
		void (*idle)(void *) = server->idle;

		server->idle = NULL;
		idle(server->idle_ctx);
	}
}

/* The only way out: `answer` is NULL when nobody is to hear it. */
static void answer_with(struct mcp_call *call, json_t *answer)
{
	assert(!call->answered); /* a handler answered twice, or answered and returned -1 */
	call->answered = true;
	if (call->cancelled)
		json_decref(answer);
	else if (call->batch != NULL)
		batch_settle(call->batch, call->id, answer);
	else if (answer != NULL)
		session_answer(call->session, call->id, answer);
	end(call);
}

void call_drop(struct mcp_call *call)
{
	answer_with(call, NULL);
}

void call_orphan(struct mcp_call *call)
{
	assert(call->session == NULL);
	list_remove(&call->node);
	call->server = NULL;
}

/* A result of the stateless era says that it is one, and whose. */
static void stamp(const struct mcp_call *call, json_t *result)
{
	json_t *meta = json_member(result, "_meta", JSON_OBJECT);

	if (!mcp_revision_has(call->revision, MCP_STATELESS))
		return;
	if (meta == NULL) {
		meta = json_obj();
		json_set(result, "_meta", meta);
	}
	json_set(result, "resultType", json_str("complete"));
	json_set(meta, MCP_META_SERVER_INFO, describe_server(call->server, call->revision, true));
}

void call_reply(struct mcp_call *call, json_t *result)
{
	if (!call->cancelled)
		stamp(call, result);
	answer_with(call, rpc_result(call->id, result));
}

void call_refuse(struct mcp_call *call, enum rpc_code code, json_t *data, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	answer_with(call, rpc_error(call->id, code, text, data));
}

void call_refuse_error(struct mcp_call *call, const struct error *err)
{
	bool missing = err->kind == ERR_NOT_FOUND && call->uri != NULL;
	enum rpc_code code = err->kind == ERR_SYSTEM ? RPC_INTERNAL_ERROR : RPC_INVALID_PARAMS;
	json_t *data = NULL;

	if (missing) {
		data = json_obj();
		json_set(data, "uri", json_str(call->uri));
		if (!mcp_revision_has(call->revision, MCP_STATELESS))
			code = RPC_RESOURCE_NOT_FOUND;
	}
	call_refuse(call, code, data, "%s", err->msg);
}

/* The handler hears of it last: it may answer, and so end the call, from within. Until it
 * does, the call counts as one in progress, or cancelling would be a way around limits. */
void call_cancel(struct mcp_call *call)
{
	if (call->cancelled)
		return;
	call->cancelled = true;
	if (call->batch != NULL)
		batch_settle(call->batch, call->id, NULL);
	if (call->on_cancel != NULL)
		call->on_cancel(call, call->cancel_ctx);
}

bool call_arguments(struct mcp_call *call, json_t **ret)
{
	json_t *arguments = json_object_get(call->params, "arguments");

	if (arguments != NULL && !json_is_object(arguments) && !json_is_null(arguments)) {
		call_refuse(call, RPC_INVALID_PARAMS, NULL, "'arguments' must be an object");
		return false;
	}
	*ret = json_is_object(arguments) ? arguments : NULL;
	return true;
}

/* One more call in progress, if the session has room for it and for its message. */
static bool take_place(struct mcp_call *call)
{
	const struct mcp_limits *limits = &call->server->config.limits;
	struct mcp_session *session = call->session;

	if (session->call_count > limits->max_calls) {
		call_refuse(
		        call, RPC_INTERNAL_ERROR, NULL,
		        "%zu calls are in progress (max_calls); wait for one to end or cancel it",
		        limits->max_calls);
		return false;
	}
	if (session->message_bytes > limits->max_held - session->held_bytes) {
		call_refuse(
		        call, RPC_INTERNAL_ERROR, NULL,
		        "the messages of calls in progress have more than %zu bytes (max_held); "
		        "wait for one to end or cancel it",
		        limits->max_held);
		return false;
	}
	call->held_bytes = session->message_bytes;
	session->held_bytes += call->held_bytes;
	return true;
}

void call_handle(struct mcp_call *call, const struct param *params, size_t args_size,
                 json_t *arguments, mcp_handler_fn *handler)
{
	void *args = arena_new(&call->arena, 1, args_size);
	struct error err;

	if (!take_place(call))
		return;
	call->arguments = json_incref(arguments);
	if (param_decode(params, arguments, &call->arena, args, &err) < 0 ||
	    handler(call, args, &err) < 0)
		mcp_respond_tool_error(call, &err);
}

void mcp_call_on_cancel(struct mcp_call *call, mcp_cancel_fn *fn, void *ctx)
{
	assert(call->on_cancel == NULL);
	call->on_cancel = fn;
	call->cancel_ctx = ctx;
}

bool mcp_call_is_cancelled(const struct mcp_call *call)
{
	return call->cancelled;
}

void *mcp_call_app(const struct mcp_call *call)
{
	return call->app;
}

struct loop *mcp_call_loop(const struct mcp_call *call)
{
	return call->loop;
}

const void *mcp_call_record(const struct mcp_call *call)
{
	return call->record;
}

/* A bucket that fills with time, so that short bursts get through. */
static bool take_progress_budget(struct mcp_call *call)
{
	uint64_t now = clock_now_ms();

	call->progress_budget += (double)(now - call->progress_at_ms) / PROGRESS_EVERY_MS;
	call->progress_at_ms = now;
	if (call->progress_budget > PROGRESS_BURST)
		call->progress_budget = PROGRESS_BURST;
	if (call->progress_budget < 1)
		return false;
	call->progress_budget -= 1;
	return true;
}

static bool is_heard(const struct mcp_call *call)
{
	return !call->cancelled && !call->session->sink->is_busy(call->session->sink);
}

void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *fmt, ...)
{
	char text[PROGRESS_TEXT_MAX + 1];
	json_t *params;
	va_list args;

	if (call->progress_token == NULL || !is_heard(call) || !isfinite(progress) ||
	    progress <= call->progress_sent || !take_progress_budget(call))
		return;
	call->progress_sent = progress;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	params = json_obj();
	json_set(params, "progressToken", json_incref(call->progress_token));
	json_set(params, "progress", json_num(progress));
	if (total > 0 && isfinite(total))
		json_set(params, "total", json_num(total));
	if (text[0] != '\0' && mcp_revision_has(call->revision, MCP_PROGRESS_MESSAGES)) {
		struct view shown = view_of(text);

		shown.len = utf8_prefix(text, shown.len, PROGRESS_TEXT_MAX);
		json_set(params, "message", json_str_view(shown));
	}
	session_notify(call->session, "notifications/progress", params);
}

void mcp_call_log(struct mcp_call *call, enum mcp_level level, const char *logger, const char *fmt,
                  ...)
{
	AUTO_FREE char *text = NULL;
	json_t *params;
	va_list args;

	/* A handshake's level may have changed since the call began. */
	if (!is_heard(call) ||
	    level < (mcp_revision_has(call->revision, MCP_STATELESS) ? call->level
	                                                             : call->session->level))
		return;
	va_start(args, fmt);
	text = mem_vformat(fmt, args);
	va_end(args);
	params = json_obj();
	json_set(params, "level", json_str(mcp_level_name(level)));
	json_set_text(params, "logger", logger);
	json_set(params, "data", json_str(text));
	session_notify(call->session, "notifications/message", params);
}
