/* test_sse.c - HTTP+SSE of 2024-11-05. */
#include "unit/loop/run_loop.h"
#include "unit/transport/mcp_http/fake_http_impl.h"
#include "unit/transport/mcp_http/mcp_rig.h"

static bool has(struct http_request *request, const char *text)
{
	return strstr(fake_response(request)->body, text) != NULL;
}

/* Opens a stream and writes the path of its endpoint event. */
static struct http_request *open_stream(struct rig *rig, const char *prefix, char path[256])
{
	struct http_request *stream = mcp_rig_send(rig, NULL, "GET %s/sse\nHost: localhost",
	                                           prefix);

	assert_int_equal(fake_response(stream)->status, 200);
	assert_string_equal(fake_field(stream, "content-type"), "text/event-stream");
	assert_null(fake_field(stream, "mcp-session-id"));
	assert_int_equal(
	        sscanf(fake_response(stream)->body, "event: endpoint\ndata: %255s\n\n", path), 1);
	fake_clear_body(stream);
	return stream;
}

static struct http_request *post(struct rig *rig, const char *path, const char *body)
{
	return mcp_rig_send(rig, body, "POST %s\nHost: localhost\nContent-Type: application/json",
	                    path);
}

static void responses_come_on_the_stream(void **state)
{
	struct http_request *stream, *request;
	struct rig rig;
	char path[256];

	mcp_rig_init(&rig);
	mcp_rig_start(&rig);
	stream = open_stream(&rig, "", path);
	assert_ptr_equal(strstr(path, "/messages/?session_id="), path);
	request = post(&rig, path,
	               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
	               "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
	               "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}");
	assert_int_equal(fake_response(request)->status, 202);
	assert_string_equal(fake_response(request)->body, "Accepted");
	assert_ptr_equal(strstr(fake_response(stream)->body, "event: message\ndata: {"),
	                 fake_response(stream)->body);
	fake_clear_body(stream);
	request = post(&rig, path, CALL_TOOL("talk"));
	assert_int_equal(fake_response(request)->status, 202);
	assert_true(has(stream, "words") && !has(stream, "id: "));
	mcp_rig_respond(&rig, "late");
	assert_true(has(stream, "late"));
	fake_clear_body(stream);
	request = post(&rig, path, "{nonsense");
	assert_int_equal(fake_response(request)->status, 202);
	assert_true(has(stream, "-32700"));
	assert_false(fake_response(stream)->is_ended);
	mcp_rig_done(&rig);
}

static void closed_stream_ends_the_session(void **state)
{
	struct http_request *stream;
	struct rig rig;
	char path[256];

	mcp_rig_init(&rig);
	mcp_rig_start(&rig);
	stream = open_stream(&rig, "", path);
	(void)post(&rig, path, CALL_TOOL("hold"));
	assert_int_equal(mcp_http_sessions(rig.http), 1);
	fake_close(stream);
	assert_true(rig.cancelled);
	assert_int_equal(mcp_http_sessions(rig.http), 0);
	check_http_error(post(&rig, path, CALL_TOOL("hold")), 404, -32001, "Session not found");
	mcp_rig_done(&rig);
}

static void session_is_named_by_the_query(void **state)
{
	static const struct {
		const char *path; /* %s: the id */
		int status;
	} cases[] = {
		{ "/messages/?session_id=%s", 202 },
		{ "/messages?session_id=%s", 202 },
		{ "/messages?sessionId=%s", 202 },
		{ "/messages?a=b&session_id=%s&c", 202 },
		{ "/messages", 400 },
		{ "/messages?session=%s", 400 },
		{ "/messages?session_id=", 404 },
		{ "/messages?session_id=%sx", 404 },
		{ "/messages?session_id=%s%%00", 404 },
		{ "/messages?session_id=%s&session_id=1", 404 },
		{ "/p/other/messages?session_id=%s", 404 },
	};
	struct rig rig;
	char path[256], target[300];
	const char *id;

	mcp_rig_init(&rig);
	mcp_rig_start(&rig);
	(void)open_stream(&rig, "", path);
	id = strchr(path, '=') + 1;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct http_request *request;
		const char *mark = strstr(cases[i].path, "%s");

		(void)snprintf(target, sizeof target, "%.*s%s%s",
		               mark != NULL ? (int)(mark - cases[i].path) : 255, cases[i].path,
		               mark != NULL ? id : "", mark != NULL ? mark + 2 : "");
		request = post(&rig, target,
		               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}");
		if (fake_response(request)->status != cases[i].status)
			fail_msg("%s: %d", target, fake_response(request)->status);
	}
	rig.user = "bob";
	check_http_error(post(&rig, path, CALL_TOOL("quick")), 404, -32001, "Session not found");
	rig.user = "ann";
	check_http_error(mcp_rig_send(&rig, CALL_TOOL("quick"), "POST %s\nHost: localhost", path),
	                 415, -32000, "application/json");
	check_http_error(mcp_rig_send(&rig, NULL, "GET /sse\nHost: localhost\nAccept: text/html"),
	                 406, -32000, "text/event-stream");
	(void)open_stream(&rig, "/p/other", path);
	assert_ptr_equal(strstr(path, "/p/other/messages/?session_id="), path);
	mcp_rig_done(&rig);
}

static void on_stopped(void *ctx)
{
	struct rig *rig = ctx;

	rig->stopped++;
	loop_stop(rig->loop);
}

static void stop_lets_calls_of_the_stream_finish(void **state)
{
	struct http_request *stream;
	struct rig rig;
	char path[256];

	mcp_rig_init(&rig);
	mcp_rig_start(&rig);
	stream = open_stream(&rig, "", path);
	(void)post(&rig, path, CALL_TOOL("hold"));
	mcp_http_stop(rig.http, 60 * 1000, on_stopped, &rig);
	assert_false(fake_response(stream)->is_ended);
	mcp_rig_respond(&rig, "late");
	assert_true(has(stream, "late"));
	loop_run(rig.loop);
	assert_true(fake_response(stream)->is_ended);
	mcp_rig_done(&rig);
}

static void busy_client_loses_log_messages_only(void **state)
{
	struct http_request *stream;
	struct rig rig;
	char path[256];

	mcp_rig_init(&rig);
	mcp_rig_start(&rig);
	stream = open_stream(&rig, "", path);
	fake_set_queued(stream, 2 * 1024 * 1024);
	(void)post(&rig, path, CALL_TOOL("talk"));
	assert_false(has(stream, "words"));
	mcp_rig_respond(&rig, "late");
	assert_true(has(stream, "late"));
	mcp_rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(responses_come_on_the_stream),
		TEST(closed_stream_ends_the_session),
		TEST(session_is_named_by_the_query),
		TEST(stop_lets_calls_of_the_stream_finish),
		TEST(busy_client_loses_log_messages_only),
	};

	watchdog_start();
	return RUN_TESTS("sse", all);
}
