/* Messages of mcp_session_receive_on(): routes, checks of headers, outcomes, and the end of each
 * sink. */
#include "unit/mcp/fake_client.h"

#define VERSION       "\"io.modelcontextprotocol/protocolVersion\":"
#define CAPABILITIES  "\"io.modelcontextprotocol/clientCapabilities\":"
#define META(version) "\"_meta\":{" VERSION version "," CAPABILITIES "{}}"
#define CLAIM         META("\"2026-07-28\"")
#define CALL_HI       REQUEST("tools/call", "{\"name\":\"hi\"," CLAIM "}")
#define CALL_REGION(value)                                                                         \
	REQUEST("tools/call",                                                                      \
	        "{\"name\":\"region\",\"arguments\":{\"region\":" value "}," CLAIM "}")

struct region_args {
	const char *region;
};

static const struct param region_params[] = {
	{ .name = "region",
	  .type = PARAM_STRING,
	  .max = 100,
	  .header = "Region",
	  .offset = offsetof(struct region_args, region),
	  .help = "" },
	{ 0 },
};

static int respond_owner(struct mcp_call *call, const void *args, struct error *err)
{
	json_t *content = json_list();

	json_push(content, mcp_text("%s", mcp_call_owner(call)));
	mcp_respond_content(call, content, NULL);
	return 0;
}

static int report_progress(struct mcp_call *call, const void *args, struct error *err)
{
	mcp_call_progress(call, 1, 2, "half");
	return respond_owner(call, args, err);
}

static const struct mcp_tool hi = { .name = "hi", .help = "Says hi.", .call = respond_owner };
static const struct mcp_tool progress = { .name = "progress",
	                                  .help = "Reports.",
	                                  .call = report_progress };
static const struct mcp_tool holder = { .name = "hold", .help = "Waits.", .call = peer_hold };
static const struct mcp_tool admin = {
	.name = "admin", .help = "Rules.", .scope = MCP_SCOPE_ADMIN, .call = respond_owner
};
static const struct mcp_tool region = { .name = "region",
	                                .help = "Goes there.",
	                                .params = region_params,
	                                .args_size = sizeof(struct region_args),
	                                .call = respond_owner };
static const struct mcp_tool *const tools[] = { &hi, &progress, &holder, &admin, &region, NULL };

/* One POST. */
struct post {
	struct mcp_sink sink;
	char text[4096]; /* of the last message */
	enum mcp_message_kind kinds[8];
	enum mcp_outcome outcome; /* of the last message */
	enum mcp_scope scope;
	size_t sent, done, closed;
};

static void on_send(struct mcp_sink *sink, const struct mcp_message *message)
{
	struct post *post = container_of(sink, struct post, sink);

	assert_int_equal(post->done, 0);
	assert_true(post->sent < ARRAY_LEN(post->kinds));
	assert_true(message->text.len < sizeof post->text);
	memcpy(post->text, message->text.ptr, message->text.len);
	post->text[message->text.len] = '\0';
	post->kinds[post->sent++] = message->kind;
	post->outcome = message->outcome;
	post->scope = message->scope;
}

static bool is_busy(struct mcp_sink *sink)
{
	return false;
}

static void on_done(struct mcp_sink *sink)
{
	container_of(sink, struct post, sink)->done++;
}

static const char *get_param(void *ctx, const char *name)
{
	return strcmp(name, "Region") == 0 ? ctx : NULL;
}

static enum mcp_route post_to(struct post *post, struct peer *peer, const char *body,
                              const struct mcp_headers *given)
{
	struct mcp_headers headers = given != NULL ? *given : (struct mcp_headers){ 0 };
	struct mcp_input *input = mcp_input_new(peer->server, view_of(body));
	enum mcp_route route;

	if (headers.param == NULL)
		headers.param = get_param;
	*post = (struct post){ .sink = { .send = on_send, .is_busy = is_busy, .done = on_done } };
	route = mcp_input_route(input, &headers);
	mcp_session_receive_on(peer->session, input, &post->sink, &headers);
	return route;
}

static int set_up(void **state)
{
	struct peer *peer = malloc(sizeof *peer);
	struct mcp_config config = { .tools = tools };

	peer_open(peer, &config);
	*state = peer;
	return 0;
}

static int tear_down(void **state)
{
	peer_close(*state);
	free(*state);
	return 0;
}

