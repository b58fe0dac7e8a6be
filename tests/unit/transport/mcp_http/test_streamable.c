#include "base/mem.h"
#include "unit/loop/run_loop.h"
#include "unit/transport/mcp_http/fake_http_impl.h"
#include "unit/transport/mcp_http/mcp_rig.h"

#define PING "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}"
#define PONG "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}"

static void response_that_comes_first_is_json(void **state)
{
	struct http_request *request;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-11-25", id);
	assert_int_equal(strlen(id), 40);
	request = mcp_rig_post(&rig, id, PING);
	assert_int_equal(fake_response(request)->status, 200);
	assert_string_equal(fake_response(request)->body, PONG);
	assert_string_equal(fake_field(request, "content-type"), "application/json");
	assert_string_equal(fake_field(request, "mcp-session-id"), id);
	mcp_rig_initialize(&rig, "2025-06-18", id);
	request = mcp_rig_post(&rig, id, CALL_TOOL("hold"));
	assert_int_equal(fake_response(request)->status, 0);
	mcp_rig_respond(&rig, "late");
	assert_int_equal(fake_response(request)->status, 200);
	assert_non_null(strstr(fake_response(request)->body, "late"));
	assert_string_equal(fake_field(request, "content-type"), "application/json");
	mcp_rig_done(&rig);
}

static void message_before_the_response_makes_it_an_event_stream(void **state)
{
	struct http_request *request;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-11-25", id);
	request = mcp_rig_post(&rig, id, CALL_TOOL("talk"));
	assert_int_equal(fake_response(request)->status, 200);
	assert_true(fake_response(request)->is_stream);
	assert_string_equal(fake_field(request, "content-type"), "text/event-stream");
	assert_string_equal(fake_field(request, "x-accel-buffering"), "no");
	assert_string_equal(fake_field(request, "cache-control"), "no-cache, no-transform");
	assert_string_equal(fake_field(request, "mcp-session-id"), id);
	assert_ptr_equal(strstr(fake_response(request)->body,
	                        "id: 3-0\nretry: 1000\ndata: \n\nid: 3-1\nevent: message\ndata: {"),
	                 fake_response(request)->body);
	assert_false(fake_response(request)->is_ended);
	mcp_rig_respond(&rig, "late");
	assert_non_null(strstr(fake_response(request)->body, "id: 3-2\nevent: message\ndata: "));
	assert_true(fake_response(request)->is_ended);
	mcp_rig_done(&rig);
}

static void older_clients_get_no_event_without_data(void **state)
{
	static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18" };
	struct http_request *request;
	struct rig rig;
	char id[64];

	for (size_t i = 0; i < ARRAY_LEN(revisions); i++) {
		mcp_rig_begin(&rig, revisions[i], id);
		request = mcp_rig_post(&rig, id, CALL_TOOL("talk"));
		assert_ptr_equal(strstr(fake_response(request)->body, "id: 3-1\nevent: message\n"),
		                 fake_response(request)->body);
		request = mcp_rig_send(&rig, NULL, "GET /mcp\nHost: localhost\nMcp-Session-Id: %s",
		                       id);
		assert_int_equal(fake_response(request)->status, 200);
		assert_string_equal(fake_response(request)->body, "");
		mcp_rig_done(&rig);
	}
}

static void silence_makes_it_an_event_stream(void **state)
{
	struct http_request *call;
	struct rig rig;
	char id[64];

	mcp_rig_init(&rig);
	rig.config.limits.silence_ms = 1;
	mcp_rig_start(&rig);
	mcp_rig_initialize(&rig, "2025-06-18", id);
	call = mcp_rig_post(&rig, id, CALL_TOOL("hold"));
	while (!fake_response(call)->is_stream)
		run_loop_for(rig.loop, 1);
	assert_string_equal(fake_response(call)->body, "");
	mcp_rig_done(&rig);
}

