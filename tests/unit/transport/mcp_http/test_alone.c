/* test_alone.c - stateless requests, and the end of the server. */
#include "base/mem.h"
#include "unit/loop/run_loop.h"
#include "unit/transport/mcp_http/fake_http_impl.h"
#include "unit/transport/mcp_http/mcp_rig.h"

#define META                                                                                       \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define LISTEN                                                                                     \
	"{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"method\":\"subscriptions/listen\",\"params\":{" META  \
	",\"notifications\":{\"toolsListChanged\":true}}}"

static struct http_request *listen_with(struct rig *rig, const char *accept)
{
	return mcp_rig_send(rig, LISTEN,
	                    "POST /mcp\nHost: localhost\nContent-Type: application/json\n"
	                    "Accept: %s\nMcp-Method: subscriptions/listen\n"
	                    "MCP-Protocol-Version: 2026-07-28",
	                    accept);
}

static struct http_request *start_listen(struct rig *rig)
{
	return listen_with(rig, "application/json, text/event-stream");
}

static bool has(struct http_request *request, const char *text)
{
	return strstr(fake_response(request)->body, text) != NULL;
}

static void stateless_answer_has_no_ids(void **state)
{
	struct http_request *request;
	struct rig rig;

	mcp_rig_init(&rig);
	mcp_rig_start(&rig);
	request = mcp_rig_call_alone(&rig, "quick");
	assert_int_equal(fake_response(request)->status, 200);
	assert_string_equal(fake_field(request, "content-type"), "application/json");
	assert_null(fake_field(request, "mcp-session-id"));
	request = mcp_rig_call_alone(&rig, "talk");
	assert_string_equal(fake_field(request, "content-type"), "text/event-stream");
	assert_null(fake_field(request, "mcp-session-id"));
	assert_ptr_equal(strstr(fake_response(request)->body, "event: message\ndata: {"),
	                 fake_response(request)->body);
	mcp_rig_respond(&rig, "late");
	assert_true(has(request, "late") && !has(request, "id: ") && !has(request, "retry"));
	assert_true(fake_response(request)->is_ended);
	assert_int_equal(mcp_http_sessions(rig.http), 0);
	mcp_rig_done(&rig);
}

static void equal_ids_of_two_clients_do_not_collide(void **state)
{
	struct http_request *first, *second;
	struct rig rig;

	mcp_rig_init(&rig);
	mcp_rig_start(&rig);
	first = mcp_rig_call_alone(&rig, "hold");
	second = mcp_rig_call_alone(&rig, "quick"); /* id 7, too */
	assert_int_equal(fake_response(second)->status, 200);
	mcp_rig_respond(&rig, "late");
	assert_true(has(first, "late"));
	mcp_rig_done(&rig);
}

static void closing_the_connection_cancels(void **state)
{
	static const char *const tools[] = { "hold", "talk" };
	struct rig rig;

	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		mcp_rig_init(&rig);
		mcp_rig_start(&rig);
		fake_close(mcp_rig_call_alone(&rig, tools[i]));
		assert_true(rig.cancelled);
		mcp_rig_done(&rig);
	}
}

static void silent_stateless_call_becomes_an_event_stream(void **state)
{
	struct http_request *request;
	struct rig rig;

	mcp_rig_init(&rig);
	rig.config.limits.silence_ms = 1;
	mcp_rig_start(&rig);
	request = mcp_rig_call_alone(&rig, "hold");
	while (!fake_response(request)->is_stream)
		run_loop_for(rig.loop, 1);
	assert_string_equal(fake_response(request)->body, "");
	mcp_rig_respond(&rig, "late");
	assert_true(has(request, "event: message\ndata: {") && has(request, "late"));
	mcp_rig_done(&rig);
}

static void client_without_events_gets_json_only(void **state)
{
	static const char body[] =
	        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"talk\","
	        "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
	        "\"io.modelcontextprotocol/logLevel\":\"info\","
	        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
	struct http_request *request;
	struct rig rig;

	mcp_rig_init(&rig);
	rig.config.limits.silence_ms = 1;
	mcp_rig_start(&rig);
	request = mcp_rig_send(&rig, body,
	                       "POST /mcp\nHost: localhost\nContent-Type: application/json\n"
	                       "Accept: application/json\nMcp-Method: tools/call\nMcp-Name: talk\n"
	                       "MCP-Protocol-Version: 2026-07-28");
	run_loop_for(rig.loop, 10);
	assert_int_equal(fake_response(request)->status, 0);
	mcp_rig_respond(&rig, "late");
	assert_int_equal(fake_response(request)->status, 200);
	assert_true(has(request, "late") && !has(request, "words"));
	check_http_error(listen_with(&rig, "application/json"), 406, -32000, "text/event-stream");
	mcp_rig_done(&rig);
}

static void invalid_stateless_requests_have_their_status(void **state)
{
	static const struct {
		const char *body, *fields;
		int status, code;
	} cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META "}}",
		  "MCP-Protocol-Version: 2026-07-28\nMcp-Method: ping", 404, -32601 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{" META "}}",
		  "MCP-Protocol-Version: 2026-07-28\nMcp-Method: initialize", 404, -32601 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}",
		  "MCP-Protocol-Version: 2026-07-28", 400, -32020 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}",
		  "Mcp-Method: tools/list", 400, -32020 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}",
		  "MCP-Protocol-Version: 2025-11-25\nMcp-Method: tools/list", 400, -32020 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
		  "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/list", 400, -32602 },
		{ "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META
		  "}}]",
		  "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/list", 400, -32600 },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"tools/list\"}", "X: y", 400, -32600 },
	};
	struct rig rig;

	mcp_rig_init(&rig);
	mcp_rig_start(&rig);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_http_error(
		        mcp_rig_send(&rig, cases[i].body,
		                     "POST /mcp\nHost: localhost\nContent-Type: application/json\n"
		                     "%s",
		                     cases[i].fields),
		        cases[i].status, cases[i].code, "");
	mcp_rig_done(&rig);
}

