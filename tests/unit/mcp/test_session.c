/* Calls, cancellation, batches, progress and limits of a session, with exact messages. The
 * end-to-end tests cover the rest of the protocol with the official clients. */
#include "unit/mcp/fake_client.h"

#define CALL(id, name)                                                                             \
	"{\"jsonrpc\":\"2.0\",\"id\":" id                                                          \
	",\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"}}"
#define TEXT_RESULT(id, text)                                                                      \
	"{\"jsonrpc\":\"2.0\",\"id\":" id                                                          \
	",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}}"
#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"
#define PONG(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{}}"
#define ERROR_OF(id, code, text)                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" text "\"" \
	"}}"

static void respond_text(struct mcp_call *call, const char *text)
{
	json_t *content = json_list();

	json_push(content, mcp_text("%s", text));
	mcp_respond_content(call, content, NULL);
}

static int respond_hi(struct mcp_call *call, const void *args, struct error *err)
{
	(void)args, (void)err;
	respond_text(call, "hi");
	return 0;
}

static int fail_system(struct mcp_call *call, const void *args, struct error *err)
{
	(void)call, (void)args;
	return error_set(err, ERR_SYSTEM, "it broke");
}

static const struct mcp_tool hi = { .name = "hi", .help = "Says hi.", .call = respond_hi };
static const struct mcp_tool holder = { .name = "hold", .help = "Waits.", .call = peer_hold };
static const struct mcp_tool failer = { .name = "fail", .help = "Fails.", .call = fail_system };
static const struct mcp_tool *const tools[] = { &hi, &holder, &failer, NULL };

static void handler_responds_now_or_later(void **state)
{
	struct peer *peer = *state;

	peer_send(peer, CALL("1", "hold"));
	peer_send(peer, CALL("\"b\"", "hi"));
	CHECK_NEXT(peer, TEXT_RESULT("\"b\"", "hi"));
	CHECK_NOTHING_SENT(peer);
	respond_text(peer->held, "at last");
	CHECK_NEXT(peer, TEXT_RESULT("1", "at last"));
}

static void failing_tool_is_a_result(void **state)
{
	struct peer *peer = *state;

	peer_send(peer, CALL("1", "fail"));
	CHECK_NEXT(peer,
	           "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\","
	           "\"text\":\"it broke\"}],\"isError\":true}}");
}

static void unknown_tool_is_an_error_with_a_suggestion(void **state)
{
	struct peer *peer = *state;

	peer_send(peer, CALL("1", "hodl"));
	CHECK_NEXT(peer, ERROR_OF("1", "-32602", "unknown tool 'hodl'; did you mean 'hold'?"));
	peer_send(peer, CALL("1", "zzz"));
	CHECK_NEXT(peer,
	           ERROR_OF("1", "-32602", "unknown tool 'zzz'; tools/list returns all names"));
}

static void cancelled_call_is_notified_and_gets_no_response(void **state)
{
	struct peer *peer = *state;

	peer_send(peer, CALL("1", "hold"));
	peer_send(peer, CANCEL("\"1\"")); /* another id */
	peer_send(peer, CANCEL("2"));
	peer_send(peer, CANCEL("null"));
	assert_int_equal(peer->cancelled, 0);
	peer_send(peer, CANCEL("1"));
	peer_send(peer, CANCEL("1"));
	assert_int_equal(peer->cancelled, 1);
	mcp_call_progress(peer->held, 1, 2, "discarded");
	mcp_call_log(peer->held, MCP_LEVEL_ERROR, NULL, "discarded");
	respond_text(peer->held, "discarded");
	peer_send(peer, PING("1")); /* the id is free again */
	CHECK_NEXT(peer, PONG("1"));
	CHECK_NOTHING_SENT(peer);
}

static void closed_session_cancels_its_calls(void **state)
{
	struct peer *peer = *state;

	peer_send(peer, CALL("1", "hold"));
	mcp_session_close(peer->session);
	peer->session = NULL;
	assert_int_equal(peer->cancelled, 1);
	respond_text(peer->held, "discarded");
	CHECK_NOTHING_SENT(peer);
}

