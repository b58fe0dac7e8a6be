/* The handshake, its stateless counterpart, and the two small methods beside them. */
#include "mcp/call.h"
#include "unit/mcp/talk.h"

#define ASK(method, params)                                                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"
#define RESULT(result)      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" result "}"
#define INITIALIZE(version) ASK("initialize", "{\"protocolVersion\":\"" version "\"}")
#define CLAIM                                                                                      \
	"{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                  \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}}"
#define UNKNOWN(revision)                                                                          \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"method 'nope' is " \
	"not known in "                                                                            \
	"revision " revision "\"}}"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

static int hold(struct mcp_call *call, const void *args, struct error *err)
{
	struct talk *talk = mcp_call_app(call);

	(void)args, (void)err;
	talk->held = call;
	return 0;
}

static const struct mcp_tool holder = { .name = "hold", .help = "Waits.", .call = hold };
static const struct mcp_tool *const tools[] = { &holder, NULL };
static const struct mcp_prompt prompt = { .name = "p", .get = hold };
static const struct mcp_prompt *const prompts[] = { &prompt, NULL };
static const struct mcp_resource resource = { .uri = "r://a", .name = "a", .read = hold };
static const struct mcp_resource *const resources[] = { &resource, NULL };
static const struct mcp_template template = { .uri_template = "t://{x}",
	                                      .name = "t",
	                                      .read = hold };
static const struct mcp_template *const templates[] = { &template, NULL };
static const struct mcp_icon icon = { .src = "data:,x", .mime_type = "image/png", .sizes = "1x1" };

static void check_negotiation(const char *line, const char *revision)
{
	struct mcp_config config = { 0 };
	struct talk talk;
	char want[300];

	talk_begin(&talk, &config);
	talk_say(&talk, line);
	(void)snprintf(want, sizeof want,
	               RESULT("{\"protocolVersion\":\"%s\",\"capabilities\":{\"logging\":{}},"
	                      "\"serverInfo\":{\"name\":\"test\",\"version\":\"1\"}}"),
	               revision);
	CHECK_NEXT(&talk, want);
	talk_say(&talk, ASK("nope", "{}")); /* the revision is kept */
	(void)snprintf(want, sizeof want, UNKNOWN("%s"), revision);
	CHECK_NEXT(&talk, want);
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void a_revision_with_a_handshake_is_echoed(void **state)
{
	(void)state;
	check_negotiation(INITIALIZE("2024-11-05"), "2024-11-05");
	check_negotiation(INITIALIZE("2025-03-26"), "2025-03-26");
	check_negotiation(INITIALIZE("2025-06-18"), "2025-06-18");
	check_negotiation(INITIALIZE("2025-11-25"), "2025-11-25");
}

static void any_other_revision_is_answered_with_the_newest(void **state)
{
	static const char *const lines[] = {
		INITIALIZE("2026-07-28"),
		INITIALIZE("2027-01-01"),
		INITIALIZE("2024-10-07"),
		INITIALIZE("2025-06-18 "),
		INITIALIZE(""),
		INITIALIZE("2025-06-18\\u0000"),
		ASK("initialize", "{}"),
		ASK("initialize", "null"),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}",
		ASK("initialize", "{\"protocolVersion\":null}"),
		ASK("initialize", "{\"protocolVersion\":20250618}"),
		ASK("initialize", "{\"protocolVersion\":[\"2025-06-18\"]}"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		check_negotiation(lines[i], "2025-11-25");
}

static void the_server_says_of_itself_what_the_revision_knows(void **state)
{
	static const struct {
		const char *line, *revision, *info;
	} cases[] = {
		{ INITIALIZE("2024-11-05"), "2024-11-05", "{\"name\":\"test\",\"version\":\"1\"}" },
		{ INITIALIZE("2025-03-26"), "2025-03-26", "{\"name\":\"test\",\"version\":\"1\"}" },
		{ INITIALIZE("2025-06-18"), "2025-06-18",
		  "{\"name\":\"test\",\"version\":\"1\",\"title\":\"Test\"}" },
		{ INITIALIZE("2025-11-25"), "2025-11-25",
		  "{\"name\":\"test\",\"version\":\"1\",\"title\":\"Test\",\"description\":\"Tests."
		  "\","
		  "\"websiteUrl\":\"http://"
		  "w\",\"icons\":[{\"src\":\"data:,x\",\"mimeType\":\"image/png\","
		  "\"sizes\":[\"1x1\"]}]}" },
	};
	struct mcp_config config = { .title = "Test",
		                     .help = "Tests.",
		                     .website = "http://w",
		                     .icon = &icon,
		                     .instructions = "Use it." };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char want[500];

		talk_say(&talk, cases[i].line);
		(void)snprintf(
		        want, sizeof want,
		        RESULT("{\"protocolVersion\":\"%s\",\"capabilities\":{\"logging\":{}},"
		               "\"serverInfo\":%s,\"instructions\":\"Use it.\"}"),
		        cases[i].revision, cases[i].info);
		CHECK_NEXT(&talk, want);
	}
	talk_end(&talk);
}

static void an_icon_needs_no_type_and_no_sizes(void **state)
{
	static const struct mcp_icon bare = { .src = "data:,y" };
	struct mcp_config config = { .icon = &bare };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, INITIALIZE("2025-11-25"));
	CHECK_NEXT(&talk,
	           RESULT("{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"logging\":{}},"
	                  "\"serverInfo\":{\"name\":\"test\",\"version\":\"1\","
	                  "\"icons\":[{\"src\":\"data:,y\"}]}}"));
	talk_end(&talk);
}

