/* Tasks: whose they are, how many there are, and what ends them. */
#include "mcp/task/task.h"
#include "unit/mcp/fake_client.h"

#define TASKS_META                                                                                 \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{"                         \
	"\"io.modelcontextprotocol/tasks\":{}}}}"
#define CALL_WORK REQUEST("tools/call", "{\"name\":\"work\"," TASKS_META "}")

static int work_as_task(struct mcp_call *call, const void *args, struct error *err)
{
	if (!mcp_call_start_task(call)) {
		mcp_respond_content(call, json_list(), NULL);
		return 0;
	}
	assert_true(mcp_call_is_task(call));
	assert_true(mcp_call_start_task(call)); /* is one already */
	return peer_hold(call, args, err);
}

static const struct mcp_tool worker = {
	.name = "work", .help = "Works.", .task = MCP_TASK_OPTIONAL, .call = work_as_task
};
static const struct mcp_tool never = { .name = "never", .help = "Works.", .call = work_as_task };
static const struct mcp_tool *const tools[] = { &worker, &never, NULL };

static int set_up(void **state)
{
	struct peer *peer = malloc(sizeof *peer);
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };

	config.limits.max_tasks = 2;
	peer_open(peer, &config);
	*state = peer;
	return 0;
}

static int set_up_small(void **state)
{
	struct peer *peer = malloc(sizeof *peer);
	struct mcp_config config = { .tools = tools, .limits = mcp_default_limits };

	config.limits.max_held = 2000;
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

static void get_string(const char *response, const char *key, char out[64])
{
	json_t *message = json_loads(response, 0, NULL);
	const json_t *result = json_object_get(message, "result");
	const char *text = json_text(result, key);

	(void)snprintf(out, 64, "%s", text != NULL ? text : "(none)");
	json_decref(message);
}

static void start_task(struct peer *peer, char id[64])
{
	char type[64];
	const char *response;

	peer_send(peer, CALL_WORK);
	response = peer_next(peer);
	get_string(response, "resultType", type);
	get_string(response, "taskId", id);
	assert_string_equal(type, "task");
	assert_int_equal(strlen(id), 28);
}

static const char *send_task_method(struct peer *peer, const char *method, const char *id)
{
	char line[600];

	(void)snprintf(
	        line, sizeof line,
	        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/%s\",\"params\":{\"taskId\":"
	        "\"%s\",\"inputResponses\":{}," TASKS_META "}}",
	        method, id);
	peer_send(peer, line);
	return peer_next(peer);
}

static void check_status(struct peer *peer, const char *id, const char *want)
{
	char status[64];

	get_string(send_task_method(peer, "get", id), "status", status);
	assert_string_equal(status, want);
}

static void task_has_the_result_of_its_handler(void **state)
{
	struct peer *peer = *state;
	struct mcp_call *first;
	char id[64], other[64];

	start_task(peer, id);
	first = peer->held;
	check_status(peer, id, "working");
	start_task(peer, other); /* the id of the request is free again */
	assert_string_not_equal(id, other);
	mcp_respond_content(peer->held, json_list(), NULL);
	check_status(peer, other, "completed");
	assert_non_null(strstr(send_task_method(peer, "get", other), "\"result\":{\"content\":[]"));
	check_status(peer, id, "working");
	peer->held = first;
	assert_non_null(strstr(send_task_method(peer, "cancel", id), "\"result\":{\"_meta\""));
	check_status(peer, id, "cancelled");
	assert_int_equal(peer->cancelled, 1);
	mcp_respond_content(first, json_list(), NULL);
	check_status(peer, id, "cancelled");
}

static void task_of_another_owner_is_unknown(void **state)
{
	static const char *const methods[] = { "get", "cancel", "update" };
	struct peer *peer = *state, other;
	char id[64];

	start_task(peer, id);
	peer_join_as(&other, peer->server, "them");
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		char *theirs = strdup(send_task_method(&other, methods[i], id));

		assert_non_null(strstr(theirs, "\"code\":-32602"));
		assert_string_equal(theirs, send_task_method(&other, methods[i],
		                                             "t_aaaaaaaaaaaaaaaaaaaaaaaaaa"));
		free(theirs);
	}
	check_status(peer, id, "working");
	mcp_respond_content(peer->held, json_list(), NULL);
	peer_leave(&other);
}