static void count_idle(void *ctx)
{
	++*(int *)ctx;
}

static void idle_callback_runs_after_the_last_call(void **state)
{
	struct peer *peer = *state;
	int idle = 0;

	mcp_server_on_idle(peer->server, count_idle, &idle);
	assert_int_equal(idle, 1);
	peer_send(peer, CALL("1", "hold"));
	mcp_server_on_idle(peer->server, count_idle, &idle);
	peer_send(peer, CANCEL("1"));
	assert_int_equal(idle, 1); /* the cancelled call is still in progress */
	respond_text(peer->held, "over");
	assert_int_equal(idle, 2);
}

static void id_in_use_is_rejected(void **state)
{
	struct peer *peer = *state;

	peer_send(peer, CALL("1", "hold"));
	peer_send(peer, PING("1"));
	CHECK_NEXT(peer,
	           ERROR_OF("1", "-32600", "'id' is in use by a request that is not answered yet"));
	peer_send(peer, PING("\"1\""));
	CHECK_NEXT(peer, PONG("\"1\""));
	respond_text(peer->held, "x");
}

static void calls_in_progress_are_limited(void **state)
{
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	struct peer peer;

	config.limits.max_calls = 1;
	peer_open(&peer, &config);
	peer_send(&peer, CALL("1", "hold"));
	peer_send(&peer, PING("9")); /* methods without a handler have no limit */
	CHECK_NEXT(&peer, PONG("9"));
	peer_send(&peer, CALL("2", "hi"));
	CHECK_NEXT(
	        &peer,
	        ERROR_OF("2", "-32603",
	                 "1 calls are in progress (max_calls); wait for one to end or cancel it"));
	respond_text(peer.held, "x");
	(void)peer_next(&peer);
	peer_send(&peer, PING("3"));
	CHECK_NEXT(&peer, PONG("3"));
	peer_close(&peer);
}

/* Otherwise a client could start any number of calls by cancelling them. */
static void cancelled_call_counts_until_it_ends(void **state)
{
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	struct mcp_call *stubborn;
	struct peer peer;

	config.limits.max_calls = 1;
	peer_open(&peer, &config);
	peer_send(&peer, CALL("1", "hold"));
	stubborn = peer.held;
	peer_send(&peer, CANCEL("1"));
	peer_send(&peer, CALL("2", "hi"));
	CHECK_NEXT(
	        &peer,
	        ERROR_OF("2", "-32603",
	                 "1 calls are in progress (max_calls); wait for one to end or cancel it"));
	respond_text(stubborn, "stopped");
	peer_send(&peer, CALL("3", "hi"));
	CHECK_NEXT(&peer, TEXT_RESULT("3", "hi"));
	peer_close(&peer);
}

static void respond_twice(void)
{
	struct mcp_config config = { .tools = tools };
	struct peer peer;

	peer_open(&peer, &config);
	peer_send(&peer, CALL("1", "hold"));
	respond_text(peer.held, "once");
	respond_text(peer.held, "twice");
}

static void second_response_aborts(void **state)
{
	char said[4096];

	assert_non_null(strstr(must_abort(respond_twice, said, sizeof said), "responded"));
}

static void call_may_outlive_its_server(void **state)
{
	struct mcp_call *late;
	struct peer *peer = *state;

	peer_send(peer, CALL("1", "hold"));
	late = peer->held;
	mcp_session_close(peer->session);
	peer->session = NULL;
	peer->server = mcp_server_free(peer->server);
	assert_ptr_equal(mcp_call_app(late), peer);
	respond_text(late, "discarded");
	CHECK_NOTHING_SENT(peer);
}

#define SET_LEVEL(level)                                                                           \
	"{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"method\":\"logging/"                                  \
	"setLevel\",\"params\":{\"level\":\"" level "\"}}"

