#include "unit/transport/mcp_http/mcp_rig.h"

#include <stdarg.h>

#include "base/mem.h"
#include "mcp/content.h"

static void respond_text(struct mcp_call *call, const char *text)
{
	json_t *content = json_list();

	json_push(content, mcp_text("%s", text));
	mcp_respond_content(call, content, NULL);
}

static int quick(struct mcp_call *call, const void *args, struct error *err)
{
	(void)args, (void)err;
	respond_text(call, mcp_call_owner(call));
	return 0;
}

static void on_cancel(struct mcp_call *call, void *ctx)
{
	struct rig *rig = ctx;

	assert_ptr_equal(call, rig->held);
	rig->cancelled = true;
	rig->held = NULL;
	respond_text(call, "discarded");
}

static int hold(struct mcp_call *call, const void *args, struct error *err)
{
	struct rig *rig = mcp_call_app(call);

	(void)args, (void)err;
	assert_null(rig->held);
	rig->held = call;
	mcp_call_on_cancel(call, on_cancel, rig);
	return 0;
}

static int talk(struct mcp_call *call, const void *args, struct error *err)
{
	mcp_call_log(call, MCP_LEVEL_ERROR, NULL, "words");
	return hold(call, args, err);
}

static int poll_later(struct mcp_call *call, const void *args, struct error *err)
{
	(void)mcp_call_close_stream(call);
	return hold(call, args, err);
}

static const struct mcp_tool quick_tool = { .name = "quick", .help = "Responds.", .call = quick };
static const struct mcp_tool hold_tool = { .name = "hold", .help = "Waits.", .call = hold };
static const struct mcp_tool talk_tool = { .name = "talk", .help = "Talks.", .call = talk };
static const struct mcp_tool poll_tool = { .name = "poll", .help = "Polls.", .call = poll_later };
static const struct mcp_tool secret_tool = {
	.name = "secret", .help = "Needs a scope.", .call = quick, .scope = MCP_SCOPE_ADMIN
};
static const struct mcp_tool *const tools[] = { &quick_tool, &hold_tool,   &talk_tool,
	                                        &poll_tool,  &secret_tool, NULL };

static void authenticate(void *ctx, struct http_request *request, struct mcp_http_identity *ret)
{
	const struct rig *rig = ctx;
	const char *user = http_get(request, "x-user");

	if (user == NULL)
		user = rig->user;
	if (user == NULL || strcmp(user, "nobody") == 0)
		*ret = (struct mcp_http_identity){ .refusal = 401,
			                           .challenge = "Bearer realm=\"t\"",
			                           .error = "invalid_token",
			                           .description = "no such token" };
	else
		*ret = (struct mcp_http_identity){
			.caller = { .owner = user, .scopes = rig->scopes },
			.credential = rig->credential,
		};
}

static struct mcp_http_mount mounts[2] = { { .prefix = "" }, { .prefix = "/p/other" } };

void mcp_rig_init(struct rig *rig)
{
	struct mcp_config config = { .name = "t",
		                     .version = "1",
		                     .tools = tools,
		                     .lists_change = true,
		                     .app = rig,
		                     .limits = mcp_default_limits };
	struct error err;

	*rig = (struct rig){ .user = "ann", .scopes = MCP_SCOPE_RUN };
	CHECK_OK(loop_new(&rig->loop, &err), err);
	rig->server = mcp_server_new(rig->loop, &config);
	mounts[0].server = mounts[1].server = rig->server;
	rig->config = (struct mcp_http_config){ .mounts = mounts,
		                                .mount_count = ARRAY_LEN(mounts),
		                                .authenticate = authenticate,
		                                .ctx = rig,
		                                .limits = mcp_http_default_limits };
}

void mcp_rig_start(struct rig *rig)
{
	rig->http = mcp_http_new(rig->loop, &rig->config);
}

/* As http_server_free() does, closes the connections that are open. */
void mcp_rig_done(struct rig *rig)
{
	for (size_t i = 0; i < rig->request_count; i++) {
		if (!fake_response(rig->requests[i])->is_ended)
			fake_close(rig->requests[i]);
	}
	rig->http = mcp_http_free(rig->http);
	rig->server = mcp_server_free(rig->server);
	loop_run_deferred(rig->loop);
	rig->loop = loop_free(rig->loop);
	for (size_t i = 0; i < rig->request_count; i++)
		fake_free(rig->requests[i]);
}

struct http_request *mcp_rig_send(struct rig *rig, const char *body, const char *fmt, ...)
{
	struct http_request *request;
	AUTO_FREE char *head = NULL;
	va_list args;

	va_start(args, fmt);
	head = mem_vformat(fmt, args);
	va_end(args);
	assert_true(rig->request_count < RIG_REQUESTS_MAX);
	request = rig->requests[rig->request_count++] = fake_request(head, body);
	fake_send(rig->http, request);
	return request;
}

struct http_request *mcp_rig_post(struct rig *rig, const char *session, const char *body)
{
	return mcp_rig_send(rig, body,
	                    "POST /mcp\nHost: localhost:8000\nContent-Type: application/json\n"
	                    "Accept: application/json, text/event-stream\n%s%s",
	                    session != NULL ? "Mcp-Session-Id: " : "",
	                    session != NULL ? session : "");
}

struct http_request *mcp_rig_call_alone(struct rig *rig, const char *tool)
{
	AUTO_FREE char *body = mem_format(
	        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
	        "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
	        "\"io.modelcontextprotocol/logLevel\":\"info\","
	        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
	        tool);

	return mcp_rig_send(rig, body,
	                    "POST /mcp\nHost: localhost\nContent-Type: application/json\n"
	                    "Accept: application/json, text/event-stream\nMcp-Method: tools/call\n"
	                    "Mcp-Name: %s\nMCP-Protocol-Version: 2026-07-28",
	                    tool);
}

void mcp_rig_initialize(struct rig *rig, const char *revision, char id[64])
{
	AUTO_FREE char *body = mem_format(
	        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
	        "\"protocolVersion\":\"%s\",\"capabilities\":{},"
	        "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
	        revision);
	struct http_request *request = mcp_rig_post(rig, NULL, body);

	assert_int_equal(fake_response(request)->status, 200);
	assert_string_equal(fake_field(request, "content-type"), "application/json");
	assert_non_null(fake_field(request, "mcp-session-id"));
	(void)snprintf(id, 64, "%s", fake_field(request, "mcp-session-id"));
	request = mcp_rig_post(rig, id,
	                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	assert_int_equal(fake_response(request)->status, 202);
}

void mcp_rig_begin(struct rig *rig, const char *revision, char id[64])
{
	mcp_rig_init(rig);
	mcp_rig_start(rig);
	mcp_rig_initialize(rig, revision, id);
}

void mcp_rig_respond(struct rig *rig, const char *text)
{
	struct mcp_call *call = rig->held;

	assert_non_null(call);
	rig->held = NULL;
	respond_text(call, text);
	loop_run_deferred(rig->loop);
}

void check_http_error(struct http_request *request, int status, int code, const char *part)
{
	struct fake_response *response = fake_response(request);
	char want[40];

	(void)snprintf(want, sizeof want, "\"code\":%d", code);
	assert_int_equal(response->status, status);
	assert_true(response->is_ended);
	assert_string_equal(fake_field(request, "content-type"), "application/json");
	if (strstr(response->body, want) == NULL || strstr(response->body, part) == NULL)
		fail_msg("%s is not %s with '%s'", response->body, want, part);
}
