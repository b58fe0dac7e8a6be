/* What is hard to reach from outside: exact bytes, cancellation, batches, limits. The
 * protocol's breadth is tested end to end with the official clients. */
#include "mcp/call.h"
#include "unit/mcp/talk.h"

#define CALL(id, name)                                                                             \
	"{\"jsonrpc\":\"2.0\",\"id\":" id                                                          \
	",\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"}}"
#define RESULT(id, text)                                                                           \
	"{\"jsonrpc\":\"2.0\",\"id\":" id                                                          \
	",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}}"
#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"
#define PONG(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{}}"
#define CANCEL(id)                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"                                         \
	"cancelled\",\"params\":{\"requestId\":" id "}}"
#define ERROR(id, code, text)                                                                      \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" text "\"" \
	"}}"

static void answer_text(struct mcp_call *call, const char *text)
{
	json_t *content = json_list();

	json_push(content, mcp_text("%s", text));
	mcp_respond_content(call, content, NULL);
}

static int say_hi(struct mcp_call *call, const void *args, struct error *err)
{
	(void)args, (void)err;
	answer_text(call, "hi");
	return 0;
}

static void on_cancel(struct mcp_call *call, void *ctx)
{
	struct talk *talk = ctx;

	assert_true(mcp_call_is_cancelled(call));
	talk->cancelled++;
}

static int hold(struct mcp_call *call, const void *args, struct error *err)
{
	struct talk *talk = mcp_call_app(call);

	(void)args, (void)err;
	talk->held = call;
	mcp_call_on_cancel(call, on_cancel, talk);
	return 0;
}

static int fail_loudly(struct mcp_call *call, const void *args, struct error *err)
{
	(void)call, (void)args;
	return error_set(err, ERR_SYSTEM, "it broke");
}

static const struct mcp_tool hi = { .name = "hi", .help = "Says hi.", .call = say_hi };
static const struct mcp_tool holder = { .name = "hold", .help = "Waits.", .call = hold };
static const struct mcp_tool failer = { .name = "fail", .help = "Fails.", .call = fail_loudly };
static const struct mcp_tool *const tools[] = { &hi, &holder, &failer, NULL };

static void answers_now_or_later(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "hold"));
	talk_say(&talk, CALL("\"b\"", "hi"));
	CHECK_NEXT(&talk, RESULT("\"b\"", "hi"));
	CHECK_SILENCE(&talk);
	answer_text(talk.held, "at last");
	CHECK_NEXT(&talk, RESULT("1", "at last"));
	talk_end(&talk);
}

static void a_failing_tool_is_a_result(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "fail"));
	CHECK_NEXT(&talk,
	           "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\","
	           "\"text\":\"it broke\"}],\"isError\":true}}");
	talk_end(&talk);
}

static void an_unknown_tool_is_an_error_with_a_suggestion(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "hodl"));
	CHECK_NEXT(&talk, ERROR("1", "-32602", "unknown tool 'hodl'; did you mean 'hold'?"));
	talk_say(&talk, CALL("1", "zzz"));
	CHECK_NEXT(&talk, ERROR("1", "-32602", "unknown tool 'zzz'; tools/list returns all names"));
	talk_end(&talk);
}

static void a_cancelled_call_is_told_and_not_answered(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "hold"));
	talk_say(&talk, CANCEL("\"1\"")); /* another id altogether */
	talk_say(&talk, CANCEL("2"));
	talk_say(&talk, CANCEL("null"));
	assert_int_equal(talk.cancelled, 0);
	talk_say(&talk, CANCEL("1"));
	talk_say(&talk, CANCEL("1"));
	assert_int_equal(talk.cancelled, 1);
	mcp_call_progress(talk.held, 1, 2, "unheard");
	mcp_call_log(talk.held, MCP_LEVEL_ERROR, NULL, "unheard");
	answer_text(talk.held, "unheard");
	talk_say(&talk, PING("1")); /* the id is free again */
	CHECK_NEXT(&talk, PONG("1"));
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void closing_cancels_what_runs(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "hold"));
	mcp_session_close(talk.session);
	talk.session = NULL;
	assert_int_equal(talk.cancelled, 1);
	answer_text(talk.held, "unheard");
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void count_idle(void *ctx)
{
	++*(int *)ctx;
}

static void tells_when_no_call_is_left(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;
	int idle = 0;

	(void)state;
	talk_begin(&talk, &config);
	mcp_server_on_idle(talk.server, count_idle, &idle);
	assert_int_equal(idle, 1);
	talk_say(&talk, CALL("1", "hold"));
	mcp_server_on_idle(talk.server, count_idle, &idle);
	talk_say(&talk, CANCEL("1"));
	assert_int_equal(idle, 1); /* cancelled is not over */
	answer_text(talk.held, "over");
	assert_int_equal(idle, 2);
	talk_end(&talk);
}