static void log_level_may_change_during_a_call(void **state)
{
	struct peer *peer = *state;

	peer_send(peer, CALL("1", "hold"));
	mcp_call_log(peer->held, MCP_LEVEL_DEBUG, NULL, "too quiet");
	CHECK_NOTHING_SENT(peer);
	peer_send(peer, SET_LEVEL("debug"));
	(void)peer_next(peer);
	mcp_call_log(peer->held, MCP_LEVEL_DEBUG, "here", "heard");
	CHECK_NEXT(peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"
	                 "\"level\":\"debug\",\"logger\":\"here\",\"data\":\"heard\"}}");
	peer_send(peer, "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\"}");
	(void)peer_next(peer);
	mcp_call_log(peer->held, MCP_LEVEL_DEBUG, NULL, "a new handshake starts over");
	CHECK_NOTHING_SENT(peer);
	respond_text(peer->held, "x");
}

static void long_notification_is_not_sent(void **state)
{
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	char long_text[600] = "";
	struct stderr_capture c;
	char log[400];
	struct peer peer;

	config.limits.max_line = 500;
	memset(long_text, 'x', sizeof long_text - 1);
	peer_open(&peer, &config);
	peer_send(&peer, CALL("1", "hold"));
	stderr_capture_start(&c);
	mcp_call_log(peer.held, MCP_LEVEL_ERROR, NULL, "%s", long_text);
	(void)stderr_capture_end(&c, log, sizeof log);
	assert_non_null(strstr(log, "a notification of 686 bytes was not sent (max_line)"));
	CHECK_NOTHING_SENT(&peer);
	respond_text(peer.held, "x");
	peer_close(&peer);
}

static void unknown_cursor_is_rejected(void **state)
{
	static const char *const cursors[] = { "\"tools\"",    "\"tools.\"",  "\"tools.0\"",
		                               "\"tools.3\"",  "\"toolsx1\"", "\"prompts.1\"",
		                               "\"tools.1x\"", "7",           "{}" };
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	struct peer peer;

	config.limits.page_size = 1;
	peer_open(&peer, &config);
	for (size_t i = 0; i < ARRAY_LEN(cursors); i++) {
		char line[200];

		(void)snprintf(
		        line, sizeof line,
		        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
		        "\"cursor\":%s}}",
		        cursors[i]);
		peer_send(&peer, line);
		CHECK_NEXT(
		        &peer,
		        ERROR_OF(
		                "1", "-32602",
		                "'cursor' was not returned by this server; omit it to get the first "
		                "page"));
	}
	peer_close(&peer);
}

static void bytes_of_calls_in_progress_are_limited(void **state)
{
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	struct peer peer;

	config.limits.max_held = strlen(CALL("1", "hold")) + 5;
	peer_open(&peer, &config);
	peer_send(&peer, CALL("1", "hold"));
	peer_send(&peer, CALL("2", "hi"));
	CHECK_NEXT(&peer,
	           ERROR_OF("2", "-32603",
	                    "the messages of calls in progress have more than 76 bytes (max_held); "
	                    "wait for one to end or cancel it"));
	respond_text(peer.held, "x");
	(void)peer_next(&peer);
	peer_send(&peer, CALL("3", "hi"));
	CHECK_NEXT(&peer, TEXT_RESULT("3", "hi"));
	peer_close(&peer);
}

static void batch_gets_one_array_of_responses(void **state)
{
	struct peer *peer = *state;

	peer_send(peer, "[" PING("1") "," CALL("2", "hold") "," PING("3") "]");
	CHECK_NOTHING_SENT(peer);
	respond_text(peer->held, "late");
	CHECK_NEXT(peer, "[" PONG("1") "," PONG("3") "," TEXT_RESULT("2", "late") "]");
	peer_send(peer, "[" CANCEL("9") "]"); /* no request: no response */
	CHECK_NOTHING_SENT(peer);
	peer_send(peer, "[" CALL("4", "hold") "," PING("5") "]");
	peer_send(peer, CANCEL("4"));
	CHECK_NEXT(peer, "[" PONG("5") "]");
	respond_text(peer->held, "discarded");
	CHECK_NOTHING_SENT(peer);
}

static void closed_session_ends_its_batch(void **state)
{
	struct peer *peer = *state;

	peer_send(peer, "[" PING("1") "," CALL("2", "hold") "]");
	mcp_session_close(peer->session);
	peer->session = NULL;
	CHECK_NOTHING_SENT(peer);
	respond_text(peer->held, "discarded");
}

