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
#include "mcp/internal.h"
#include "mcp/request_meta.h"

/* The token bucket of notifications/progress: a burst, then one notification per interval. */
enum { PROGRESS_BURST = 10, PROGRESS_INTERVAL_MS = 100, PROGRESS_TEXT_MAX = 1000 };

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
	call->progress_token = json_incref(request_meta_progress_token(rpc->params));
	call->last_progress = -1;
	call->progress_allowance = PROGRESS_BURST;
	call->progress_at_ms = clock_now_ms();
	list_add(&session->server->calls, &call->server_node);
	list_add(&session->calls, &call->session_node);
	session->call_count++;
	if (batch != NULL)
		batch_add_request(batch);
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

static void end_call(struct mcp_call *call)
{
	struct mcp_server *server = call->server;

	if (call->session != NULL)
		session_remove_call(call->session, call);
	list_remove(&call->server_node);
	loop_defer(call->loop, free_call, call);
	if (server != NULL && list_is_empty(&server->calls) && server->on_idle != NULL) {
		void (*on_idle)(void *) = server->on_idle;

		server->on_idle = NULL;
		on_idle(server->idle_ctx);
	}
}

/* Every call ends here. `response`: NULL if none is sent. */
static void send_response(struct mcp_call *call, json_t *response)
{
	assert(!call->responded); /* a handler responded twice, or responded and returned -1 */
	call->responded = true;
	if (call->cancelled)
		json_decref(response);
	else if (call->batch != NULL)
		batch_add_response(call->batch, call->id, response);
	else if (response != NULL)
		session_respond(call->session, call->id, response);
	end_call(call);
}

void call_end_without_response(struct mcp_call *call)
{
	send_response(call, NULL);
}

void call_detach_server(struct mcp_call *call)
{
	assert(call->session == NULL);
	list_remove(&call->server_node);
	call->server = NULL;
}

/* Results of the stateless era carry resultType and the server's info. */
static void set_stateless_fields(const struct mcp_call *call, json_t *result)
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

void call_respond(struct mcp_call *call, json_t *result)
{
	if (!call->cancelled)
		set_stateless_fields(call, result);
	send_response(call, rpc_result(call->id, result));
}

void call_respond_error(struct mcp_call *call, enum rpc_code code, json_t *data, const char *fmt,
                        ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	send_response(call, rpc_error(call->id, code, text, data));
}

void call_respond_failure(struct mcp_call *call, const struct error *err)
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
	call_respond_error(call, code, data, "%s", err->msg);
}

/* on_cancel is called last, because it may respond and so end the call. Until the handler
 * responds, the call counts against max_calls: otherwise a client could start any number of calls
 * by cancelling. */
void call_cancel(struct mcp_call *call)
{
	if (call->cancelled)
		return;
	call->cancelled = true;
	if (call->batch != NULL)
		batch_add_response(call->batch, call->id, NULL);
	if (call->on_cancel != NULL)
		call->on_cancel(call, call->cancel_ctx);
}

bool call_get_arguments(struct mcp_call *call, json_t **ret)
{
	json_t *arguments = json_object_get(call->params, "arguments");

	if (arguments != NULL && !json_is_object(arguments) && !json_is_null(arguments)) {
		call_respond_error(call, RPC_INVALID_PARAMS, NULL, "'arguments' must be an object");
		return false;
	}
	*ret = json_is_object(arguments) ? arguments : NULL;
	return true;
}

/* Counts the request against max_calls and max_held. Returns false if it has sent an error
 * instead. */
static bool reserve_limits(struct mcp_call *call)
{
	const struct mcp_limits *limits = &call->server->config.limits;
	struct mcp_session *session = call->session;

	if (session->call_count > limits->max_calls) {
		call_respond_error(
		        call, RPC_INTERNAL_ERROR, NULL,
		        "%zu calls are in progress (max_calls); wait for one to end or cancel it",
		        limits->max_calls);
		return false;
	}
	if (session->message_bytes > limits->max_held - session->held_bytes) {
		call_respond_error(
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

void call_run_handler(struct mcp_call *call, const struct param *params, size_t args_size,
                      json_t *arguments, mcp_handler_fn *handler)
{
	void *args = arena_new(&call->arena, 1, args_size);
	struct error err;

	if (!reserve_limits(call))
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

/* A token bucket limits the rate: bursts pass, the average does not exceed the limit. */
static bool take_progress_allowance(struct mcp_call *call)
{
	uint64_t now = clock_now_ms();

	call->progress_allowance += (double)(now - call->progress_at_ms) / PROGRESS_INTERVAL_MS;
	call->progress_at_ms = now;
	if (call->progress_allowance > PROGRESS_BURST)
		call->progress_allowance = PROGRESS_BURST;
	if (call->progress_allowance < 1)
		return false;
	call->progress_allowance -= 1;
	return true;
}

/* Progress and log messages are dropped when the client reads too slowly. */
static bool accepts_notifications(const struct mcp_call *call)
{
	return !call->cancelled && !call->session->sink->is_busy(call->session->sink);
}

void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *fmt, ...)
{
	char text[PROGRESS_TEXT_MAX + 1];
	json_t *params;
	va_list args;

	if (call->progress_token == NULL || !accepts_notifications(call) || !isfinite(progress) ||
	    progress <= call->last_progress || !take_progress_allowance(call))
		return;
	call->last_progress = progress;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	params = json_obj();
	json_set(params, "progressToken", json_incref(call->progress_token));
	json_set(params, "progress", json_num(progress));
	if (total > 0 && isfinite(total))
		json_set(params, "total", json_num(total));
	if (text[0] != '\0' && mcp_revision_has(call->revision, MCP_PROGRESS_MESSAGES)) {
		struct view cut = view_of(text);

		cut.len = utf8_prefix(text, cut.len, PROGRESS_TEXT_MAX);
		json_set(params, "message", json_str_view(cut));
	}
	session_notify(call->session, "notifications/progress", params);
}

void mcp_call_log(struct mcp_call *call, enum mcp_level level, const char *logger, const char *fmt,
                  ...)
{
	AUTO_FREE char *text = NULL;
	json_t *params;
	va_list args;

	/* In the handshake era logging/setLevel may have changed the level since the call began. */
	if (!accepts_notifications(call) ||
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