static void capabilities_follow_from_the_tables(void **state)
{
	static const struct {
		struct mcp_config config;
		const char *revision, *want;
	} cases[] = {
		{ { 0 }, "2025-11-25", "{\"logging\":{}}" },
		{ { .lists_change = true, .resources_change = true },
		  "2025-11-25",
		  "{\"logging\":{}}" },
		{ { .tools = tools }, "2025-11-25", "{\"logging\":{},\"tools\":{}}" },
		{ { .tools = tools, .lists_change = true },
		  "2025-11-25",
		  "{\"logging\":{},\"tools\":{\"listChanged\":true}}" },
		{ { .tools = tools, .resources_change = true },
		  "2025-11-25",
		  "{\"logging\":{},\"tools\":{}}" },
		{ { .prompts = prompts },
		  "2025-03-26",
		  "{\"logging\":{},\"prompts\":{},\"completions\":{}}" },
		{ { .prompts = prompts }, "2024-11-05", "{\"logging\":{},\"prompts\":{}}" },
		{ { .resources = resources }, "2025-06-18", "{\"logging\":{},\"resources\":{}}" },
		{ { .resources = resources, .resources_change = true },
		  "2024-11-05",
		  "{\"logging\":{},\"resources\":{\"subscribe\":true}}" },
		{ { .templates = templates },
		  "2025-06-18",
		  "{\"logging\":{},\"resources\":{},\"completions\":{}}" },
		{ { .templates = templates, .resources_change = true },
		  "2024-11-05",
		  "{\"logging\":{},\"resources\":{\"subscribe\":true}}" },
		{ { .tools = tools,
		    .prompts = prompts,
		    .resources = resources,
		    .templates = templates,
		    .lists_change = true,
		    .resources_change = true },
		  "2025-11-25",
		  "{\"logging\":{},\"tools\":{\"listChanged\":true},\"prompts\":{\"listChanged\":"
		  "true},"
		  "\"resources\":{\"listChanged\":true,\"subscribe\":true},\"completions\":{}}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct mcp_config config = cases[i].config;
		struct talk talk;
		char line[200], want[500];

		talk_begin(&talk, &config);
		(void)snprintf(line, sizeof line, INITIALIZE("%s"), cases[i].revision);
		talk_say(&talk, line);
		(void)snprintf(want, sizeof want,
		               RESULT("{\"protocolVersion\":\"%s\",\"capabilities\":%s,"
		                      "\"serverInfo\":{\"name\":\"test\",\"version\":\"1\"}}"),
		               cases[i].revision, cases[i].want);
		CHECK_NEXT(&talk, want);
		talk_end(&talk);
	}
}

static void a_second_handshake_starts_over(void **state)
{
	struct mcp_config config = { .tools = tools,
		                     .resources = resources,
		                     .lists_change = true,
		                     .resources_change = true };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, INITIALIZE("2025-11-25"));
	(void)talk_next(&talk);
	talk_say(&talk, INITIALIZED);
	talk_say(&talk, ASK("resources/subscribe", "{\"uri\":\"r://a\"}"));
	CHECK_NEXT(&talk, RESULT("{}"));
	mcp_server_resource_updated(talk.server, "r://a");
	mcp_server_list_changed(talk.server, MCP_LIST_TOOLS);
	CHECK_NEXT(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
	                  "\"params\":{\"uri\":\"r://a\"}}");
	CHECK_NEXT(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");

	talk_say(&talk, INITIALIZE("2024-11-05"));
	CHECK_NEXT(&talk,
	           RESULT("{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{\"logging\":{},"
	                  "\"tools\":{\"listChanged\":true},"
	                  "\"resources\":{\"listChanged\":true,\"subscribe\":true}},"
	                  "\"serverInfo\":{\"name\":\"test\",\"version\":\"1\"}}"));
	mcp_server_resource_updated(talk.server, "r://a");
	mcp_server_list_changed(talk.server, MCP_LIST_TOOLS);
	CHECK_SILENCE(&talk);
	talk_say(&talk, ASK("nope", "{}"));
	CHECK_NEXT(&talk, UNKNOWN("2024-11-05"));
	talk_say(&talk, INITIALIZED);
	mcp_server_resource_updated(talk.server, "r://a");
	mcp_server_list_changed(talk.server, MCP_LIST_TOOLS);
	CHECK_NEXT(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void discovering_tells_all_and_changes_nothing(void **state)
{
	struct mcp_config config = { .title = "Test",
		                     .help = "Tests.",
		                     .website = "http://w",
		                     .icon = &icon,
		                     .instructions = "Use it.",
		                     .tools = tools,
		                     .prompts = prompts,
		                     .resources = resources,
		                     .lists_change = true,
		                     .resources_change = true,
		                     .cache_ms = 60000 };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, ASK("server/discover", CLAIM));
	CHECK_NEXT(
	        &talk,
	        RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"logging\":{},"
	               "\"tools\":{\"listChanged\":true},\"prompts\":{\"listChanged\":true},"
	               "\"resources\":{\"listChanged\":true,\"subscribe\":true},\"completions\":{}}"
	               ","
	               "\"instructions\":\"Use it.\",\"ttlMs\":60000,\"cacheScope\":\"private\","
	               "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"test\","
	               "\"version\":\"1\",\"title\":\"Test\"}},\"resultType\":\"complete\"}"));
	talk_say(&talk, ASK("nope", "{}"));
	CHECK_NEXT(&talk, UNKNOWN("2025-03-26"));
	talk_end(&talk);
}

static void discovering_a_server_without_tables(void **state)
{
	struct mcp_config config = { 0 };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, INITIALIZE("2024-11-05")); /* is of no account */
	(void)talk_next(&talk);
	talk_say(&talk, ASK("server/discover", CLAIM));
	CHECK_NEXT(
	        &talk,
	        RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"logging\":{}},"
	               "\"ttlMs\":0,\"cacheScope\":\"private\","
	               "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"test\","
	               "\"version\":\"1\"}},\"resultType\":\"complete\"}"));
	talk_end(&talk);
}

