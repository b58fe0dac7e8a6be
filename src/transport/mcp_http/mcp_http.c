/* mcp_http.c - the life of the object, and the checks that every request passes. */
#include "transport/mcp_http/mcp_http.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "transport/mcp_http/internal.h"

const struct mcp_http_limits mcp_http_default_limits = {
	.max_sessions = 16384,
	.max_owner_sessions = 8192,
	.session_idle_ms = 30 * 60 * 1000,
	.max_events = 1024,
	.max_event_bytes = 16 * 1024 * 1024,
	.max_owner_bytes = 64 * 1024 * 1024,
	.max_kept_bytes = 256 * 1024 * 1024,
	.events_kept_ms = 60 * 1000,
	.silence_ms = 1000,
	.retry_ms = 1000,
};

const char *const mcp_http_single_fields[] = {
	"mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name",
	"mcp-param-*",    "last-event-id",        NULL,
};

/* For close_opened() and find_alone(): what was opened with any credential. */
static const uint64_t *const any_credential = NULL;

static void ignore_message(struct mcp_sink *sink, const struct mcp_message *message)
{
	(void)sink, (void)message;
}

static bool is_always_busy(struct mcp_sink *sink)
{
	(void)sink;
	return true;
}

static void close_opened(struct mcp_http *http, const uint64_t *wanted);

static void on_silence(void *ctx)
{
	event_streams_check_silence(ctx);
}

static void on_expiry(void *ctx)
{
	http_sessions_expire(ctx);
}

/* All calls are finished, or the grace period is over. */
static void finish_stop(void *ctx)
{
	struct mcp_http *http = ctx;
	void (*stopped)(void *) = http->stopped;

	http->stopped = NULL;
	close_opened(http, any_credential);
	stopped(http->stopped_ctx);
}

struct mcp_http *mcp_http_new(struct loop *loop, const struct mcp_http_config *config)
{
	struct mcp_http *http = mem_new(sizeof *http);

	http->loop = loop;
	http->config = *config;
	http->no_sink = (struct mcp_sink){ ignore_message, is_always_busy, NULL, NULL };
	http->expiry_at_ms = UINT64_MAX;
	list_init(&http->sessions);
	list_init(&http->owners);
	list_init(&http->streams);
	list_init(&http->waiting);
	list_init(&http->finished);
	for (size_t i = 0; i < SESSION_BUCKETS; i++)
		list_init(&http->buckets[i]);
	http->silence_timer = loop_timer_new(loop, on_silence, http);
	http->expiry_timer = loop_timer_new(loop, on_expiry, http);
	http->grace_timer = loop_timer_new(loop, finish_stop, http);
	return http;
}

struct mcp_http *mcp_http_free(struct mcp_http *http)
{
	if (http == NULL)
		return NULL;
	close_opened(http, any_credential);
	loop_run_deferred(http->loop); /* streams of stateless requests */
	(void)loop_timer_free(http->silence_timer);
	(void)loop_timer_free(http->expiry_timer);
	(void)loop_timer_free(http->grace_timer);
	free(http);
	return NULL;
}

size_t mcp_http_sessions(const struct mcp_http *http)
{
	return http->session_count;
}

/* --- closing --- */

static bool is_opened_with(uint64_t credential, const uint64_t *wanted)
{
	return wanted == any_credential || credential == *wanted;
}

static struct http_session *find_opened_session(const struct mcp_http *http, const uint64_t *wanted)
{
	LIST_EACH (node, &http->sessions) {
		struct http_session *session = container_of(node, struct http_session, node);

		if (is_opened_with(session->credential, wanted))
			return session;
	}
	return NULL;
}

/* A stateless stream; with `only_listen`, one that never finishes by itself. */
static struct event_stream *find_alone(const struct mcp_http *http, const uint64_t *wanted,
                                       bool only_listen)
{
	LIST_EACH (node, &http->streams) {
		struct event_stream *stream = container_of(node, struct event_stream, node);

		if (stream->own != NULL && (stream->is_listen || !only_listen) &&
		    is_opened_with(stream->credential, wanted))
			return stream;
	}
	return NULL;
}

/* Closing one may finish others, so each search begins at the front. */
static void close_opened(struct mcp_http *http, const uint64_t *wanted)
{
	struct http_session *session;
	struct event_stream *stream;

	while ((session = find_opened_session(http, wanted)) != NULL)
		http_session_close(session);
	while ((stream = find_alone(http, wanted, false)) != NULL)
		event_stream_close_alone(stream);
}

void mcp_http_close_credential(struct mcp_http *http, uint64_t credential)
{
	close_opened(http, &credential);
}

void mcp_http_check_stopped(struct mcp_http *http)
{
	if (http->stopped != NULL && list_is_empty(&http->streams))
		loop_timer_start(http->grace_timer, 0);
}

void mcp_http_stop(struct mcp_http *http, uint64_t grace_ms, void (*stopped)(void *ctx), void *ctx)
{
	struct event_stream *stream;

	if (http->stopping)
		return;
	http->stopping = true;
	http->stopped = stopped;
	http->stopped_ctx = ctx;
	while ((stream = find_alone(http, any_credential, true)) != NULL)
		event_stream_close_alone(stream);
	LIST_EACH (node, &http->sessions) {
		struct http_session *session = container_of(node, struct http_session, node);

		if (!session->is_sse)
			event_stream_disconnect(&session->main);
	}
	loop_timer_start(http->grace_timer, grace_ms);
	mcp_http_check_stopped(http);
}

