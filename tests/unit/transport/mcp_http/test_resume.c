#include "base/mem.h"
#include "unit/loop/run_loop.h"
#include "unit/transport/mcp_http/fake_http_impl.h"
#include "unit/transport/mcp_http/mcp_rig.h"

static struct http_request *resume(struct rig *rig, const char *session, const char *last_id)
{
	return mcp_rig_send(rig, NULL,
	                    "GET /mcp\nHost: localhost\nAccept: text/event-stream\n"
	                    "Mcp-Session-Id: %s\nLast-Event-ID: %s",
	                    session, last_id);
}

static struct http_request *open_stream(struct rig *rig, const char *session)
{
	return mcp_rig_send(rig, NULL,
	                    "GET /mcp\nHost: localhost\nAccept: text/event-stream\n"
	                    "Mcp-Session-Id: %s",
	                    session);
}

static bool has(struct http_request *request, const char *text)
{
	return strstr(fake_response(request)->body, text) != NULL;
}

static void call_survives_a_cut_and_is_resumed(void **state)
{
	struct http_request *call, *again;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-11-25", id);
	call = mcp_rig_post(&rig, id, CALL_TOOL("talk"));
	assert_true(has(call, "id: 3-1\n"));
	fake_close(call);
	assert_false(rig.cancelled);
	again = resume(&rig, id, "3-0"); /* the client did not get the message */
	assert_int_equal(fake_response(again)->status, 200);
	assert_true(has(again, "id: 3-0\nretry: 1000\ndata: \n\nid: 3-1\n"));
	fake_clear_body(again);
	mcp_rig_respond(&rig, "late");
	assert_true(has(again, "id: 3-2\n") && has(again, "late"));
	assert_true(fake_response(again)->is_ended);
	mcp_rig_done(&rig);
}

static void response_is_kept_for_a_client_that_comes_back(void **state)
{
	struct http_request *call, *again;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-11-25", id);
	call = mcp_rig_post(&rig, id, CALL_TOOL("talk"));
	fake_close(call);
	mcp_rig_respond(&rig, "late");
	again = resume(&rig, id, "3-1");
	assert_false(has(again, "words"));
	assert_true(has(again, "late"));
	assert_true(fake_response(again)->is_ended);
	again = resume(&rig, id, "3-2"); /* nothing is missing */
	assert_int_equal(fake_response(again)->status, 200);
	assert_false(has(again, "late"));
	assert_true(fake_response(again)->is_ended);
	mcp_rig_done(&rig);
}

static void server_closes_a_stream_and_the_client_polls(void **state)
{
	struct http_request *call, *again;
	struct rig rig;
	char id[64];

	mcp_rig_init(&rig);
	rig.config.limits.retry_ms = 250;
	mcp_rig_start(&rig);
	mcp_rig_initialize(&rig, "2025-11-25", id);
	call = mcp_rig_post(&rig, id, CALL_TOOL("poll"));
	assert_string_equal(fake_response(call)->body, "id: 3-0\nretry: 250\ndata: \n\n");
	assert_true(fake_response(call)->is_ended);
	again = resume(&rig, id, "3-0");
	assert_false(fake_response(again)->is_ended);
	mcp_rig_respond(&rig, "late");
	assert_true(has(again, "id: 3-1\n") && has(again, "late"));
	assert_true(fake_response(again)->is_ended);
	mcp_rig_done(&rig);
}

static void stream_stays_open_for_clients_that_cannot_poll(void **state)
{
	struct http_request *call;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-06-18", id);
	call = mcp_rig_post(&rig, id, CALL_TOOL("poll"));
	assert_int_equal(fake_response(call)->status, 0);
	mcp_rig_respond(&rig, "late");
	assert_string_equal(fake_field(call, "content-type"), "application/json");
	call = mcp_rig_call_alone(&rig, "poll");
	assert_int_equal(fake_response(call)->status, 0);
	mcp_rig_respond(&rig, "late");
	assert_string_equal(fake_field(call, "content-type"), "application/json");
	mcp_rig_done(&rig);
}

