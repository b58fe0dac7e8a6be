#include "mcp/call.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "loop/loop.h"
#include "mcp/internal.h"
#include "mcp/request_meta.h"

/* The token bucket of notifications/progress: a burst, then one notification per interval. */
enum { PROGRESS_BURST = 10, PROGRESS_INTERVAL_MS = 100, PROGRESS_TEXT_MAX = 1000 };

struct mcp_call *call_new(struct mcp_session *session, const struct call_origin *origin,
                          const struct rpc_message *rpc)
{
	struct mcp_call *call = mem_new(sizeof *call);

	call->session = session;
	call->server = session->server;
	call->loop = session->server->loop;
	call->app = session->server->config.app;
	call->batch = origin->batch;
	call->exchange = origin->exchange;
	call->sink = origin->exchange != NULL ? origin->exchange->sink : session->sink;
	call->owner = arena_text(&call->arena, session->owner);
	call->scopes = session->scopes;
	call->may_have_roots = session->may_have_roots;
	memcpy(call->language, session->language, sizeof call->language);
	call->abilities = session->abilities;
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
	if (origin->batch != NULL)
		batch_add_request(origin->batch);
	if (origin->exchange != NULL)
		exchange_hold(origin->exchange);
	return call;
}

static void free_call(void *ctx)
{
	struct mcp_call *call = ctx;

	asks_done(call);
	arena_done(&call->arena);
	json_decref(call->id);
	json_decref(call->progress_token);
	json_decref(call->arguments);
	json_decref(call->identity);
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

const struct mcp_headers *call_headers(const struct mcp_call *call)
{
	return call->exchange != NULL ? call->exchange->headers : NULL;
}

/* The sink of the exchange must not be used after this: its transport may have freed it. */
static void leave_exchange(struct mcp_call *call)
{
	struct mcp_exchange *exchange = call->exchange;

	call->exchange = NULL;
	call->sink = NULL;
	if (exchange != NULL)
		exchange_release(exchange);
}

static void send_to_client(struct mcp_call *call, json_t *response)
{
	size_t len;
	AUTO_FREE char *text = session_encode_response(call->session, call->id, response, &len);

	call->sink->send(call->sink, &(struct mcp_message){ .text = { text, len },
	                                                    .kind = MCP_RESPONSE,
	                                                    .outcome = call->outcome,
	                                                    .scope = call->missing_scope });
}

/* Every call ends here. `response`: NULL if none is sent. */
static void send_response(struct mcp_call *call, json_t *response)
{
	assert(!call->responded); /* a handler responded twice, or responded and returned -1 */
	call->responded = true;
	if (call->task != NULL)
		task_finish(call->task, response);
	else if (call->cancelled)
		json_decref(response);
	else if (call->batch != NULL)
		batch_add_response(call->batch, call->id, response);
	else if (response != NULL)
		send_to_client(call, response);
	leave_exchange(call);
	end_call(call);
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
	if (!json_has(result, "resultType"))
		json_set(result, "resultType", json_str("complete"));
	json_set(meta, MCP_META_SERVER_INFO, describe_server(call->server, call->revision, true));
}

/* The work of a task of the stateless era outlasts the connection of its request. Other tasks end
 * with their session. */
void call_respond_early(struct mcp_call *call, json_t *result)
{
	bool is_stateless = mcp_revision_has(call->revision, MCP_STATELESS);
	bool has_exchange = call->exchange != NULL;

	set_stateless_fields(call, result);
	send_to_client(call, rpc_result(call->id, result));
	leave_exchange(call);
	if (!is_stateless)
		call->sink = call->session->sink;
	else if (has_exchange) {
		session_remove_call(call->session, call);
		call->session = NULL;
	}
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

void call_respond(struct mcp_call *call, json_t *result)
{
	if (!call->cancelled)
		set_stateless_fields(call, result);
	send_response(call, rpc_result(call->id, result));
}

/* Over HTTP, these errors of the stateless era have a status of their own. */
static void set_outcome(struct mcp_call *call, enum rpc_code code)
{
	if (call->outcome != MCP_OUTCOME_OK)
		return;
	if (code == RPC_HEADER_MISMATCH || code == RPC_UNSUPPORTED_VERSION ||
	    code == RPC_BAD_VERSION_HEADER || code == RPC_MISSING_CAPABILITY ||
	    code == RPC_INVALID_REQUEST)
		call->outcome = MCP_OUTCOME_BAD_REQUEST;
	else if (code == RPC_METHOD_NOT_FOUND && mcp_revision_has(call->revision, MCP_STATELESS))
		call->outcome = MCP_OUTCOME_NOT_FOUND;
}

void call_respond_error(struct mcp_call *call, enum rpc_code code, json_t *data, const char *fmt,
                        ...)
{
	char text[512];
	va_list args;

	set_outcome(call, code);

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
		data = json_pair("uri", json_str(call->uri));
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
	leave_exchange(call);
	if (call->on_cancel != NULL)
		call->on_cancel(call, call->cancel_ctx);
}

bool call_check_scope(struct mcp_call *call, enum mcp_scope scope)
{
	if ((call->scopes & scope) == scope)
		return true;
	call->outcome = MCP_OUTCOME_FORBIDDEN;
	call->missing_scope = scope;
	call_respond_error(
	        call, RPC_INVALID_REQUEST, NULL,
	        "this needs the scope '%s', which the token of this client does not have",
	        mcp_scope_name(scope));
	return false;
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

bool call_reserve_limits(struct mcp_call *call)
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

/* Of 2025-11-25: the client has asked for a task. */
static bool start_wanted_task(struct mcp_call *call)
{
	if (!call->wants_task || task_start(call, call->task_ttl_ms))
		return true;
	call_respond_error(call, RPC_INTERNAL_ERROR, NULL,
	                   "you have %zu tasks (max_tasks); they are deleted when their time is "
	                   "over: call without 'task'",
	                   call->server->config.limits.max_tasks);
	return false;
}

bool mcp_call_start_task(struct mcp_call *call)
{
	const struct mcp_tool *tool = call->is_tool ? call->record : NULL;

	if (call->task != NULL)
		return true;
	return tool != NULL && tool->task != MCP_TASK_NEVER && !call->cancelled &&
	       (call->abilities & CLIENT_TASKS) != 0 && task_start(call, 0);
}

bool mcp_call_is_task(const struct mcp_call *call)
{
	return call->task != NULL;
}

void call_run_handler(struct mcp_call *call, const struct param *params, size_t args_size,
                      json_t *arguments, mcp_handler_fn *handler)
{
	struct error err;

	if (!call_reserve_limits(call) || !asks_begin(call) || !start_wanted_task(call))
		return;
	call->arguments = json_incref(arguments);
	call->handler = handler;
	call->args = arena_new(&call->arena, 1, args_size);
	if (param_decode(params, arguments, &call->arena, call->args, &err) < 0) {
		if (call->is_tool)
			tools_name_shown(call, &err);
		mcp_respond_tool_error(call, &err);
	} else if (handler(call, call->args, &err) < 0)
		mcp_respond_tool_error(call, &err);
}

void mcp_call_on_cancel(struct mcp_call *call, mcp_cancel_fn *fn, void *ctx)
{
	assert(call->on_cancel == NULL || fn == NULL);
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

const char *mcp_call_owner(const struct mcp_call *call)
{
	return call->owner;
}

bool mcp_call_has_roots(const struct mcp_call *call)
{
	return call->may_have_roots;
}

const char *mcp_call_language(const struct mcp_call *call)
{
	return call->language;
}

bool mcp_call_close_stream(struct mcp_call *call)
{
	if (call->sink == NULL || call->sink->close_stream == NULL)
		return false;
	call->sink->close_stream(call->sink);
	return true;
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
	return call->sink != NULL && !call->cancelled && !call->sink->is_busy(call->sink);
}

/* Messages about a task name it. */
static json_t *new_call_params(const struct mcp_call *call)
{
	return call->task != NULL ? json_pair("_meta", task_related_meta(call->task)) : json_obj();
}

static void send_progress(struct mcp_call *call, double progress, double total, struct view text)
{
	json_t *params = new_call_params(call);

	call->last_progress = progress;
	json_set(params, "progressToken", json_incref(call->progress_token));
	json_set(params, "progress", json_num(progress));
	if (total > 0 && isfinite(total))
		json_set(params, "total", json_num(total));
	if (text.len != 0 && mcp_revision_has(call->revision, MCP_PROGRESS_MESSAGES))
		json_set(params, "message", json_str_view(text));
	session_notify(call->session, call->sink, "notifications/progress", params);
}

void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *fmt, ...)
{
	bool is_wanted = call->progress_token != NULL && accepts_notifications(call);
	char text[PROGRESS_TEXT_MAX + 1];
	va_list args;

	if ((!is_wanted && call->task == NULL) || !isfinite(progress) ||
	    progress <= call->last_progress || !take_progress_allowance(call))
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	text[utf8_prefix(text, strlen(text), PROGRESS_TEXT_MAX)] = '\0';
	if (call->task != NULL)
		task_set_message(call->task, text);
	if (is_wanted)
		send_progress(call, progress, total, view_of(text));
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
	params = new_call_params(call);
	json_set(params, "level", json_str(mcp_level_name(level)));
	json_set_text(params, "logger", logger);
	json_set(params, "data", json_str(text));
	session_notify(call->session, call->sink, "notifications/message", params);
}