static void a_ping_is_answered_before_and_after_the_handshake(void **state)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", RESULT("{}") },
		{ ASK("ping", "{\"_meta\":{\"progressToken\":1},\"more\":true}"), RESULT("{}") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"p-1\",\"method\":\"ping\",\"params\":{}}",
		  "{\"jsonrpc\":\"2.0\",\"id\":\"p-1\",\"result\":{}}" },
	};
	struct mcp_config config = { 0 };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			talk_say(&talk, cases[i].line);
			CHECK_NEXT(&talk, cases[i].want);
			CHECK_SILENCE(&talk);
		}
		talk_say(&talk, INITIALIZE("2025-11-25"));
		(void)talk_next(&talk);
	}
	talk_end(&talk);
}

/* Says one message of each severity; "first" and those above are heard. */
static void check_heard_from(struct talk *talk, enum mcp_level first)
{
	for (enum mcp_level level = MCP_LEVEL_DEBUG; level < MCP_LEVEL_NONE; level++)
		mcp_call_log(talk->held, level, NULL, "x");
	for (enum mcp_level level = first; level < MCP_LEVEL_NONE; level++) {
		char want[200];

		(void)snprintf(want, sizeof want,
		               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
		               "\"params\":{\"level\":\"%s\",\"data\":\"x\"}}",
		               mcp_level_name(level));
		CHECK_NEXT(talk, want);
	}
	CHECK_SILENCE(talk);
}