/* The rows of the table by which a server tells the eras apart over HTTP. */
static void headers_and_body_decide_route_code_and_outcome(void **state)
{
	enum { OK = MCP_OUTCOME_OK, BAD = MCP_OUTCOME_BAD_REQUEST, GONE = MCP_OUTCOME_NOT_FOUND };
	static const char modern[] = "2026-07-28";
	static const struct {
		const char *row, *body, *version, *method, *name, *param;
		enum mcp_route route;
		int code; /* 0: a result; 1: nothing is sent */
		unsigned outcome;
	} cases[] = {
		{ "4 empty", "", NULL, NULL, NULL, NULL, MCP_ROUTE_ALONE, -32700, BAD },
		{ "4 no JSON", "{", NULL, NULL, NULL, NULL, MCP_ROUTE_ALONE, -32700, BAD },
		{ "5", "[]", NULL, NULL, NULL, NULL, MCP_ROUTE_ALONE, -32600, BAD },
		{ "6", "[" CALL_HI "]", NULL, NULL, NULL, NULL, MCP_ROUTE_ALONE, -32600, BAD },
		{ "7", "[1]", NULL, NULL, NULL, NULL, MCP_ROUTE_ALONE, -32600, BAD },
		{ "9", "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}", NULL, NULL, NULL, NULL,
		  MCP_ROUTE_SESSION, 1, OK },
		{ "10", "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", NULL, NULL, NULL,
		  NULL, MCP_ROUTE_ALONE, -32600, BAD },
		{ "11", INITIALIZE("2025-11-25"), NULL, NULL, NULL, NULL, MCP_ROUTE_INITIALIZE, 0,
		  OK },
		{ "11 header", INITIALIZE("2025-11-25"), modern, NULL, NULL, NULL, MCP_ROUTE_ALONE,
		  -32020, BAD },
		{ "11 any version", INITIALIZE("2025-11-25"), "1999-01-01", NULL, NULL, NULL,
		  MCP_ROUTE_INITIALIZE, 0, OK },
		{ "12", REQUEST("tools/list", "{\"_meta\":{" VERSION "\"2026-07-28\"}}"), modern,
		  "tools/list", NULL, NULL, MCP_ROUTE_ALONE, -32602, BAD },
		{ "13", REQUEST("tools/list", "{" CLAIM "}"), "2025-11-25", "tools/list", NULL,
		  NULL, MCP_ROUTE_ALONE, -32020, BAD },
		{ "14", REQUEST("tools/list", "{" CLAIM "}"), modern, "Tools/list", NULL, NULL,
		  MCP_ROUTE_ALONE, -32020, BAD },
		{ "15", REQUEST("tools/list", "{" META("\"v9\"") "}"), "v9", NULL, NULL, NULL,
		  MCP_ROUTE_ALONE, -32022, BAD },
		{ "16", REQUEST("tools/list", "{" CLAIM "}"), NULL, "tools/list", NULL, NULL,
		  MCP_ROUTE_ALONE, -32020, BAD },
		{ "17", REQUEST("tools/list", "{" CLAIM "}"), modern, NULL, NULL, NULL,
		  MCP_ROUTE_ALONE, -32020, BAD },
		{ "18", CALL_HI, modern, "tools/call", NULL, NULL, MCP_ROUTE_ALONE, -32020, BAD },
		{ "19 other", CALL_HI, modern, "tools/call", "ho", NULL, MCP_ROUTE_ALONE, -32020,
		  BAD },
		{ "19 base64", CALL_HI, modern, "tools/call", "=?base64?aGk?=", NULL,
		  MCP_ROUTE_ALONE, -32020, BAD },
		{ "ok", CALL_HI, modern, "tools/call", "=?base64?aGk=?=", NULL, MCP_ROUTE_ALONE, 0,
		  OK },
		{ "22 missing", CALL_REGION("\"eu\""), modern, "tools/call", "region", NULL,
		  MCP_ROUTE_ALONE, -32020, BAD },
		{ "22 other", CALL_REGION("\"eu\""), modern, "tools/call", "region", "us",
		  MCP_ROUTE_ALONE, -32020, BAD },
		{ "22 ok", CALL_REGION("\"eu\""), modern, "tools/call", "region", "eu",
		  MCP_ROUTE_ALONE, 0, OK },
		{ "22 null", CALL_REGION("null"), modern, "tools/call", "region", "ignored",
		  MCP_ROUTE_ALONE, 0, OK },
		{ "24", REQUEST("ping", "{" CLAIM "}"), modern, "ping", NULL, NULL, MCP_ROUTE_ALONE,
		  -32601, GONE },
		{ "24 initialize", REQUEST("initialize", "{" CLAIM "}"), modern, "initialize", NULL,
		  NULL, MCP_ROUTE_ALONE, -32601, GONE },
		{ "25", REQUEST("tools/call", "{\"name\":\"no\"," CLAIM "}"), modern, "tools/call",
		  "no", NULL, MCP_ROUTE_ALONE, -32602, OK },
		{ "26", REQUEST("tools/list", "{}"), modern, "tools/list", NULL, NULL,
		  MCP_ROUTE_ALONE, -32602, BAD },
		{ "26 discover", REQUEST("server/discover", "{}"), modern, "server/discover", NULL,
		  NULL, MCP_ROUTE_ALONE, -32602, BAD },
		{ "27", REQUEST("tools/list", "{}"), "2025-11-25", NULL, NULL, NULL,
		  MCP_ROUTE_SESSION, 0, OK },
		{ "27 absent", REQUEST("tools/list", "{}"), NULL, NULL, NULL, NULL,
		  MCP_ROUTE_SESSION, 0, OK },
		{ "27 unknown", REQUEST("tools/list", "{}"), "1999-01-01", NULL, NULL, NULL,
		  MCP_ROUTE_SESSION, -32000, BAD },
		{ "27 method", REQUEST("nope", "{}"), NULL, NULL, NULL, NULL, MCP_ROUTE_SESSION,
		  -32601, OK },
		{ "28 type",
		  "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"_meta\":{" VERSION "5}}}",
		  modern, NULL, NULL, NULL, MCP_ROUTE_ALONE, -32602, BAD },
		{ "28 version", "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{" CLAIM "}}",
		  "2025-11-25", NULL, NULL, NULL, MCP_ROUTE_ALONE, -32020, BAD },
		{ "28 method", "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{" CLAIM "}}",
		  modern, "m", NULL, NULL, MCP_ROUTE_ALONE, -32020, BAD },
		{ "28", "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{" CLAIM "}}", NULL, NULL,
		  NULL, NULL, MCP_ROUTE_ALONE, 1, OK },
		{ "29", "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", modern, "n", NULL, NULL,
		  MCP_ROUTE_ALONE, 1, OK },
		{ "29 method", "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", modern, "m", NULL, NULL,
		  MCP_ROUTE_ALONE, -32020, BAD },
		{ "29 handshake", INITIALIZED, NULL, NULL, NULL, NULL, MCP_ROUTE_SESSION, 1, OK },
	};
	struct peer *peer = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *param = (char *)(uintptr_t)cases[i].param;
		const struct mcp_headers headers = { .version = cases[i].version,
			                             .method = cases[i].method,
			                             .name = cases[i].name,
			                             .param = get_param,
			                             .ctx = param };
		struct post post;
		json_t *answer;

		print_message("# row %s\n", cases[i].row);
		assert_int_equal(post_to(&post, peer, cases[i].body, &headers), cases[i].route);
		assert_int_equal(post.done, 1);
		assert_int_equal(post.sent, cases[i].code == 1 ? 0 : 1);
		if (post.sent == 0)
			continue;
		answer = json_loads(post.text, 0, NULL);
		assert_int_equal(json_integer_value(
		                         json_object_get(json_object_get(answer, "error"), "code")),
		                 cases[i].code);
		assert_int_equal(post.outcome, cases[i].outcome);
		json_decref(answer);
	}
	CHECK_NOTHING_SENT(peer);
}

