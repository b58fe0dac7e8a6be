/* The tools, resources and prompts of the catalogue, through a session. */
#include "base/clock.h"
#include "tools/catalogue.h"
#include "unit/mcp/talk.h"

#define ASK(id, method, params)                                                                    \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define CALL(id, name, arguments)                                                                  \
	ASK(id, "tools/call", "{\"name\":\"" name "\",\"arguments\":" arguments "}")

static const struct tools_limit limits[] = { { "max_line", "Bytes.", 10 } };

/* The catalogue in place of the talk's own tables. */
static void begin(struct talk *talk)
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
		                          .started_ms = clock_now_ms() };
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

static void wait_for_an_answer(struct talk *talk)
{
	while (json_array_size(talk->sent) == 0) {
		struct loop_timer *soon = loop_timer_new(talk->loop, (loop_fn *)loop_stop,
		                                         talk->loop);

		loop_timer_start(soon, 1);
		loop_run(talk->loop);
		(void)loop_timer_free(soon);
	}
}

#define BRIEF                                                                                      \
	"{\"version\":\"9\",\"revisions\":[\"2024-11-05\",\"2025-03-26\",\"2025-06-18\",\"2025-"   \
	"11-25\","                                                                                 \
	"\"2026-07-28\"],\"profile\":\"default\",\"engines\":[],\"uptime_s\":0"

static void server_info_tells_what_is_in_force(void **state)
{
	struct talk talk;

	(void)state;
	begin(&talk);
	talk_say(&talk, CALL("1", "server_info", "{}"));
	assert_string_equal(text_of(&talk), BRIEF "}");
	(void)talk_next(&talk);
	talk_say(&talk, CALL("2", "server_info", "{\"detail\":\"full\"}"));
	assert_string_equal(
	        text_of(&talk),
	        BRIEF ",\"limits\":[{\"name\":\"max_line\",\"value\":10,\"help\":\"Bytes.\"}]}");
	talk_end(&talk);
}

static void wait_waits_and_says_how_long(void **state)
{
	struct talk talk;

	(void)state;
	begin(&talk);
	talk_say(&talk, CALL("1", "wait", "{\"seconds\":0.01}"));
	CHECK_SILENCE(&talk);
	wait_for_an_answer(&talk);
	assert_memory_equal(text_of(&talk), "{\"waited_s\":0.", 14);
	talk_end(&talk);
}

static void wait_stops_when_it_is_cancelled(void **state)
{
	struct talk talk;

	(void)state;
	begin(&talk);
	talk_say(&talk, CALL("1", "wait", "{\"seconds\":300}"));
	mcp_server_when_idle(talk.server, (loop_fn *)loop_stop, talk.loop);
	talk_say(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
	                "\"requestId\":1}}");
	loop_run(talk.loop); /* returns, because nothing is being worked on any more */
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void wait_has_bounds(void **state)
{
	struct talk talk;

	(void)state;
	begin(&talk);
	talk_say(&talk, CALL("1", "wait", "{\"seconds\":300.1}"));
	assert_string_equal(text_of(&talk),
	                    "argument 'seconds': expected a number from 0 to 300, got "
	                    "the number 300.1");
	talk_end(&talk);
}

static void the_manual_of_a_tool_is_a_resource(void **state)
{
	struct talk talk;

	(void)state;
	begin(&talk);
	talk_say(&talk, ASK("1", "resources/read", "{\"uri\":\"belljar://tools/wait\"}"));
	assert_non_null(
	        strstr(talk_next(&talk), "\"text\":\"# wait\\n\\nWait for a number of seconds"));
	talk_say(&talk, ASK("1", "resources/read", "{\"uri\":\"belljar://tools/nothing\"}"));
	CHECK_NEXT(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32002,\"message\":"
	                  "\"there is no tool "
	                  "'nothing'\",\"data\":{\"uri\":\"belljar://tools/nothing\"}}}");
	talk_say(&talk,
	         ASK("1", "completion/complete",
	             "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"belljar://tools/{name}\"},"
	             "\"argument\":{\"name\":\"name\",\"value\":\"w\"}}"));
	CHECK_NEXT(
	        &talk,
	        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"completion\":{\"values\":[\"wait\"],"
	        "\"total\":1,\"hasMore\":false}}}");
	talk_end(&talk);
}

static void getting_started_may_name_a_task(void **state)
{
	struct talk talk;

	(void)state;
	begin(&talk);
	talk_say(&talk, ASK("1", "prompts/get", "{\"name\":\"getting_started\"}"));
	assert_null(strstr(talk_next(&talk), "Then do this"));
	talk_say(&talk, ASK("1", "prompts/get",
	                    "{\"name\":\"getting_started\",\"arguments\":{\"task\":\"sort it\"}}"));
	assert_non_null(strstr(talk_next(&talk), "Then do this: sort it\""));
	talk_end(&talk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(server_info_tells_what_is_in_force), TEST(wait_waits_and_says_how_long),
		TEST(wait_stops_when_it_is_cancelled),    TEST(wait_has_bounds),
		TEST(the_manual_of_a_tool_is_a_resource), TEST(getting_started_may_name_a_task),
	};

	return RUN_TESTS("tools/tools", tests);
}