static void unknown_event_ids_are_refused(void **state)
{
	static const char *const ids[] = { "3-3",
		                           "4-0",
		                           "5-0",
		                           "2-0",
		                           "1-0",
		                           "x",
		                           "",
		                           "3",
		                           "18446744073709551615-0",
		                           "3-18446744073709551615" };
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-11-25", id);
	fake_close(mcp_rig_post(&rig, id, CALL_TOOL("talk")));
	mcp_rig_respond(&rig, "late");
	(void)mcp_rig_post(&rig, id, CALL_TOOL("quick")); /* 4: JSON, which has no ids */
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		check_http_error(resume(&rig, id, ids[i]), 400, -32000, "Last-Event-ID is unknown");
	mcp_rig_done(&rig);
}

static void live_stream_is_not_opened_twice(void **state)
{
	struct http_request *call, *stream;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-11-25", id);
	call = mcp_rig_post(&rig, id, CALL_TOOL("talk"));
	check_http_error(resume(&rig, id, "3-0"), 409, -32000, "another connection");
	stream = open_stream(&rig, id);
	assert_string_equal(fake_response(stream)->body, "id: 0-0\nretry: 1000\ndata: \n\n");
	check_http_error(open_stream(&rig, id), 409, -32000, "another connection");
	check_http_error(resume(&rig, id, "0-0"), 409, -32000, "another connection");
	fake_close(stream);
	stream = open_stream(&rig, id);
	assert_int_equal(fake_response(stream)->status, 200);
	fake_close(call);
	assert_int_equal(fake_response(resume(&rig, id, "3-0"))->status, 200);
	mcp_rig_done(&rig);
}

static void events_of_other_sessions_cannot_be_resumed(void **state)
{
	struct rig rig;
	char mine[64], other[64], theirs[64];

	mcp_rig_begin(&rig, "2025-11-25", mine);
	fake_close(mcp_rig_post(&rig, mine, CALL_TOOL("talk")));
	mcp_rig_respond(&rig, "late");
	mcp_rig_initialize(&rig, "2025-11-25", other);
	check_http_error(resume(&rig, other, "3-0"), 400, -32000, "Last-Event-ID is unknown");
	rig.user = "bob";
	check_http_error(resume(&rig, mine, "3-0"), 404, -32001, "Session not found");
	mcp_rig_initialize(&rig, "2025-11-25", theirs);
	check_http_error(resume(&rig, theirs, "3-0"), 400, -32000, "Last-Event-ID is unknown");
	mcp_rig_done(&rig);
}

static void notifications_wait_for_the_stream_of_the_session(void **state)
{
	struct http_request *stream;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-06-18", id);
	mcp_server_list_changed(rig.server, NULL, MCP_LIST_TOOLS);
	stream = open_stream(&rig, id);
	assert_true(has(stream, "id: 0-1\n") && has(stream, "tools/list_changed"));
	mcp_server_list_changed(rig.server, NULL, MCP_LIST_TOOLS);
	assert_true(has(stream, "id: 0-2\n"));
	fake_close(stream);
	mcp_server_list_changed(rig.server, NULL, MCP_LIST_TOOLS);
	stream = open_stream(&rig, id); /* what no connection got */
	assert_true(has(stream, "id: 0-3\n") && !has(stream, "id: 0-2\n"));
	fake_close(stream);
	stream = resume(&rig, id, "0-1"); /* what the client did not get */
	assert_true(has(stream, "id: 0-2\n") && has(stream, "id: 0-3\n"));
	assert_false(fake_response(stream)->is_ended);
	mcp_rig_done(&rig);
}

static void oldest_events_are_removed_first(void **state)
{
	struct http_request *stream;
	struct rig rig;
	char id[64];

	mcp_rig_init(&rig);
	rig.config.limits.max_events = 2;
	mcp_rig_start(&rig);
	mcp_rig_initialize(&rig, "2025-06-18", id);
	fake_close(mcp_rig_post(&rig, id, CALL_TOOL("talk")));
	mcp_rig_respond(&rig, "late"); /* 3-1 and 3-2 are kept */
	mcp_server_list_changed(rig.server, NULL, MCP_LIST_TOOLS);
	check_http_error(resume(&rig, id, "3-0"), 400, -32000, "Last-Event-ID is unknown");
	assert_true(has(resume(&rig, id, "3-1"), "late"));
	mcp_server_list_changed(rig.server, NULL, MCP_LIST_TOOLS);
	check_http_error(resume(&rig, id, "3-1"), 400, -32000, "Last-Event-ID is unknown");
	mcp_server_list_changed(rig.server, NULL, MCP_LIST_TOOLS);
	check_http_error(resume(&rig, id, "0-0"), 400, -32000, "Last-Event-ID is unknown");
	stream = resume(&rig, id, "0-1");
	assert_true(has(stream, "id: 0-2\n") && has(stream, "id: 0-3\n"));
	mcp_rig_done(&rig);
}