static void client_that_can_poll_gets_the_first_event_at_once(void **state)
{
	struct http_request *call;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-11-25", id);
	call = mcp_rig_post(&rig, id, CALL_TOOL("hold"));
	assert_string_equal(fake_field(call, "content-type"), "text/event-stream");
	assert_string_equal(fake_response(call)->body, "id: 3-0\nretry: 1000\ndata: \n\n");
	mcp_rig_respond(&rig, "late");
	assert_true(fake_response(call)->is_ended);
	mcp_rig_done(&rig);
}

static void notifications_and_responses_are_accepted(void **state)
{
	struct http_request *request;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-03-26", id);
	request = mcp_rig_post(&rig, id, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	assert_int_equal(fake_response(request)->status, 202);
	assert_int_equal(fake_response(request)->len, 0);
	request = mcp_rig_post(&rig, id, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]");
	assert_int_equal(fake_response(request)->status, 202);
	mcp_rig_done(&rig);
}

static void batch_has_one_response(void **state)
{
	struct http_request *request;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-03-26", id);
	request = mcp_rig_post(&rig, id, "[" PING "," CALL_TOOL("hold") "]");
	assert_int_equal(fake_response(request)->status, 0);
	mcp_rig_respond(&rig, "late");
	assert_int_equal(fake_response(request)->status, 200);
	assert_ptr_equal(strstr(fake_response(request)->body, "[" PONG ","),
	                 fake_response(request)->body);
	request = mcp_rig_post(&rig, id, "[]");
	check_http_error(request, 400, -32600, "empty batch");
	mcp_rig_initialize(&rig, "2025-06-18", id);
	check_http_error(mcp_rig_post(&rig, id, "[" PING "]"), 400, -32600, "has no batches");
	mcp_rig_done(&rig);
}

static void invalid_requests_have_their_status(void **state)
{
	static const char fields[] = "Content-Type: application/json\nAccept: */*\n";
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-11-25", id);
	check_http_error(mcp_rig_post(&rig, NULL, "{nonsense"), 400, -32700, "");
	check_http_error(mcp_rig_post(&rig, id, ""), 400, -32700, "");
	check_http_error(mcp_rig_post(&rig, id, "7"), 400, -32600, "");
	check_http_error(mcp_rig_post(&rig, NULL, PING), 400, -32000, "Mcp-Session-Id is missing");
	check_http_error(mcp_rig_post(&rig, "0123", PING), 404, -32001, "Session not found");
	check_http_error(mcp_rig_send(&rig, PING,
	                              "POST /mcp\nHost: localhost\nAccept: */*\n"
	                              "Content-Type: text/plain"),
	                 415, -32000, "application/json");
	check_http_error(mcp_rig_send(&rig, PING, "POST /mcp\nHost: localhost\nAccept: */*"), 415,
	                 -32000, "application/json");
	check_http_error(mcp_rig_send(&rig, PING,
	                              "POST /mcp\nHost: localhost\nContent-Type: application/json\n"
	                              "Accept: application/json\nMcp-Session-Id: %s",
	                              id),
	                 406, -32000, "text/event-stream");
	check_http_error(mcp_rig_send(&rig, PING,
	                              "POST /mcp\nHost: localhost\n%sMcp-Session-Id: %s\n"
	                              "MCP-Protocol-Version: 1999-01-01",
	                              fields, id),
	                 400, -32000, "MCP-Protocol-Version");
	check_http_error(mcp_rig_send(&rig, PING,
	                              "POST /p/other/mcp\nHost: localhost\n%sMcp-Session-Id: %s",
	                              fields, id),
	                 404, -32001, "Session not found");
	check_http_error(mcp_rig_send(&rig, PING,
	                              "POST /messages/?session_id=%s\nHost: localhost\n%s", id,
	                              fields),
	                 404, -32001, "Session not found");
	check_http_error(
	        mcp_rig_send(&rig, NULL, "GET /mcp\nHost: localhost\nAccept: application/json"),
	        406, -32000, "text/event-stream");
	check_http_error(mcp_rig_send(&rig, NULL, "GET /mcp\nHost: localhost"), 400, -32000,
	                 "Mcp-Session-Id is missing");
	check_http_error(mcp_rig_send(&rig, NULL, "DELETE /mcp\nHost: localhost"), 400, -32000,
	                 "Mcp-Session-Id is missing");
	check_http_error(mcp_rig_send(&rig, NULL, "GET /mcp\nHost: localhost\nMcp-Session-Id: x"),
	                 404, -32001, "Session not found");
	check_http_error(
	        mcp_rig_send(&rig, NULL,
	                     "GET /mcp\nHost: localhost\nMCP-Protocol-Version: 2026-07-28"),
	        405, -32000, "Allow");
	mcp_rig_done(&rig);
}

static void second_initialize_needs_another_session(void **state)
{
	static const char initialize[] =
	        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
	        "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
	        "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}";
	struct http_request *request;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-06-18", id);
	check_http_error(mcp_rig_post(&rig, id, initialize), 400, -32600, "initialized already");
	request = mcp_rig_post(&rig, "an-old-id", initialize);
	assert_int_equal(fake_response(request)->status, 200);
	assert_non_null(fake_field(request, "mcp-session-id"));
	assert_int_equal(mcp_http_sessions(rig.http), 2);
	request = mcp_rig_post(
	        &rig, NULL,
	        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":[]}");
	assert_null(fake_field(request, "mcp-session-id"));
	assert_non_null(strstr(fake_response(request)->body, "-32602"));
	assert_int_equal(mcp_http_sessions(rig.http), 2);
	mcp_rig_done(&rig);
}

static void delete_ends_the_session_and_its_calls(void **state)
{
	struct http_request *call, *stream, *request;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-06-18", id);
	stream = mcp_rig_send(&rig, NULL, "GET /mcp\nHost: localhost\nMcp-Session-Id: %s", id);
	call = mcp_rig_post(&rig, id, CALL_TOOL("hold"));
	request = mcp_rig_send(&rig, NULL, "DELETE /mcp\nHost: localhost\nMcp-Session-Id: %s", id);
	assert_int_equal(fake_response(request)->status, 200);
	assert_true(rig.cancelled);
	check_http_error(call, 404, -32001, "Session not found");
	assert_true(fake_response(stream)->is_ended);
	assert_int_equal(mcp_http_sessions(rig.http), 0);
	check_http_error(mcp_rig_post(&rig, id, PING), 404, -32001, "Session not found");
	mcp_rig_done(&rig);
}

static void cancelled_request_ends_without_a_response(void **state)
{
	struct http_request *call;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-06-18", id);
	call = mcp_rig_post(&rig, id, CALL_TOOL("hold"));
	(void)mcp_rig_post(&rig, id,
	                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	                   "\"params\":{\"requestId\":7}}");
	loop_run_deferred(rig.loop);
	assert_true(rig.cancelled);
	assert_true(fake_response(call)->is_ended);
	assert_int_equal(fake_response(call)->status, 200);
	assert_string_equal(fake_field(call, "content-type"), "text/event-stream");
	assert_string_equal(fake_response(call)->body, "");
	mcp_rig_done(&rig);
}

static void session_belongs_to_its_caller(void **state)
{
	struct http_request *mine, *theirs, *unknown;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-11-25", id);
	rig.user = "bob";
	theirs = mcp_rig_post(&rig, id, PING);
	unknown = mcp_rig_post(&rig, "0123", PING);
	assert_int_equal(fake_response(theirs)->status, 404);
	assert_string_equal(fake_response(theirs)->body, fake_response(unknown)->body);
	assert_string_equal(fake_response(theirs)->fields, fake_response(unknown)->fields);
	theirs = mcp_rig_send(&rig, NULL, "GET /mcp\nHost: localhost\nMcp-Session-Id: %s", id);
	assert_int_equal(fake_response(theirs)->status, 404);
	theirs = mcp_rig_send(&rig, NULL, "DELETE /mcp\nHost: localhost\nMcp-Session-Id: %s", id);
	assert_int_equal(fake_response(theirs)->status, 404);
	rig.user = "ann";
	rig.scopes = MCP_SCOPE_ALL; /* another token of the same user, with other rights */
	theirs = mcp_rig_post(&rig, id, PING);
	assert_int_equal(fake_response(theirs)->status, 404);
	rig.scopes = MCP_SCOPE_RUN;
	mine = mcp_rig_post(&rig, id, CALL_TOOL("quick"));
	assert_non_null(strstr(fake_response(mine)->body, "\"ann\""));
	mcp_rig_done(&rig);
}

static void missing_scope_is_named(void **state)
{
	struct http_request *request;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-11-25", id);
	request = mcp_rig_post(&rig, id, CALL_TOOL("secret"));
	assert_int_equal(fake_response(request)->status, 403);
	assert_string_equal(fake_field(request, "www-authenticate"),
	                    "Bearer error=\"insufficient_scope\", scope=\"admin\"");
	request = mcp_rig_call_alone(&rig, "secret");
	assert_int_equal(fake_response(request)->status, 403);
	mcp_rig_done(&rig);
}

static void idle_session_makes_room_for_another(void **state)
{
	struct http_request *request;
	struct rig rig;
	char first[64], second[64], third[64];

	mcp_rig_init(&rig);
	rig.config.limits.max_owner_sessions = 2;
	mcp_rig_start(&rig);
	mcp_rig_initialize(&rig, "2025-11-25", first);
	mcp_rig_initialize(&rig, "2025-11-25", second);
	(void)mcp_rig_post(&rig, first, PING); /* the second is now the oldest */
	mcp_rig_initialize(&rig, "2025-11-25", third);
	assert_int_equal(mcp_http_sessions(rig.http), 2);
	assert_int_equal(fake_response(mcp_rig_post(&rig, first, PING))->status, 200);
	assert_int_equal(fake_response(mcp_rig_post(&rig, second, PING))->status, 404);
	/* Sessions with a connection or a call stay. */
	(void)mcp_rig_post(&rig, first, CALL_TOOL("hold"));
	(void)mcp_rig_send(&rig, NULL, "GET /mcp\nHost: localhost\nMcp-Session-Id: %s", third);
	request = mcp_rig_send(&rig, NULL, "GET /sse\nHost: localhost");
	check_http_error(request, 503, -32000, "too many sessions");
	assert_string_equal(fake_field(request, "retry-after"), "5");
	rig.user = "bob";
	mcp_rig_initialize(&rig, "2025-11-25", second);
	assert_int_equal(mcp_http_sessions(rig.http), 3);
	mcp_rig_done(&rig);
}

static void idle_session_expires(void **state)
{
	struct rig rig;
	char idle[64], used[64];

	mcp_rig_init(&rig);
	rig.config.limits.session_idle_ms = 1;
	mcp_rig_start(&rig);
	mcp_rig_initialize(&rig, "2025-11-25", used);
	(void)mcp_rig_send(&rig, NULL, "GET /mcp\nHost: localhost\nMcp-Session-Id: %s", used);
	mcp_rig_initialize(&rig, "2025-11-25", idle);
	while (mcp_http_sessions(rig.http) > 1)
		run_loop_for(rig.loop, 1);
	run_loop_for(rig.loop, 10);
	assert_int_equal(fake_response(mcp_rig_post(&rig, used, PING))->status, 200);
	check_http_error(mcp_rig_post(&rig, idle, PING), 404, -32001, "Session not found");
	mcp_rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(response_that_comes_first_is_json),
		TEST(message_before_the_response_makes_it_an_event_stream),
		TEST(older_clients_get_no_event_without_data),
		TEST(silence_makes_it_an_event_stream),
		TEST(client_that_can_poll_gets_the_first_event_at_once),
		TEST(notifications_and_responses_are_accepted),
		TEST(batch_has_one_response),
		TEST(invalid_requests_have_their_status),
		TEST(second_initialize_needs_another_session),
		TEST(delete_ends_the_session_and_its_calls),
		TEST(cancelled_request_ends_without_a_response),
		TEST(session_belongs_to_its_caller),
		TEST(missing_scope_is_named),
		TEST(idle_session_makes_room_for_another),
		TEST(idle_session_expires),
	};

	watchdog_start();
	return RUN_TESTS("streamable", all);
}