static void invalid_batch_is_an_error_with_the_reason(void **state)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
		{ "[]", "an empty batch is not allowed" },
		{ "[" PING("1") ",5]", "message 2 of the batch: a message is a JSON object" },
		{ "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}]",
		  "message 1 of the batch: 'initialize' must stand alone" },
		{ "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":{"
		  "\"io.modelcontextprotocol/protocolVersion\":1}}}]",
		  "message 1 of the batch: stateless revisions have no batches" },
		{ "[" PING("1") "," PING("2") "," PING("3") "]",
		  "more than 2 messages in a batch (max_batch); send fewer at once" },
	};
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	struct peer peer;

	config.limits.max_batch = 2;
	peer_open(&peer, &config);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char want[300];

		peer_send(&peer, cases[i].line);
		(void)snprintf(want, sizeof want, ERROR_OF("null", "-32600", "%s"), cases[i].why);
		CHECK_NEXT(&peer, want);
	}
	peer_close(&peer);
}

static void invalid_message_is_an_error_with_its_id(void **state)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "nonsense",
		  ERROR_OF("null", "-32700", "invalid token near 'nonsense' at byte 8") },
		{ "{\"id\":7,\"a\":1,\"a\":2}",
		  ERROR_OF("7", "-32600", "duplicate object key near '\\\"a\\\"'") },
		{ "{\"id\":\"x\",\"a\":1e999}",
		  ERROR_OF("\"x\"", "-32600", "real number overflow near '1e999'") },
		{ "{\"id\":7,\"id\":8}",
		  ERROR_OF("null", "-32600", "duplicate object key near '\\\"id\\\"'") },
		{ "{\"id\":[1],\"a\":1e999}",
		  ERROR_OF("null", "-32600", "real number overflow near '1e999'") },
		{ "{\"id\":5,\"a\":[[[[[[[[1]]]]]]]]}",
		  ERROR_OF("5", "-32600", "nested deeper than 8 levels (max_depth)") },
	};
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	struct peer peer;

	config.limits.json.depth = 8;
	peer_open(&peer, &config);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		peer_send(&peer, cases[i].line);
		CHECK_NEXT(&peer, cases[i].want);
	}
	peer_close(&peer);
}

static void long_response_becomes_an_error(void **state)
{
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	char long_text[600] = "";
	struct peer peer;

	config.limits.max_line = 500;
	memset(long_text, 'x', sizeof long_text - 1);
	peer_open(&peer, &config);
	peer_send(&peer, CALL("1", "hold"));
	respond_text(peer.held, long_text);
	CHECK_NEXT(
	        &peer,
	        ERROR_OF(
	                "1", "-32603",
	                "the answer has 672 bytes, and at most 500 can be sent (max_line); ask for less at once"));
	peer_close(&peer);
}

static void response_that_does_not_fit_into_the_batch_becomes_an_error(void **state)
{
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	char long_text[400] = "";
	struct peer peer;

	config.limits.max_line = 500;
	memset(long_text, 'x', 250);
	peer_open(&peer, &config);
	peer_send(&peer, "[" CALL("1", "hold") "," PING("2") "," PING("3") "]");
	respond_text(peer.held, long_text);
	assert_int_equal(json_array_size(json_array_get(peer.sent, 0)), 3);
	(void)peer_next(&peer);

	peer_send(&peer, "[" CALL("1", "hold") "," PING("2") "]");
	memset(long_text, 'x', 399);
	respond_text(peer.held, long_text);
	CHECK_NEXT(&peer, "[" PONG("2") "," ERROR_OF(
	                          "1", "-32603",
	                          "the answers to this batch are together too long to be "
	                          "sent (max_line); send fewer requests at once") "]");
	peer_close(&peer);
}

