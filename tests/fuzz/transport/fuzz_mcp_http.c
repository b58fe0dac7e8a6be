/* fuzz_mcp_http.c - clients of MCP over HTTP do anything in any order: start and end sessions,
 * call, cut connections, resume, while calls are answered and the server notifies and stops. Each
 * byte of the input is a step, some followed by an argument.
 *
 * The HTTP server is replaced by functions of this file. They abort if a request is used after its
 * end, and every request must be ended when all connections are closed. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "loop/loop.h"
#include "mcp/content.h"
#include "mcp/mcp_server.h"
#include "transport/mcp_http/internal.h"

enum { REQUESTS_MAX = 64, CALLS_MAX = 64, SESSIONS_MAX = 4, FIELDS_IN_MAX = 8 };

struct http_request {
	enum http_method method;
	char target[96];
	struct http_field fields[FIELDS_IN_MAX];
	size_t field_count;
	char id[SESSION_ID_LEN + 1], last_id[EVENT_ID_SIZE];
	bool is_stream, is_ended;
	void (*closed)(void *ctx);
	void *closed_ctx;
	void (*on_body)(void *ctx, struct view body);
	void *body_ctx;
};

static struct http_request *requests[REQUESTS_MAX];
static size_t request_count;
static struct mcp_call *calls[CALLS_MAX]; /* that are not answered; NULL: free */
static char session_ids[SESSIONS_MAX][SESSION_ID_LEN + 1];
static size_t next_session;
static const char *user;

/* --- transport/http/http.h --- */

enum http_method http_method(const struct http_request *request)
{
	return request->method;
}

const char *http_path(const struct http_request *request)
{
	static char path[96];

	(void)snprintf(path, sizeof path, "%.*s", (int)strcspn(request->target, "?"),
	               request->target);
	return path;
}

const char *http_query(const struct http_request *request)
{
	const char *query = strchr(request->target, '?');

	return query != NULL ? query + 1 : "";
}

const char *http_get(struct http_request *request, const char *name)
{
	fuzz_check(!request->is_ended);
	for (size_t i = 0; i < request->field_count; i++) {
		if (strcmp(request->fields[i].name, name) == 0)
			return request->fields[i].value;
	}
	return NULL;
}

const char *http_peer(const struct http_request *request, char out[HTTP_PEER_SIZE])
{
	(void)request;
	(void)snprintf(out, HTTP_PEER_SIZE, "unix");
	return out;
}

void http_read_body(struct http_request *request, void (*body)(void *ctx, struct view body),
                    void *ctx)
{
	request->on_body = body;
	request->body_ctx = ctx;
}

void http_on_close(struct http_request *request, void (*closed)(void *ctx), void *ctx)
{
	fuzz_check(!request->is_ended);
	request->closed = closed;
	request->closed_ctx = ctx;
}

/* Remembers the ids of sessions, so that later steps can use them. */
static void keep_session_id(const struct http_field *fields)
{
	for (; fields->name != NULL; fields++) {
		if (strcmp(fields->name, "Mcp-Session-Id") == 0)
			(void)snprintf(session_ids[next_session++ % SESSIONS_MAX],
			               SESSION_ID_LEN + 1, "%s", fields->value);
	}
}

void http_respond(struct http_request *request, int status, const struct http_field *fields,
                  struct view body)
{
	fuzz_check(!request->is_ended && !request->is_stream && status >= 200 && status < 600);
	(void)body;
	keep_session_id(fields);
	request->is_ended = true;
}

void http_stream_start(struct http_request *request, int status, const struct http_field *fields,
                       const char *keep_alive)
{
	fuzz_check(!request->is_ended && !request->is_stream && status == 200);
	(void)fields, (void)keep_alive;
	request->is_stream = true;
}

void http_stream_write(struct http_request *request, struct view bytes)
{
	static const char endpoint[] = "event: endpoint\ndata: /messages/?session_id=";

	fuzz_check(!request->is_ended && request->is_stream);
	if (view_starts(bytes, endpoint))
		(void)snprintf(session_ids[next_session++ % SESSIONS_MAX], SESSION_ID_LEN + 1,
		               "%.40s", bytes.ptr + sizeof endpoint - 1);
}

void http_stream_end(struct http_request *request)
{
	fuzz_check(!request->is_ended && request->is_stream);
	request->is_ended = true;
}

size_t http_queued(const struct http_request *request)
{
	fuzz_check(!request->is_ended);
	return 0;
}

/* --- the MCP server --- */

static void respond(struct mcp_call *call)
{
	json_t *content = json_list();

	json_push(content, mcp_text("done"));
	mcp_respond_content(call, content, NULL);
}

static void on_cancel(struct mcp_call *call, void *ctx)
{
	struct mcp_call **slot = ctx;

	*slot = NULL;
	respond(call);
}