static void listen_stream_carries_notifications_until_it_is_closed(void **state)
{
	struct http_request *first, *second;
	struct rig rig;

	mcp_rig_init(&rig);
	mcp_rig_start(&rig);
	first = start_listen(&rig);
	rig.credential = 2;
	second = start_listen(&rig);
	assert_true(has(first, "subscriptions/acknowledged"));
	mcp_server_list_changed(rig.server, NULL, MCP_LIST_TOOLS);
	assert_true(has(first, "tools/list_changed") && has(second, "tools/list_changed"));
	fake_close(first);
	mcp_server_list_changed(rig.server, NULL, MCP_LIST_TOOLS);
	mcp_http_close_credential(rig.http, 2);
	assert_true(has(second, "\"resultType\":\"complete\""));
	assert_true(fake_response(second)->is_ended);
	mcp_rig_done(&rig);
}

static void closed_credential_loses_its_sessions_and_calls_only(void **state)
{
	struct http_request *call;
	struct rig rig;
	char kept[64], lost[64];

	mcp_rig_begin(&rig, "2025-11-25", kept);
	rig.credential = 2;
	mcp_rig_initialize(&rig, "2025-11-25", lost);
	call = mcp_rig_call_alone(&rig, "hold");
	mcp_http_close_credential(rig.http, 3);
	assert_int_equal(mcp_http_sessions(rig.http), 2);
	mcp_http_close_credential(rig.http, 2);
	assert_true(rig.cancelled);
	assert_true(fake_response(call)->is_ended);
	assert_int_equal(mcp_http_sessions(rig.http), 1);
	assert_int_equal(fake_response(mcp_rig_post(&rig, lost, CALL_TOOL("quick")))->status, 404);
	assert_int_equal(fake_response(mcp_rig_post(&rig, kept, CALL_TOOL("quick")))->status, 200);
	mcp_rig_done(&rig);
}

static void on_stopped(void *ctx)
{
	struct rig *rig = ctx;

	rig->stopped++;
	loop_stop(rig->loop);
}

static void stop_lets_calls_finish(void **state)
{
	struct http_request *call, *listen, *stream;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-11-25", id);
	stream = mcp_rig_send(&rig, NULL, "GET /mcp\nHost: localhost\nMcp-Session-Id: %s", id);
	listen = start_listen(&rig);
	call = mcp_rig_post(&rig, id, CALL_TOOL("hold"));
	mcp_http_stop(rig.http, 60 * 1000, on_stopped, &rig);
	assert_true(fake_response(stream)->is_ended);
	assert_true(has(listen, "\"resultType\":\"complete\""));
	assert_true(fake_response(listen)->is_ended);
	check_http_error(mcp_rig_call_alone(&rig, "quick"), 503, -32000, "being stopped");
	assert_int_equal(
	        fake_response(mcp_rig_send(&rig, NULL, "GET /readyz\nHost: localhost"))->status,
	        503);
	assert_int_equal(
	        fake_response(mcp_rig_send(&rig, NULL, "GET /healthz\nHost: localhost"))->status,
	        200);
	run_loop_for(rig.loop, 5);
	assert_int_equal(rig.stopped, 0);
	mcp_rig_respond(&rig, "late");
	assert_true(has(call, "late"));
	loop_run(rig.loop);
	assert_int_equal(rig.stopped, 1);
	assert_int_equal(mcp_http_sessions(rig.http), 0);
	mcp_rig_done(&rig);
}

static void stop_cancels_calls_after_the_grace_period(void **state)
{
	struct http_request *call;
	struct rig rig;

	mcp_rig_init(&rig);
	mcp_rig_start(&rig);
	call = mcp_rig_call_alone(&rig, "hold");
	mcp_http_stop(rig.http, 1, on_stopped, &rig);
	loop_run(rig.loop);
	assert_int_equal(rig.stopped, 1);
	assert_true(rig.cancelled);
	check_http_error(call, 503, -32000, "being stopped");
	mcp_rig_done(&rig);
}

static void stop_without_calls_is_immediate(void **state)
{
	struct rig rig;

	mcp_rig_init(&rig);
	mcp_rig_start(&rig);
	mcp_http_stop(rig.http, 60 * 1000, on_stopped, &rig);
	assert_int_equal(rig.stopped, 0); /* from the loop only */
	loop_run(rig.loop);
	assert_int_equal(rig.stopped, 1);
	mcp_rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(stateless_answer_has_no_ids),
		TEST(equal_ids_of_two_clients_do_not_collide),
		TEST(closing_the_connection_cancels),
		TEST(silent_stateless_call_becomes_an_event_stream),
		TEST(client_without_events_gets_json_only),
		TEST(invalid_stateless_requests_have_their_status),
		TEST(listen_stream_carries_notifications_until_it_is_closed),
		TEST(closed_credential_loses_its_sessions_and_calls_only),
		TEST(stop_lets_calls_finish),
		TEST(stop_cancels_calls_after_the_grace_period),
		TEST(stop_without_calls_is_immediate),
	};

	watchdog_start();
	return RUN_TESTS("alone", all);
}