static void an_id_in_use_is_refused(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "hold"));
	talk_say(&talk, PING("1"));
	CHECK_NEXT(&talk,
	           ERROR("1", "-32600", "'id' is in use by a request that is not answered yet"));
	talk_say(&talk, PING("\"1\""));
	CHECK_NEXT(&talk, PONG("\"1\""));
	answer_text(talk.held, "x");
	talk_end(&talk);
}

static void calls_in_progress_are_bounded(void **state)
{
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	struct talk talk;

	(void)state;
	config.limits.max_calls = 1;
	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "hold"));
	talk_say(&talk, PING("9")); /* what cannot take long is always answered */
	CHECK_NEXT(&talk, PONG("9"));
	talk_say(&talk, CALL("2", "hi"));
	CHECK_NEXT(&talk,
	           ERROR("2", "-32603",
	                 "1 calls are in progress (max_calls); wait for one to end or cancel it"));
	answer_text(talk.held, "x");
	(void)talk_next(&talk);
	talk_say(&talk, PING("3"));
	CHECK_NEXT(&talk, PONG("3"));
	talk_end(&talk);
}

/* Or cancelling would be a way to start any number of them. */
static void a_cancelled_call_counts_until_it_stops(void **state)
{
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	struct mcp_call *stubborn;
	struct talk talk;

	(void)state;
	config.limits.max_calls = 1;
	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "hold"));
	stubborn = talk.held;
	talk_say(&talk, CANCEL("1"));
	talk_say(&talk, CALL("2", "hi"));
	CHECK_NEXT(&talk,
	           ERROR("2", "-32603",
	                 "1 calls are in progress (max_calls); wait for one to end or cancel it"));
	answer_text(stubborn, "stopped");
	talk_say(&talk, CALL("3", "hi"));
	CHECK_NEXT(&talk, RESULT("3", "hi"));
	talk_end(&talk);
}

static void answer_twice(void)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "hold"));
	answer_text(talk.held, "once");
	answer_text(talk.held, "twice");
}

static void answering_twice_is_a_bug_that_stops_us(void **state)
{
	char said[4096];

	(void)state;
	assert_non_null(strstr(must_abort(answer_twice, said, sizeof said), "responded"));
}

/* The handler answers when everything around it is gone. */
static void a_call_may_outlive_its_server(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct mcp_call *late;
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "hold"));
	late = talk.held;
	mcp_session_close(talk.session);
	talk.session = NULL;
	talk.server = mcp_server_free(talk.server);
	assert_ptr_equal(mcp_call_app(late), &talk);
	answer_text(late, "unheard");
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

#define SET_LEVEL(level)                                                                           \
	"{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"method\":\"logging/"                                  \
	"setLevel\",\"params\":{\"level\":\"" level "\"}}"

static void the_log_level_may_change_during_a_call(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "hold"));
	mcp_call_log(talk.held, MCP_LEVEL_DEBUG, NULL, "too quiet");
	CHECK_SILENCE(&talk);
	talk_say(&talk, SET_LEVEL("debug"));
	(void)talk_next(&talk);
	mcp_call_log(talk.held, MCP_LEVEL_DEBUG, "here", "heard");
	CHECK_NEXT(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"
	                  "\"level\":\"debug\",\"logger\":\"here\",\"data\":\"heard\"}}");
	talk_say(&talk, "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\"}");
	(void)talk_next(&talk);
	mcp_call_log(talk.held, MCP_LEVEL_DEBUG, NULL, "a new handshake starts over");
	CHECK_SILENCE(&talk);
	answer_text(talk.held, "x");
	talk_end(&talk);
}

static void a_notification_too_long_is_let_go(void **state)
{
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	char long_text[600] = "";
	struct capture c;
	char log[400];
	struct talk talk;

	(void)state;
	config.limits.max_line = 500;
	memset(long_text, 'x', sizeof long_text - 1);
	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "hold"));
	capture_start(&c);
	mcp_call_log(talk.held, MCP_LEVEL_ERROR, NULL, "%s", long_text);
	(void)capture_end(&c, log, sizeof log);
	assert_non_null(strstr(log, "a notification of 686 bytes was not sent (max_line)"));
	CHECK_SILENCE(&talk);
	answer_text(talk.held, "x");
	talk_end(&talk);
}