static void progress_increases_and_is_limited_in_rate(void **state)
{
	struct peer *peer = *state;

	peer_send(peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
	                "call\",\"params\":{\"name\":\"hold\","
	                "\"_meta\":{\"progressToken\":\"t\"}}}");
	mcp_call_progress(peer->held, 1, 0, "one");
	mcp_call_progress(peer->held, 1, 0, "not more");
	mcp_call_progress(peer->held, 0.5, 0, "less");
	peer->busy = true;
	mcp_call_progress(peer->held, 2, 0, "the client is slow");
	peer->busy = false;
	mcp_call_progress(peer->held, 3, 4, "%s", "");
	CHECK_NEXT(peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
	                 "\"progressToken\":\"t\",\"progress\":1,\"message\":\"one\"}}");
	CHECK_NEXT(peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
	                 "\"progressToken\":\"t\",\"progress\":3,\"total\":4}}");
	CHECK_NOTHING_SENT(peer);
	for (int i = 0; i < 1000; i++)
		mcp_call_progress(peer->held, 10 + i, 0, "%s", "");
	/* The burst, and what the bucket has gained meanwhile. */
	assert_in_range(json_array_size(peer->sent), 8, 100);
	respond_text(peer->held, "done");
}

static void request_without_token_gets_no_progress(void **state)
{
	struct peer *peer = *state;

	peer_send(peer, CALL("1", "hold"));
	mcp_call_progress(peer->held, 1, 2, "unasked");
	CHECK_NOTHING_SENT(peer);
	respond_text(peer->held, "done");
}

static void responses_and_unknown_notifications_are_ignored(void **state)
{
	struct peer *peer = *state;

	peer_send(peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	peer_send(peer,
	          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/whatever\",\"params\":[1]}");
	peer_send(peer, "{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}");
	CHECK_NOTHING_SENT(peer);
}

static void methods_without_tables_are_unknown(void **state)
{
	static const char *const unknown[] = { "tools/list",          "tools/call",
		                               "resources/list",      "resources/read",
		                               "prompts/list",        "prompts/get",
		                               "resources/subscribe", "completion/complete" };
	struct mcp_config config = { 0 };
	struct peer peer;

	peer_open(&peer, &config);
	for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
		char line[100], want[200];

		(void)snprintf(line, sizeof line,
		               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"}", unknown[i]);
		(void)snprintf(
		        want, sizeof want,
		        ERROR_OF("1", "-32601", "method '%s' is not known in revision 2025-03-26"),
		        unknown[i]);
		peer_send(&peer, line);
		CHECK_NEXT(&peer, want);
	}
	peer_close(&peer);
}

static struct peer shared_peer;

static int open_peer(void **state)
{
	peer_open(&shared_peer, &(struct mcp_config){ .tools = tools });
	*state = &shared_peer;
	return 0;
}

static int close_peer(void **state)
{
	peer_close(*state);
	return 0;
}

#define WITH_PEER(name) cmocka_unit_test_setup_teardown(name, open_peer, close_peer)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PEER(handler_responds_now_or_later),
		WITH_PEER(failing_tool_is_a_result),
		WITH_PEER(unknown_tool_is_an_error_with_a_suggestion),
		WITH_PEER(cancelled_call_is_notified_and_gets_no_response),
		WITH_PEER(closed_session_cancels_its_calls),
		WITH_PEER(idle_callback_runs_after_the_last_call),
		WITH_PEER(id_in_use_is_rejected),
		TEST(calls_in_progress_are_limited),
		TEST(cancelled_call_counts_until_it_ends),
		TEST(second_response_aborts),
		WITH_PEER(call_may_outlive_its_server),
		WITH_PEER(log_level_may_change_during_a_call),
		TEST(long_notification_is_not_sent),
		TEST(unknown_cursor_is_rejected),
		TEST(bytes_of_calls_in_progress_are_limited),
		WITH_PEER(batch_gets_one_array_of_responses),
		WITH_PEER(closed_session_ends_its_batch),
		TEST(invalid_batch_is_an_error_with_the_reason),
		TEST(invalid_message_is_an_error_with_its_id),
		TEST(long_response_becomes_an_error),
		TEST(response_that_does_not_fit_into_the_batch_becomes_an_error),
		WITH_PEER(progress_increases_and_is_limited_in_rate),
		WITH_PEER(request_without_token_gets_no_progress),
		WITH_PEER(responses_and_unknown_notifications_are_ignored),
		TEST(methods_without_tables_are_unknown),
	};

	return RUN_TESTS("mcp/session", tests);
}
