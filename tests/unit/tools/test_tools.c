/* The tools, resources and prompts of the catalogue, through a session. */
#include "base/clock.h"
#include "tools/catalogue.h"
#include "unit/mcp/talk.h"

#define ASK(id, method, params)                                                                    \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define CALL(id, name, arguments)                                                                  \
	ASK(id, "tools/call", "{\"name\":\"" name "\",\"arguments\":" arguments "}")

static const struct tools_limit limits[] = { { "max_line", "Bytes.", 10 } };

/* Starts a session whose server has the catalogue instead of the test's own tables. */
static void begin_talk(struct talk *talk)
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
	talk_begin(talk, &config);
	mcp_session_close(talk->session);
	(void)mcp_server_free(talk->server);
	config.app = &context;
	talk->server = mcp_server_new(talk->loop, &config);
	talk->session = mcp_session_new(talk->server, &talk->sink);
}

/* The text of the answer's first block. */
static const char *text_of(struct talk *talk)
{
	const json_t *result = json_object_get(json_array_get(talk->sent, 0), "result");

	return json_text(json_array_get(json_object_get(result, "content"), 0), "text");
}

#define BRIEF                                                                                      \
	"{\"version\":\"9\",\"revisions\":[\"2024-11-05\",\"2025-03-26\",\"2025-06-18\",\"2025-"   \
	"11-25\","                                                                                 \
	"\"2026-07-28\"],\"profile\":\"default\",\"engines\":[],\"why_not\":\"there is no "        \
	"kernel for it\",\"uptime_s\":0"

static void server_info_shows_limits_in_force(void **state)
{
	struct talk talk;

	(void)state;
	begin_talk(&talk);
	talk_say(&talk, CALL("1", "server_info", "{}"));
	assert_string_equal(text_of(&talk), BRIEF "}");
	(void)talk_next(&talk);
	talk_say(&talk, CALL("2", "server_info", "{\"detail\":\"full\"}"));
	assert_string_equal(
	        text_of(&talk),
	        BRIEF ",\"limits\":[{\"name\":\"max_line\",\"value\":10,\"help\":\"Bytes.\"}]}");
	talk_end(&talk);
}

/* Every tool that needs an engine fails with the reason why there is none. */
static void tools_fail_with_the_reason_without_an_engine(void **state)
{
	struct talk talk;

	(void)state;
	begin_talk(&talk);
	talk_say(&talk, CALL("1", "run_command", "{\"command\":\"true\"}"));
	assert_string_equal(text_of(&talk), "nothing can be run here: there is no kernel for it. "
	                                    "'belljar doctor' tells more");
	(void)talk_next(&talk);
	talk_say(&talk, CALL("1", "list_sandboxes", "{}"));
	assert_memory_equal(text_of(&talk), "nothing can be run here: ", 25);
	talk_end(&talk);
}

static void tool_manual_is_a_resource(void **state)
{
	struct talk talk;

	(void)state;
	begin_talk(&talk);
	talk_say(&talk, ASK("1", "resources/read", "{\"uri\":\"belljar://tools/server_info\"}"));
	assert_non_null(
	        strstr(talk_next(&talk), "\"text\":\"# server_info\\n\\nShow what this server is"));
	talk_say(&talk, ASK("1", "resources/read", "{\"uri\":\"belljar://tools/nothing\"}"));
	CHECK_NEXT(&talk,
	           "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32002,\"message\":\"there "
	           "is no tool 'nothing'; tools/list shows "
	           "all\",\"data\":{\"uri\":\"belljar://tools/nothing\"}}}");
	talk_say(&talk,
	         ASK("1", "completion/complete",
	             "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"belljar://tools/{name}\"},"
	             "\"argument\":{\"name\":\"name\",\"value\":\"server\"}}"));
	CHECK_NEXT(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"completion\":{\"values\":["
	                  "\"server_info\"],"
	                  "\"total\":1,\"hasMore\":false}}}");
	talk_end(&talk);
}

static void getting_started_takes_a_task(void **state)
{
	struct talk talk;

	(void)state;
	begin_talk(&talk);
	talk_say(&talk, ASK("1", "prompts/get", "{\"name\":\"getting_started\"}"));
	assert_null(strstr(talk_next(&talk), "The task: "));
	talk_say(&talk, ASK("1", "prompts/get",
	                    "{\"name\":\"getting_started\",\"arguments\":{\"task\":\"sort it\"}}"));
	assert_non_null(strstr(talk_next(&talk), "\\n\\nThe task: sort it\""));
	talk_end(&talk);
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