static void missing_envelope_is_named(void **state)
{
	const struct mcp_headers headers = { .version = "2026-07-28" };
	struct peer *peer = *state;
	struct post post;

	(void)post_to(&post, peer, REQUEST("tools/list", "{\"_meta\":{}}"), &headers);
	assert_non_null(strstr(
	        post.text,
	        "\"data\":{\"envelope\":{\"missing\":[\"io.modelcontextprotocol/protocolVersion\"]}}"));
	(void)post_to(&post, peer, REQUEST("tools/list", "{}"), &headers);
	assert_non_null(strstr(post.text, "\"data\":{\"envelope\":{\"missing\":[\"_meta\"]}}"));
}

static void messages_of_a_call_go_to_its_own_sink(void **state)
{
	struct peer *peer = *state;
	struct post post;

	peer_send(peer, INITIALIZE("2025-11-25"));
	(void)peer_next(peer);
	(void)post_to(
	        &post, peer,
	        REQUEST("tools/call", "{\"name\":\"progress\",\"_meta\":{\"progressToken\":1}}"),
	        NULL);
	assert_int_equal(post.sent, 2);
	assert_int_equal(post.kinds[0], MCP_NOTIFICATION);
	assert_int_equal(post.kinds[1], MCP_RESPONSE);
	assert_int_equal(post.done, 1);
	CHECK_NOTHING_SENT(peer);
}