static void refuses_cursors_it_did_not_give_out(void **state)
{
	static const char *const cursors[] = { "\"tools\"",    "\"tools.\"",  "\"tools.0\"",
		                               "\"tools.3\"",  "\"toolsx1\"", "\"prompts.1\"",
		                               "\"tools.1x\"", "7",           "{}" };
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	struct talk talk;

	(void)state;
	config.limits.page_size = 1;
	talk_begin(&talk, &config);
	for (size_t i = 0; i < ARRAY_LEN(cursors); i++) {
		char line[200];

		(void)snprintf(
		        line, sizeof line,
		        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
		        "\"cursor\":%s}}",
		        cursors[i]);
		talk_say(&talk, line);
		CHECK_NEXT(
		        &talk,
		        ERROR("1", "-32602",
		              "'cursor' was not returned by this server; omit it to get the first "
		              "page"));
	}
	talk_end(&talk);
}

static void messages_held_are_bounded(void **state)
{
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	struct talk talk;

	(void)state;
	config.limits.max_held = strlen(CALL("1", "hold")) + 5;
	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "hold"));
	talk_say(&talk, CALL("2", "hi"));
	CHECK_NEXT(&talk,
	           ERROR("2", "-32603",
	                 "the messages of calls in progress have more than 76 bytes (max_held); "
	                 "wait for one to end or cancel it"));
	answer_text(talk.held, "x");
	(void)talk_next(&talk);
	talk_say(&talk, CALL("3", "hi"));
	CHECK_NEXT(&talk, RESULT("3", "hi"));
	talk_end(&talk);
}

static void a_batch_is_answered_as_one(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, "[" PING("1") "," CALL("2", "hold") "," PING("3") "]");
	CHECK_SILENCE(&talk);
	answer_text(talk.held, "late");
	CHECK_NEXT(&talk, "[" PONG("1") "," PONG("3") "," RESULT("2", "late") "]");
	talk_say(&talk, "[" CANCEL("9") "]"); /* nothing to answer: silence */
	CHECK_SILENCE(&talk);
	talk_say(&talk, "[" CALL("4", "hold") "," PING("5") "]");
	talk_say(&talk, CANCEL("4"));
	CHECK_NEXT(&talk, "[" PONG("5") "]");
	answer_text(talk.held, "unheard");
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void a_batch_dies_with_its_session(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, "[" PING("1") "," CALL("2", "hold") "]");
	mcp_session_close(talk.session);
	talk.session = NULL;
	CHECK_SILENCE(&talk);
	answer_text(talk.held, "unheard");
	talk_end(&talk);
}

static void refuses_batches_and_says_why(void **state)
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
		  "more than 2 messages in a batch (max_batch)" },
	};
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	struct talk talk;

	(void)state;
	config.limits.max_batch = 2;
	talk_begin(&talk, &config);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char want[300];

		talk_say(&talk, cases[i].line);
		(void)snprintf(want, sizeof want, ERROR("null", "-32600", "%s"), cases[i].why);
		CHECK_NEXT(&talk, want);
	}
	talk_end(&talk);
}

static void refuses_unreadable_messages_by_id_if_it_can(void **state)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "nonsense", ERROR("null", "-32700", "invalid token near 'nonsense' at byte 8") },
		{ "{\"id\":7,\"a\":1,\"a\":2}",
		  ERROR("7", "-32600", "duplicate object key near '\\\"a\\\"'") },
		{ "{\"id\":\"x\",\"a\":1e999}",
		  ERROR("\"x\"", "-32600", "real number overflow near '1e999'") },
		{ "{\"id\":7,\"id\":8}",
		  ERROR("null", "-32600", "duplicate object key near '\\\"id\\\"'") },
		{ "{\"id\":[1],\"a\":1e999}",
		  ERROR("null", "-32600", "real number overflow near '1e999'") },
		{ "{\"id\":5,\"a\":[[[[[[[[1]]]]]]]]}",
		  ERROR("5", "-32600", "nested deeper than 8 levels (max_depth)") },
	};
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	struct talk talk;

	(void)state;
	config.limits.json.depth = 8;
	talk_begin(&talk, &config);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		talk_say(&talk, cases[i].line);
		CHECK_NEXT(&talk, cases[i].want);
	}
	talk_end(&talk);
}

static void an_answer_too_long_becomes_an_error(void **state)
{
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	char long_text[600] = "";
	struct talk talk;

	(void)state;
	config.limits.max_line = 500;
	memset(long_text, 'x', sizeof long_text - 1);
	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "hold"));
	answer_text(talk.held, long_text);
	CHECK_NEXT(&talk, ERROR("1", "-32603",
	                        "the answer has 672 bytes; at most 500 can be sent (max_line)"));
	talk_end(&talk);
}