static void bytes_of_events_are_limited(void **state)
{
	enum { OF_ONE_SESSION, OF_ONE_OWNER, OF_ALL, CASES };
	struct rig rig;
	char id[64];

	for (size_t i = 0; i < CASES; i++) {
		AUTO_FREE char *text = mem_new(2001);

		mcp_rig_init(&rig);
		if (i == OF_ONE_SESSION)
			rig.config.limits.max_event_bytes = 1000;
		else if (i == OF_ONE_OWNER)
			rig.config.limits.max_owner_bytes = 1000;
		else
			rig.config.limits.max_kept_bytes = 1000;
		mcp_rig_start(&rig);
		mcp_rig_initialize(&rig, "2025-11-25", id);
		fake_close(mcp_rig_post(&rig, id, CALL_TOOL("talk")));
		memset(text, 'x', 2000);
		mcp_rig_respond(&rig, text);
		check_http_error(resume(&rig, id, "3-1"), 400, -32000, "Last-Event-ID is unknown");
		/* An event that fits into the limit is kept after one that did not. */
		fake_close(mcp_rig_post(&rig, id, CALL_TOOL("talk")));
		mcp_rig_respond(&rig, "short");
		assert_true(has(resume(&rig, id, "4-1"), "short"));
		mcp_rig_done(&rig);
	}
}

static void events_of_finished_streams_expire(void **state)
{
	struct http_request *again;
	struct rig rig;
	char id[64];

	mcp_rig_init(&rig);
	rig.config.limits.events_kept_ms = 1;
	mcp_rig_start(&rig);
	mcp_rig_initialize(&rig, "2025-11-25", id);
	fake_close(mcp_rig_post(&rig, id, CALL_TOOL("talk")));
	run_loop_for(rig.loop, 10);
	mcp_rig_respond(&rig, "late"); /* the stream was not finished before */
	for (;;) {
		again = resume(&rig, id, "3-1");
		if (fake_response(again)->status == 400)
			break;
		run_loop_for(rig.loop, 5);
	}
	assert_int_equal(mcp_http_sessions(rig.http), 1);
	mcp_rig_done(&rig);
}

static void cut_before_any_message_loses_nothing(void **state)
{
	struct http_request *again;
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-11-25", id);
	fake_close(mcp_rig_post(&rig, id, CALL_TOOL("hold")));
	assert_false(rig.cancelled);
	mcp_rig_respond(&rig, "late");
	again = resume(&rig, id, "3-0");
	assert_true(has(again, "id: 3-1\n") && has(again, "late"));
	assert_true(fake_response(again)->is_ended);
	mcp_rig_done(&rig);
}

/* Clients before 2025-11-25 fail on the event that would give them an id. */
static void cut_before_any_event_loses_the_response_only(void **state)
{
	struct rig rig;
	char id[64];

	mcp_rig_begin(&rig, "2025-06-18", id);
	fake_close(mcp_rig_post(&rig, id, CALL_TOOL("hold")));
	assert_false(rig.cancelled);
	check_http_error(resume(&rig, id, "3-0"), 400, -32000, "Last-Event-ID is unknown");
	mcp_rig_respond(&rig, "late");
	assert_int_equal(fake_response(mcp_rig_post(&rig, id, CALL_TOOL("quick")))->status, 200);
	mcp_rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(call_survives_a_cut_and_is_resumed),
		TEST(response_is_kept_for_a_client_that_comes_back),
		TEST(server_closes_a_stream_and_the_client_polls),
		TEST(stream_stays_open_for_clients_that_cannot_poll),
		TEST(unknown_event_ids_are_refused),
		TEST(live_stream_is_not_opened_twice),
		TEST(events_of_other_sessions_cannot_be_resumed),
		TEST(notifications_wait_for_the_stream_of_the_session),
		TEST(oldest_events_are_removed_first),
		TEST(bytes_of_events_are_limited),
		TEST(events_of_finished_streams_expire),
		TEST(cut_before_any_message_loses_nothing),
		TEST(cut_before_any_event_loses_the_response_only),
	};

	watchdog_start();
	return RUN_TESTS("resume", all);
}