static void sink_is_done_after_the_last_response(void **state)
{
	struct peer *peer = *state;
	struct post held, batch;

	(void)post_to(&held, peer, REQUEST("tools/call", "{\"name\":\"hold\"}"), NULL);
	assert_int_equal(held.done, 0);
	(void)post_to(&batch, peer,
	              "[{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"},"
	              "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}]",
	              NULL);
	assert_int_equal(batch.sent, 1);
	assert_string_equal(batch.text, "[{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}},"
	                                "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}]");
	assert_int_equal(batch.done, 1);
	mcp_respond_content(peer->held, json_list(), NULL);
	assert_int_equal(held.sent, 1);
	assert_int_equal(held.done, 1);
}

static void cancelled_request_ends_its_sink_without_a_response(void **state)
{
	struct peer *peer = *state;
	struct post held, cancel;

	(void)post_to(&held, peer, REQUEST("tools/call", "{\"name\":\"hold\"}"), NULL);
	(void)post_to(&cancel, peer, CANCEL("1"), NULL);
	assert_int_equal(cancel.done, 1);
	assert_int_equal(held.done, 1);
	assert_int_equal(held.sent, 0);
	assert_int_equal(peer->cancelled, 1);
	mcp_respond_content(peer->held, json_list(), NULL); /* the sink is not used any more */
	assert_int_equal(held.sent, 0);
}

static void closing_the_session_ends_every_sink(void **state)
{
	const struct mcp_headers headers = { .version = "2026-07-28",
		                             .method = "subscriptions/listen" };
	struct peer *peer = *state;
	struct post held, listen;

	(void)post_to(&held, peer, REQUEST("tools/call", "{\"name\":\"hold\"}"), NULL);
	(void)post_to(&listen, peer,
	              "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"subscriptions/listen\","
	              "\"params\":{\"notifications\":{\"resourceSubscriptions\":[]}," CLAIM "}}",
	              &headers);
	mcp_session_close(peer->session);
	peer->session = NULL;
	assert_int_equal(held.done, 1);
	assert_int_equal(held.sent, 0);
	assert_int_equal(listen.done, 1);
	mcp_respond_content(peer->held, json_list(), NULL);
}

static void call_without_the_scope_is_refused_before_its_handler(void **state)
{
	struct peer *peer = *state;
	struct mcp_sink sink = { .send = on_send, .is_busy = is_busy };
	struct mcp_session *owners = peer->session;
	struct post post;

	peer->session = mcp_session_new(
	        peer->server, &sink,
	        &(struct mcp_caller){ .owner = "guest",
	                              .scopes = MCP_SCOPE_RUN | MCP_SCOPE_FILES });
	(void)post_to(&post, peer, REQUEST("tools/call", "{\"name\":\"admin\"}"), NULL);
	assert_int_equal(post.outcome, MCP_OUTCOME_FORBIDDEN);
	assert_int_equal(post.scope, MCP_SCOPE_ADMIN);
	assert_string_equal(post.text, ERROR("-32600", "this needs the scope 'admin', which the "
	                                               "token of this client does not have"));
	(void)post_to(&post, peer, REQUEST("tools/call", "{\"name\":\"hi\"}"), NULL);
	assert_non_null(strstr(post.text, "\"text\":\"guest\""));
	mcp_session_close(peer->session);
	peer->session = owners;
	(void)post_to(&post, peer, REQUEST("tools/call", "{\"name\":\"admin\"}"), NULL);
	assert_non_null(strstr(post.text, "\"text\":\"me\""));
}

static void on_close_stream(struct mcp_sink *sink)
{
	container_of(sink, struct post, sink)->closed++;
}

static void handler_can_close_the_stream_of_its_response(void **state)
{
	struct peer *peer = *state;
	struct post post;

	(void)post_to(&post, peer, REQUEST("tools/call", "{\"name\":\"hold\"}"), NULL);
	assert_false(mcp_call_close_stream(peer->held));
	post.sink.close_stream = on_close_stream;
	assert_true(mcp_call_close_stream(peer->held));
	assert_int_equal(post.closed, 1);
	mcp_respond_content(peer->held, json_list(), NULL);
	assert_int_equal(post.sent, 1);
}

#define IN_SESSION(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SESSION(headers_and_body_decide_route_code_and_outcome),
		IN_SESSION(missing_envelope_is_named),
		IN_SESSION(messages_of_a_call_go_to_its_own_sink),
		IN_SESSION(sink_is_done_after_the_last_response),
		IN_SESSION(cancelled_request_ends_its_sink_without_a_response),
		IN_SESSION(closing_the_session_ends_every_sink),
		IN_SESSION(call_without_the_scope_is_refused_before_its_handler),
		IN_SESSION(handler_can_close_the_stream_of_its_response),
	};

	return RUN_TESTS("mcp/exchange", tests);
}