static void number_of_tasks_is_limited_by_owner(void **state)
{
	struct peer *peer = *state, other;
	char id[64], type[64];

	start_task(peer, id);
	mcp_respond_content(peer->held, json_list(), NULL);
	start_task(peer, id);
	peer_send(peer, CALL_WORK); /* the third is answered at once */
	get_string(peer_next(peer), "resultType", type);
	assert_string_equal(type, "complete");
	mcp_respond_content(peer->held, json_list(), NULL);
	peer_join_as(&other, peer->server, "them");
	start_task(&other, id); /* another owner has a limit of its own */
	mcp_respond_content(peer->held, json_list(), NULL);
	peer_leave(&other);
}

static void results_that_are_not_fetched_have_a_limit(void **state)
{
	struct peer *peer = *state;
	char ids[3][64], text[700];

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (size_t i = 0; i < 3; i++) {
		json_t *content = json_list();

		start_task(peer, ids[i]);
		json_push(content, mcp_text("%s", text));
		mcp_respond_content(peer->held, content, NULL);
	}
	assert_non_null(strstr(send_task_method(peer, "get", ids[0]), "-32602"));
	check_status(peer, ids[1], "completed");
	check_status(peer, ids[2], "completed");
}

static void task_on_a_connection_ends_with_it(void **state)
{
	struct peer *peer = *state, other;
	char id[64];

	peer_join(&other, peer->server);
	start_task(&other, id);
	peer_leave(&other);
	assert_int_equal(peer->cancelled, 1);
	check_status(peer, id, "working"); /* until the handler has responded */
	mcp_respond_content(peer->held, json_list(), NULL);
	check_status(peer, id, "cancelled");
}

struct post {
	struct mcp_sink sink;
	char text[2048];
	size_t done;
};

static void on_send(struct mcp_sink *sink, const struct mcp_message *message)
{
	struct post *post = container_of(sink, struct post, sink);

	memcpy(post->text, message->text.ptr, message->text.len);
	post->text[message->text.len] = '\0';
}

static bool is_busy(struct mcp_sink *sink)
{
	return false;
}

static void on_done(struct mcp_sink *sink)
{
	container_of(sink, struct post, sink)->done++;
}

static void task_of_a_post_outlasts_its_session(void **state)
{
	const struct mcp_headers headers = { .version = "2026-07-28",
		                             .method = "tools/call",
		                             .name = "work" };
	struct post post = { .sink = { .send = on_send, .is_busy = is_busy, .done = on_done } };
	struct peer *peer = *state;
	struct mcp_session *session;
	char id[64];

	session = mcp_session_new(peer->server, &post.sink,
	                          &(struct mcp_caller){ .owner = "me", .scopes = MCP_SCOPE_ALL });
	mcp_session_receive_on(session, mcp_input_new(peer->server, view_of(CALL_WORK)), &post.sink,
	                       &headers);
	assert_int_equal(post.done, 1);
	get_string(post.text, "taskId", id);
	mcp_session_close(session);
	assert_int_equal(peer->cancelled, 0);
	check_status(peer, id, "working");
	mcp_call_progress(peer->held, 1, 2, "half done");
	assert_non_null(
	        strstr(send_task_method(peer, "get", id), "\"statusMessage\":\"half done\""));
	mcp_server_cancel_tasks(peer->server);
	assert_int_equal(peer->cancelled, 1);
	check_status(peer, id, "cancelled");
	mcp_respond_content(peer->held, json_list(), NULL);
}

static void tool_without_tasks_does_not_become_one(void **state)
{
	struct peer *peer = *state;
	char type[64];

	peer_send(peer, REQUEST("tools/call", "{\"name\":\"never\"," TASKS_META "}"));
	get_string(peer_next(peer), "resultType", type);
	assert_string_equal(type, "complete");
}

static void unfinished_task_does_not_keep_the_server(void **state)
{
	struct peer *peer = *state;
	char id[64];

	start_task(peer, id); /* tear_down() frees the server; the handler never responds */
	mcp_session_close(peer->session);
	peer->session = NULL;
	mcp_respond_content(peer->held, json_list(), NULL);
}

#define IN_SESSION(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SESSION(task_has_the_result_of_its_handler),
		IN_SESSION(task_of_another_owner_is_unknown),
		IN_SESSION(number_of_tasks_is_limited_by_owner),
		cmocka_unit_test_setup_teardown(results_that_are_not_fetched_have_a_limit,
		                                set_up_small, tear_down),
		IN_SESSION(task_on_a_connection_ends_with_it),
		IN_SESSION(task_of_a_post_outlasts_its_session),
		IN_SESSION(tool_without_tasks_does_not_become_one),
		IN_SESSION(unfinished_task_does_not_keep_the_server),
	};

	return RUN_TESTS("mcp/task/task", tests);
}