/* The steps of a tool are the letters of its name: t(alk), c(lose the stream), r(espond). */
static int run_tool(struct mcp_call *call, const void *args, struct error *err)
{
	const struct mcp_tool *tool = mcp_call_record(call);

	(void)args, (void)err;
	for (const char *step = tool->name; *step != '\0'; step++) {
		if (*step == 't')
			mcp_call_log(call, MCP_LEVEL_ERROR, NULL, "words");
		else if (*step == 'c')
			(void)mcp_call_close_stream(call);
	}
	for (size_t i = 0; strchr(tool->name, 'r') == NULL && i < CALLS_MAX; i++) {
		if (calls[i] == NULL) {
			calls[i] = call;
			mcp_call_on_cancel(call, on_cancel, &calls[i]);
			return 0;
		}
	}
	respond(call);
	return 0;
}

#define TOOL(letters)                                                                              \
	(&(const struct mcp_tool){ .name = letters, .help = "A tool.", .call = run_tool })
static const char *const tool_names[] = { "r", "tr", "h", "th", "ch", "tch", "tcr", "ctr" };
static const struct mcp_tool *const tools[] = { TOOL("r"),   TOOL("tr"),  TOOL("h"),
	                                        TOOL("th"),  TOOL("ch"),  TOOL("tch"),
	                                        TOOL("tcr"), TOOL("ctr"), NULL };

/* --- steps --- */

static void authenticate(void *ctx, struct http_request *request, struct mcp_http_identity *ret)
{
	(void)ctx, (void)request;
	ret->caller = (struct mcp_caller){ .owner = user, .scopes = MCP_SCOPE_ALL };
	ret->credential = (uint64_t)user[0];
}

static void add_field(struct http_request *request, const char *name, const char *value)
{
	fuzz_check(request->field_count < FIELDS_IN_MAX);
	request->fields[request->field_count++] = (struct http_field){ name, value };
}

/* A request that is closed by the client first, if there are too many. */
static struct http_request *new_request(enum http_method method, const char *target,
                                        unsigned session)
{
	struct http_request *request = mem_new(sizeof *request);

	request->method = method;
	(void)snprintf(request->target, sizeof request->target, "%s", target);
	(void)snprintf(request->id, sizeof request->id, "%s", session_ids[session % SESSIONS_MAX]);
	if (request->id[0] != '\0')
		add_field(request, "mcp-session-id", request->id);
	if (method == HTTP_POST)
		add_field(request, "content-type", "application/json");
	return request;
}

static void close_request(struct http_request *request)
{
	if (request->is_ended)
		return;
	request->is_ended = true;
	fuzz_check(request->closed != NULL);
	request->closed(request->closed_ctx);
}

static void send_request(struct mcp_http *http, struct http_request *request, const char *body)
{
	struct http_request **slot = &requests[request_count++ % REQUESTS_MAX];

	if (*slot != NULL) {
		close_request(*slot);
		free(*slot);
	}
	*slot = request;
	mcp_http_request(http, request);
	if (request->on_body != NULL && !request->is_ended)
		request->on_body(request->body_ctx, view_of(body));
}

static void call_alone(struct mcp_http *http, const char *method, const char *params)
{
	struct http_request *request = new_request(HTTP_POST, "/mcp", SESSIONS_MAX);
	AUTO_FREE char *body = mem_format(
	        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s,\"_meta\":{"
	        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
	        "\"io.modelcontextprotocol/logLevel\":\"debug\","
	        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
	        method, params);
	char name[8] = "";

	add_field(request, "mcp-protocol-version", "2026-07-28");
	add_field(request, "mcp-method", method);
	if (sscanf(params, "\"name\":\"%7[a-z]", name) == 1)
		add_field(request, "mcp-name", name);
	send_request(http, request, body);
}

static void post(struct mcp_http *http, unsigned session, const char *method, const char *params)
{
	static unsigned last_id;
	bool is_note = strncmp(method, "notifications/", 14) == 0;
	AUTO_FREE char *id = is_note ? mem_dup("") : mem_format("\"id\":%u,", ++last_id % 8);
	AUTO_FREE char *body = mem_format(
	        "{\"jsonrpc\":\"2.0\",%s\"method\":\"%s\",\"params\":{%s}}", id, method, params);
	AUTO_FREE char *messages = mem_format("/messages/?session_id=%s",
	                                      session_ids[session % SESSIONS_MAX]);
	bool is_sse = (session & SESSIONS_MAX) != 0;

	if (strcmp(method, "initialize") == 0)
		session = SESSIONS_MAX - 1; /* perhaps one that exists */
	send_request(http, new_request(HTTP_POST, is_sse ? messages : "/mcp", session), body);
}