/* --- requests --- */

static void answer_health(const struct mcp_http *http, struct http_request *request,
                          enum endpoint endpoint)
{
	const char *why = NULL;
	json_t *body = json_obj();

	if (endpoint == ENDPOINT_READY) {
		why = http->stopping ? "the server is being stopped" : NULL;
		if (why == NULL && http->config.why_not_ready != NULL)
			why = http->config.why_not_ready(http->config.ctx);
	}
	json_set_text(body, "status", why == NULL ? "ok" : "not ready");
	json_set_text(body, "reason", why);
	answer_json(http, request, why == NULL ? 200 : 503, body);
}

static void dispatch_request(const struct incoming *incoming)
{
	switch (incoming->endpoint) {
	case ENDPOINT_MCP:
		if (http_method(incoming->request) == HTTP_POST)
			post_mcp(incoming);
		else if (http_method(incoming->request) == HTTP_GET)
			get_mcp(incoming);
		else
			delete_mcp(incoming);
		break;
	case ENDPOINT_SSE:
		get_sse(incoming);
		break;
	case ENDPOINT_MESSAGES:
		post_messages(incoming);
		break;
	case ENDPOINT_HEALTH:
	case ENDPOINT_READY:
		answer_health(incoming->http, incoming->request, incoming->endpoint);
		break;
	}
}

/* Sets incoming->caller. False: the request was answered. */
static bool admit_caller(struct incoming *incoming)
{
	const struct mcp_http_config *config = &incoming->http->config;
	struct mcp_http_identity identity = { .caller = config->caller };

	if (incoming->http->stopping) {
		answer_error(incoming->http, incoming->request, 503, ANSWER_TRANSPORT,
		             "The server is being stopped.");
		return false;
	}
	if (config->authenticate != NULL)
		config->authenticate(config->ctx, incoming->request, &identity);
	if (identity.refusal != 0) {
		answer_refusal(incoming->http, incoming->request, &identity);
		return false;
	}
	incoming->caller = identity.caller;
	incoming->credential = identity.credential;
	mcp_caller_set_language(&incoming->caller, http_get(incoming->request, "accept-language"));
	return true;
}

static void receive_mcp_request(struct incoming *incoming)
{
	if (admit_caller(incoming))
		dispatch_request(incoming);
}

/* Where there are several servers, the answer lists them: a wrong name of one is the usual
 * mistake. */
static void answer_not_found(const struct mcp_http *http, struct http_request *request)
{
	const struct mcp_http_config *config = &http->config;
	json_t *body = json_obj(), *paths = json_list();

	json_set_text(body, "error", "not found");
	for (size_t i = 0; i < config->mount_count; i++)
		json_push(paths, json_format("%s/mcp", config->mounts[i].prefix));
	if (config->mount_count > 1)
		json_set(body, "servers", json_incref(paths));
	json_decref(paths);
	answer_json(http, request, 404, body);
}

/* A path that is not MCP's: a mount may answer it itself. Who calls is checked first, so that only
 * callers learn which paths there are. */
static void receive_other_request(struct incoming *incoming)
{
	const struct mcp_http_config *config = &incoming->http->config;
	const char *path = http_path(incoming->request);

	for (size_t i = config->mount_count;
	     i-- > 0 && http_method(incoming->request) == HTTP_GET;) {
		const struct mcp_http_mount *mount = &config->mounts[i];
		size_t len = strlen(mount->prefix);

		if (mount->serve == NULL || strncmp(path, mount->prefix, len) != 0 ||
		    path[len] != '/')
			continue;
		if (!admit_caller(incoming) ||
		    mount->serve(mount->ctx, incoming->request, &incoming->caller, path + len))
			return;
		break;
	}
	answer_not_found(incoming->http, incoming->request);
}

/* A page that a sandbox serves has an Origin of its own, and a link as its proof instead. */
static bool receive_port_request(struct mcp_http *http, struct http_request *request)
{
	const struct mcp_http_config *config = &http->config;

	if (config->serve_port == NULL || strncmp(http_path(request), "/ports/", 7) != 0)
		return false;
	if (!guard_allows_peer(config, request))
		answer_error(http, request, 403, ANSWER_TRANSPORT, guard_check(config, request));
	else if (http->stopping)
		answer_error(http, request, 503, ANSWER_TRANSPORT, "The server is being stopped.");
	else
		config->serve_port(config->ctx, request, guard_check(config, request));
	return true;
}

void mcp_http_request(void *ctx, struct http_request *request)
{
	struct mcp_http *http = ctx;
	struct incoming incoming = { .http = http, .request = request };
	const char *why = guard_check(&http->config, request);
	enum http_method method = http_method(request);

	if (receive_port_request(http, request))
		return;
	if (why != NULL)
		answer_error(http, request, 403, ANSWER_TRANSPORT, why);
	else if (!route_find(&http->config, http_path(request), &incoming.endpoint,
	                     &incoming.mount))
		receive_other_request(&incoming);
	else if (method == HTTP_OPTIONS)
		guard_answer_options(http, request, route_methods(incoming.endpoint));
	else if (!route_has_method(incoming.endpoint, method))
		answer_not_allowed(http, request, route_methods(incoming.endpoint));
	else if (incoming.mount == NULL)
		dispatch_request(&incoming);
	else
		receive_mcp_request(&incoming);
}
