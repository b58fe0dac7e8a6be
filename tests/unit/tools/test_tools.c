/* The tools, resources and prompts of the catalogue, through a session. */
#include "base/clock.h"
#include "tools/catalogue.h"
#include "unit/mcp/fake_client.h"

#define ASK(id, method, params)                                                                    \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define CALL(id, name, arguments)                                                                  \
	ASK(id, "tools/call", "{\"name\":\"" name "\",\"arguments\":" arguments "}")

static const struct tools_limit limits[] = { { "max_line", "Bytes.", 10 } };

/* Starts a session whose server has the catalogue instead of the test's own tables. */
static void begin_talk(struct peer *peer)
{
	static struct tools_context context;
	struct mcp_config config = { .tools = catalogue_tools,
		                     .resources = catalogue_resources,
		                     .templates = catalogue_templates,
		                     .prompts = catalogue_prompts };

	context = (struct tools_context){ .version = "9",
		                          .profile = "default",
		                          .limits = limits,
		                          .limit_count = 1,
		                          .started_ms = clock_now_ms(),
		                          .why_not = "there is no kernel for it" };
	peer_open(peer, &config);
	mcp_session_close(peer->session);
	(void)mcp_server_free(peer->server);
	config.app = &context;
	peer->server = mcp_server_new(peer->loop, &config);
	peer->session = mcp_session_new(
	        peer->server, &peer->sink,
	        &(struct mcp_caller){ .owner = "me", .scopes = MCP_SCOPE_ALL });
}

/* The text of the answer's first block. */
static const char *text_of(struct peer *peer)
{
	const json_t *result = json_object_get(json_array_get(peer->sent, 0), "result");

	return json_text(json_array_get(json_object_get(result, "content"), 0), "text");
}

#define BRIEF                                                                                      \
	"{\"version\":\"9\",\"revisions\":[\"2024-11-05\",\"2025-03-26\",\"2025-06-18\",\"2025-"   \
	"11-25\","                                                                                 \
	"\"2026-07-28\"],\"profile\":\"default\",\"engines\":[],\"why_not\":\"there is no "        \
	"kernel for it\",\"client_roots\":false,\"uptime_s\":0"

static void server_info_shows_limits_in_force(void **state)
{
	struct peer peer;

	begin_talk(&peer);
	peer_send(&peer, CALL("1", "server_info", "{}"));
	assert_string_equal(text_of(&peer), BRIEF "}");
	(void)peer_next(&peer);
	peer_send(&peer, CALL("2", "server_info", "{\"detail\":\"full\"}"));
	assert_string_equal(
	        text_of(&peer),
	        BRIEF ",\"limits\":[{\"name\":\"max_line\",\"value\":10,\"help\":\"Bytes.\"}]}");
	peer_close(&peer);
}

/* Every tool that needs an engine fails with the reason why there is none. */
static void tools_fail_with_the_reason_without_an_engine(void **state)
{
	struct peer peer;

	begin_talk(&peer);
	peer_send(&peer, CALL("1", "run_command", "{\"command\":\"true\"}"));
	assert_string_equal(text_of(&peer), "nothing can be run here: there is no kernel for it. "
	                                    "'belljar doctor' says what is missing");
	(void)peer_next(&peer);
	peer_send(&peer, CALL("1", "list_sandboxes", "{}"));
	assert_memory_equal(text_of(&peer), "nothing can be run here: ", 25);
	peer_close(&peer);
}

static void tool_manual_is_a_resource(void **state)
{
	struct peer peer;

	begin_talk(&peer);
	peer_send(&peer, ASK("1", "resources/read", "{\"uri\":\"belljar://tools/server_info\"}"));
	assert_non_null(strstr(peer_next(&peer),
	                       "\"text\":\"# server_info\\n\\nShow the server's version"));
	peer_send(&peer, ASK("1", "resources/read", "{\"uri\":\"belljar://tools/nothing\"}"));
	CHECK_NEXT(&peer,
	           "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32002,\"message\":\"there "
	           "is no tool 'nothing'; tools/list shows "
	           "all\",\"data\":{\"uri\":\"belljar://tools/nothing\"}}}");
	peer_send(&peer,
	          ASK("1", "completion/complete",
	              "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"belljar://tools/{name}\"},"
	              "\"argument\":{\"name\":\"name\",\"value\":\"server\"}}"));
	CHECK_NEXT(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"completion\":{\"values\":["
	                  "\"server_info\"],"
	                  "\"total\":1,\"hasMore\":false}}}");
	peer_close(&peer);
}

static void getting_started_takes_a_task(void **state)
{
	struct peer peer;

	begin_talk(&peer);
	peer_send(&peer, ASK("1", "prompts/get", "{\"name\":\"getting_started\"}"));
	assert_null(strstr(peer_next(&peer), "The task: "));
	peer_send(&peer,
	          ASK("1", "prompts/get",
	              "{\"name\":\"getting_started\",\"arguments\":{\"task\":\"sort it\"}}"));
	assert_non_null(strstr(peer_next(&peer), "\\n\\nThe task: sort it\""));
	peer_close(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(server_info_shows_limits_in_force),
		TEST(tools_fail_with_the_reason_without_an_engine),
		TEST(tool_manual_is_a_resource),
		TEST(getting_started_takes_a_task),
	};

	return RUN_TESTS("tools/tools", tests);
}