static void resume(struct mcp_http *http, unsigned argument)
{
	struct http_request *request = new_request(HTTP_GET, "/mcp", argument);
	const struct event_id id = { argument >> 2 & 7, argument >> 5 };

	event_id_format(&id, request->last_id);
	if ((argument & 128) == 0)
		add_field(request, "last-event-id", request->last_id);
	send_request(http, request, NULL);
}

static void on_stopped(void *ctx)
{
	*(bool *)ctx = true;
}

static const char *tool_params(unsigned argument)
{
	static char params[24];

	(void)snprintf(params, sizeof params, "\"name\":\"%s\"",
	               tool_names[argument % ARRAY_LEN(tool_names)]);
	return params;
}

static void answer_call(unsigned argument)
{
	struct mcp_call *call = calls[argument % CALLS_MAX];

	calls[argument % CALLS_MAX] = NULL;
	if (call != NULL)
		respond(call);
}

static void do_step(struct mcp_http *http, struct mcp_server *server, unsigned step, unsigned arg)
{
	static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18",
		                                 "2025-11-25" };
	struct http_request *request = requests[arg % REQUESTS_MAX];
	char params[80];

	switch (step) {
	case 0:
		(void)snprintf(params, sizeof params,
		               "\"protocolVersion\":\"%s\",\"capabilities\":{}",
		               revisions[arg % ARRAY_LEN(revisions)]);
		post(http, arg, "initialize", params);
		break;
	case 1:
	case 2:
		post(http, arg >> 3, "tools/call", tool_params(arg));
		break;
	case 3:
		post(http, arg, "notifications/initialized", "");
		break;
	case 4:
		if (request != NULL)
			close_request(request);
		break;
	case 5:
	case 6:
		resume(http, arg);
		break;
	case 7:
		send_request(http, new_request(HTTP_DELETE, "/mcp", arg), NULL);
		break;
	case 8:
		answer_call(arg);
		break;
	case 9:
		call_alone(http, "tools/call", tool_params(arg));
		break;
	case 10:
		call_alone(http, "subscriptions/listen",
		           "\"notifications\":{\"toolsListChanged\":true}");
		break;
	case 11:
		send_request(http, new_request(HTTP_GET, "/sse", SESSIONS_MAX - 1), NULL);
		break;
	case 12:
		mcp_server_list_changed(server, NULL, MCP_LIST_TOOLS);
		break;
	case 13:
		(void)snprintf(params, sizeof params, "\"requestId\":%u", arg >> 3 & 7);
		post(http, arg, "notifications/cancelled", params);
		break;
	case 14:
		user = (arg & 1) != 0 ? "ann" : "bob";
		if ((arg & 2) != 0)
			mcp_http_close_credential(http, (uint64_t)user[0]);
		break;
	default:
		loop_run_deferred(http->loop);
		event_streams_check_silence(http);
		http_sessions_expire(http);
	}
}

static void free_everything(struct mcp_http *http)
{
	for (size_t i = 0; i < REQUESTS_MAX; i++) {
		if (requests[i] != NULL)
			close_request(requests[i]);
	}
	(void)mcp_http_free(http);
	for (size_t i = 0; i < REQUESTS_MAX; i++) {
		free(requests[i]);
		requests[i] = NULL;
	}
	for (unsigned i = 0; i < CALLS_MAX; i++)
		answer_call(i); /* calls of sessions that did not end with their connection */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mcp_config mcp = { .name = "fuzz",
		                  .version = "1",
		                  .tools = tools,
		                  .lists_change = true,
		                  .limits = mcp_default_limits };
	struct mcp_http_mount mount = { .prefix = "" };
	struct mcp_http_config config = { .mounts = &mount,
		                          .mount_count = 1,
		                          .authenticate = authenticate,
		                          .limits = mcp_http_default_limits };
	bool is_stopped = false;
	struct mcp_server *server;
	struct mcp_http *http;
	struct loop *loop;
	struct error err;

	fuzz_check(loop_new(&loop, &err) == 0);
	server = mount.server = mcp_server_new(loop, &mcp);
	config.limits.max_sessions = 6;
	config.limits.max_owner_sessions = SESSIONS_MAX;
	config.limits.max_events = 5;
	config.limits.max_event_bytes = 1000;
	config.limits.silence_ms = 0;
	config.limits.events_kept_ms = size > 0 && data[0] % 2 == 0 ? 0 : 60000;
	memset(session_ids, 0, sizeof session_ids);
	user = "ann";
	http = mcp_http_new(loop, &config);
	for (size_t i = 0; i + 1 < size && i < 400; i += 2) {
		if (data[i] == 255)
			mcp_http_stop(http, 1000, on_stopped, &is_stopped);
		else
			do_step(http, server, data[i] % 16, data[i + 1]);
	}
	free_everything(http);
	(void)mcp_server_free(server);
	loop_run_deferred(loop);
	(void)loop_free(loop);
	return 0;
}