static void a_batch_too_long_says_so_for_what_does_not_fit(void **state)
{
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };
	char long_text[400] = "";
	struct talk talk;

	(void)state;
	config.limits.max_line = 500;
	memset(long_text, 'x', 250);
	talk_begin(&talk, &config);
	talk_say(&talk, "[" CALL("1", "hold") "," PING("2") "," PING("3") "]");
	answer_text(talk.held, long_text);
	assert_int_equal(json_array_size(json_array_get(talk.sent, 0)), 3);
	(void)talk_next(&talk);

	talk_say(&talk, "[" CALL("1", "hold") "," PING("2") "]");
	memset(long_text, 'x', 399);
	answer_text(talk.held, long_text);
	CHECK_NEXT(&talk,
	           "[" PONG("2") "," ERROR("1", "-32603",
	                                   "the answers to this batch are together too long to be "
	                                   "sent (max_line); send fewer requests at once") "]");
	talk_end(&talk);
}

static void progress_grows_and_is_rate_limited(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
	                "call\",\"params\":{\"name\":\"hold\","
	                "\"_meta\":{\"progressToken\":\"t\"}}}");
	mcp_call_progress(talk.held, 1, 0, "one");
	mcp_call_progress(talk.held, 1, 0, "not more");
	mcp_call_progress(talk.held, 0.5, 0, "less");
	talk.busy = true;
	mcp_call_progress(talk.held, 2, 0, "the client is slow");
	talk.busy = false;
	mcp_call_progress(talk.held, 3, 4, "%s", "");
	CHECK_NEXT(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
	                  "\"progressToken\":\"t\",\"progress\":1,\"message\":\"one\"}}");
	CHECK_NEXT(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
	                  "\"progressToken\":\"t\",\"progress\":3,\"total\":4}}");
	CHECK_SILENCE(&talk);
	for (int i = 0; i < 1000; i++)
		mcp_call_progress(talk.held, 10 + i, 0, "%s", "");
	/* The burst, and what little time has added to it. */
	assert_in_range(json_array_size(talk.sent), 8, 100);
	answer_text(talk.held, "done");
	talk_end(&talk);
}

static void without_a_token_there_is_no_progress(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, CALL("1", "hold"));
	mcp_call_progress(talk.held, 1, 2, "unasked");
	CHECK_SILENCE(&talk);
	answer_text(talk.held, "done");
	talk_end(&talk);
}

static void responses_and_unknown_notifications_are_let_go(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	talk_say(&talk,
	         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/whatever\",\"params\":[1]}");
	talk_say(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}");
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void features_without_tables_do_not_exist(void **state)
{
	static const char *const gone[] = { "tools/list",          "tools/call",
		                            "resources/list",      "resources/read",
		                            "prompts/list",        "prompts/get",
		                            "resources/subscribe", "completion/complete" };
	struct mcp_config config = { 0 };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	for (size_t i = 0; i < ARRAY_LEN(gone); i++) {
		char line[100], want[200];

		(void)snprintf(line, sizeof line,
		               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"}", gone[i]);
		(void)snprintf(
		        want, sizeof want,
		        ERROR("1", "-32601", "method '%s' is not known in revision 2025-03-26"),
		        gone[i]);
		talk_say(&talk, line);
		CHECK_NEXT(&talk, want);
	}
	talk_end(&talk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_now_or_later),
		TEST(a_failing_tool_is_a_result),
		TEST(an_unknown_tool_is_an_error_with_a_suggestion),
		TEST(a_cancelled_call_is_told_and_not_answered),
		TEST(closing_cancels_what_runs),
		TEST(tells_when_no_call_is_left),
		TEST(an_id_in_use_is_refused),
		TEST(calls_in_progress_are_bounded),
		TEST(a_cancelled_call_counts_until_it_stops),
		TEST(answering_twice_is_a_bug_that_stops_us),
		TEST(a_call_may_outlive_its_server),
		TEST(the_log_level_may_change_during_a_call),
		TEST(a_notification_too_long_is_let_go),
		TEST(refuses_cursors_it_did_not_give_out),
		TEST(messages_held_are_bounded),
		TEST(a_batch_is_answered_as_one),
		TEST(a_batch_dies_with_its_session),
		TEST(refuses_batches_and_says_why),
		TEST(refuses_unreadable_messages_by_id_if_it_can),
		TEST(an_answer_too_long_becomes_an_error),
		TEST(a_batch_too_long_says_so_for_what_does_not_fit),
		TEST(progress_grows_and_is_rate_limited),
		TEST(without_a_token_there_is_no_progress),
		TEST(responses_and_unknown_notifications_are_let_go),
		TEST(features_without_tables_do_not_exist),
	};

	return RUN_TESTS("mcp/session", tests);
}