static void begin_held(struct talk *talk, struct mcp_config *config)
{
	talk_begin(talk, config);
	talk_say(talk, "{\"jsonrpc\":\"2.0\",\"id\":\"h\",\"method\":\"tools/"
	               "call\",\"params\":{\"name\":\"hold\"}}");
	assert_non_null(talk->held);
}

static void end_held(struct talk *talk)
{
	mcp_respond_content(talk->held, json_list(), NULL);
	CHECK_NEXT(talk, "{\"jsonrpc\":\"2.0\",\"id\":\"h\",\"result\":{\"content\":[]}}");
	talk_end(talk);
}

static void a_level_is_the_least_severe_that_is_heard(void **state)
{
	static const struct {
		const char *line;
		enum mcp_level level;
	} cases[] = {
		{ ASK("logging/setLevel", "{\"level\":\"debug\"}"), MCP_LEVEL_DEBUG },
		{ ASK("logging/setLevel", "{\"level\":\"info\"}"), MCP_LEVEL_INFO },
		{ ASK("logging/setLevel", "{\"level\":\"notice\"}"), MCP_LEVEL_NOTICE },
		{ ASK("logging/setLevel", "{\"level\":\"warning\"}"), MCP_LEVEL_WARNING },
		{ ASK("logging/setLevel", "{\"level\":\"error\"}"), MCP_LEVEL_ERROR },
		{ ASK("logging/setLevel", "{\"level\":\"critical\"}"), MCP_LEVEL_CRITICAL },
		{ ASK("logging/setLevel", "{\"level\":\"alert\"}"), MCP_LEVEL_ALERT },
		{ ASK("logging/setLevel", "{\"level\":\"emergency\"}"), MCP_LEVEL_EMERGENCY },
	};
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	begin_held(&talk, &config);
	check_heard_from(&talk, MCP_LEVEL_INFO); /* unless asked otherwise */
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		talk_say(&talk, cases[i].line);
		CHECK_NEXT(&talk, RESULT("{}"));
		check_heard_from(&talk, cases[i].level);
	}
	end_held(&talk);
}

static void a_level_that_is_none_is_refused_and_changes_nothing(void **state)
{
	static const char *const lines[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\"}",
		ASK("logging/setLevel", "{}"),
		ASK("logging/setLevel", "{\"level\":null}"),
		ASK("logging/setLevel", "{\"level\":3}"),
		ASK("logging/setLevel", "{\"level\":\"\"}"),
		ASK("logging/setLevel", "{\"level\":\"DEBUG\"}"),
		ASK("logging/setLevel", "{\"level\":\"warn\"}"),
		ASK("logging/setLevel", "{\"level\":\"debug\\u0000\"}"),
		ASK("logging/setLevel", "{\"level\":[\"debug\"]}"),
	};
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	begin_held(&talk, &config);
	talk_say(&talk, ASK("logging/setLevel", "{\"level\":\"alert\"}"));
	CHECK_NEXT(&talk, RESULT("{}"));
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		talk_say(&talk, lines[i]);
		CHECK_NEXT(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"
		                  "\"message\":\"'level' must be one of debug, info, notice, "
		                  "warning, error, critical, alert, emergency\"}}");
		check_heard_from(&talk, MCP_LEVEL_ALERT);
	}
	end_held(&talk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_revision_with_a_handshake_is_echoed),
		TEST(any_other_revision_is_answered_with_the_newest),
		TEST(the_server_says_of_itself_what_the_revision_knows),
		TEST(an_icon_needs_no_type_and_no_sizes),
		TEST(capabilities_follow_from_the_tables),
		TEST(a_second_handshake_starts_over),
		TEST(discovering_tells_all_and_changes_nothing),
		TEST(discovering_a_server_without_tables),
		TEST(a_ping_is_answered_before_and_after_the_handshake),
		TEST(a_level_is_the_least_severe_that_is_heard),
		TEST(a_level_that_is_none_is_refused_and_changes_nothing),
	};

	return RUN_TESTS("mcp/lifecycle", tests);
}
