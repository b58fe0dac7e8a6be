/* initialize, server/discover, ping and logging/setLevel. */
#include "unit/mcp/fake_client.h"

#define STATELESS "{" STATELESS_META "}"
#define UNKNOWN(revision)                                                                          \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"method 'nope' is " \
	"not known in "                                                                            \
	"revision " revision "\"}}"

static const struct mcp_tool holder = { .name = "hold", .help = "Waits.", .call = peer_hold };
static const struct mcp_tool *const tools[] = { &holder, NULL };
static const struct mcp_prompt prompt = { .name = "p", .get = peer_hold };
static const struct mcp_prompt *const prompts[] = { &prompt, NULL };
static const struct mcp_resource resource = { .uri = "r://a", .name = "a", .read = peer_hold };
static const struct mcp_resource *const resources[] = { &resource, NULL };
static const struct mcp_template template = { .uri_template = "t://{x}",
	                                      .name = "t",
	                                      .read = peer_hold };
static const struct mcp_template *const templates[] = { &template, NULL };
static const struct mcp_icon icon = { .src = "data:,x", .mime_type = "image/png", .sizes = "1x1" };

static void check_negotiation(const char *line, const char *revision)
{
	struct mcp_config config = { 0 };
	struct peer peer;
	char want[300];

	peer_open(&peer, &config);
	peer_send(&peer, line);
	(void)snprintf(want, sizeof want,
	               RESULT("{\"protocolVersion\":\"%s\",\"capabilities\":{\"logging\":{}},"
	                      "\"serverInfo\":{\"name\":\"test\",\"version\":\"1\"}}"),
	               revision);
	CHECK_NEXT(&peer, want);
	peer_send(&peer, REQUEST("nope", "{}")); /* the session keeps the revision */
	(void)snprintf(want, sizeof want, UNKNOWN("%s"), revision);
	CHECK_NEXT(&peer, want);
	CHECK_NOTHING_SENT(&peer);
	peer_close(&peer);
}

static void supported_revision_is_confirmed(void **state)
{
	check_negotiation(INITIALIZE("2024-11-05"), "2024-11-05");
	check_negotiation(INITIALIZE("2025-03-26"), "2025-03-26");
	check_negotiation(INITIALIZE("2025-06-18"), "2025-06-18");
	check_negotiation(INITIALIZE("2025-11-25"), "2025-11-25");
}

static void other_revisions_get_the_newest_one(void **state)
{
	static const char *const lines[] = {
		INITIALIZE("2026-07-28"),
		INITIALIZE("2027-01-01"),
		INITIALIZE("2024-10-07"),
		INITIALIZE("2025-06-18 "),
		INITIALIZE(""),
		INITIALIZE("2025-06-18\\u0000"),
		REQUEST("initialize", "{}"),
		REQUEST("initialize", "null"),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}",
		REQUEST("initialize", "{\"protocolVersion\":null}"),
		REQUEST("initialize", "{\"protocolVersion\":20250618}"),
		REQUEST("initialize", "{\"protocolVersion\":[\"2025-06-18\"]}"),
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		check_negotiation(lines[i], "2025-11-25");
}

static void server_info_has_the_members_of_the_revision(void **state)
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
	struct peer peer;

	peer_open(&peer, &config);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char want[500];

		peer_send(&peer, cases[i].line);
		(void)snprintf(
		        want, sizeof want,
		        RESULT("{\"protocolVersion\":\"%s\",\"capabilities\":{\"logging\":{}},"
		               "\"serverInfo\":%s,\"instructions\":\"Use it.\"}"),
		        cases[i].revision, cases[i].info);
		CHECK_NEXT(&peer, want);
	}
	peer_close(&peer);
}

static void icon_needs_neither_type_nor_sizes(void **state)
{
	static const struct mcp_icon bare = { .src = "data:,y" };
	struct mcp_config config = { .icon = &bare };
	struct peer peer;

	peer_open(&peer, &config);
	peer_send(&peer, INITIALIZE("2025-11-25"));
	CHECK_NEXT(&peer,
	           RESULT("{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"logging\":{}},"
	                  "\"serverInfo\":{\"name\":\"test\",\"version\":\"1\","
	                  "\"icons\":[{\"src\":\"data:,y\"}]}}"));
	peer_close(&peer);
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

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct mcp_config config = cases[i].config;
		struct peer peer;
		char line[200], want[500];

		peer_open(&peer, &config);
		(void)snprintf(line, sizeof line, INITIALIZE("%s"), cases[i].revision);
		peer_send(&peer, line);
		(void)snprintf(want, sizeof want,
		               RESULT("{\"protocolVersion\":\"%s\",\"capabilities\":%s,"
		                      "\"serverInfo\":{\"name\":\"test\",\"version\":\"1\"}}"),
		               cases[i].revision, cases[i].want);
		CHECK_NEXT(&peer, want);
		peer_close(&peer);
	}
}

static void second_handshake_resets_the_session(void **state)
{
	struct mcp_config config = { .tools = tools,
		                     .resources = resources,
		                     .lists_change = true,
		                     .resources_change = true };
	struct peer peer;

	peer_open(&peer, &config);
	peer_send(&peer, INITIALIZE("2025-11-25"));
	(void)peer_next(&peer);
	peer_send(&peer, INITIALIZED);
	peer_send(&peer, REQUEST("resources/subscribe", "{\"uri\":\"r://a\"}"));
	CHECK_NEXT(&peer, RESULT("{}"));
	mcp_server_resource_updated(peer.server, NULL, "r://a");
	mcp_server_list_changed(peer.server, NULL, MCP_LIST_TOOLS);
	CHECK_NEXT(&peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
	                  "\"params\":{\"uri\":\"r://a\"}}");
	CHECK_NEXT(&peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");

	peer_send(&peer, INITIALIZE("2024-11-05"));
	CHECK_NEXT(&peer,
	           RESULT("{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{\"logging\":{},"
	                  "\"tools\":{\"listChanged\":true},"
	                  "\"resources\":{\"listChanged\":true,\"subscribe\":true}},"
	                  "\"serverInfo\":{\"name\":\"test\",\"version\":\"1\"}}"));
	mcp_server_resource_updated(peer.server, NULL, "r://a");
	mcp_server_list_changed(peer.server, NULL, MCP_LIST_TOOLS);
	CHECK_NOTHING_SENT(&peer);
	peer_send(&peer, REQUEST("nope", "{}"));
	CHECK_NEXT(&peer, UNKNOWN("2024-11-05"));
	peer_send(&peer, INITIALIZED);
	mcp_server_resource_updated(peer.server, NULL, "r://a");
	mcp_server_list_changed(peer.server, NULL, MCP_LIST_TOOLS);
	CHECK_NEXT(&peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
	CHECK_NOTHING_SENT(&peer);
	peer_close(&peer);
}

static void discover_describes_the_server_and_changes_nothing(void **state)
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
	struct peer peer;

	peer_open(&peer, &config);
	peer_send(&peer, REQUEST("server/discover", STATELESS));
	CHECK_NEXT(
	        &peer,
	        RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"logging\":{},"
	               "\"tools\":{\"listChanged\":true},\"prompts\":{\"listChanged\":true},"
	               "\"resources\":{\"listChanged\":true,\"subscribe\":true},\"completions\":{}}"
	               ","
	               "\"instructions\":\"Use it.\",\"ttlMs\":60000,\"cacheScope\":\"private\","
	               "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"test\","
	               "\"version\":\"1\",\"title\":\"Test\"}},\"resultType\":\"complete\"}"));
	peer_send(&peer, REQUEST("nope", "{}"));
	CHECK_NEXT(&peer, UNKNOWN("2025-03-26"));
	peer_close(&peer);
}

static void discover_of_a_server_without_tables(void **state)
{
	struct mcp_config config = { 0 };
	struct peer peer;

	peer_open(&peer, &config);
	peer_send(&peer, INITIALIZE("2024-11-05")); /* does not matter */
	(void)peer_next(&peer);
	peer_send(&peer, REQUEST("server/discover", STATELESS));
	CHECK_NEXT(
	        &peer,
	        RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"logging\":{}},"
	               "\"ttlMs\":0,\"cacheScope\":\"private\","
	               "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"test\","
	               "\"version\":\"1\"}},\"resultType\":\"complete\"}"));
	peer_close(&peer);
}

static void ping_works_before_and_after_the_handshake(void **state)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", RESULT("{}") },
		{ REQUEST("ping", "{\"_meta\":{\"progressToken\":1},\"more\":true}"),
		  RESULT("{}") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"p-1\",\"method\":\"ping\",\"params\":{}}",
		  "{\"jsonrpc\":\"2.0\",\"id\":\"p-1\",\"result\":{}}" },
	};
	struct mcp_config config = { 0 };
	struct peer peer;

	peer_open(&peer, &config);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			peer_send(&peer, cases[i].line);
			CHECK_NEXT(&peer, cases[i].want);
			CHECK_NOTHING_SENT(&peer);
		}
		peer_send(&peer, INITIALIZE("2025-11-25"));
		(void)peer_next(&peer);
	}
	peer_close(&peer);
}

/* Logs one message of each level: the session sends those from `first` on. */
static void check_messages_from(struct peer *peer, enum mcp_level first)
{
	for (enum mcp_level level = MCP_LEVEL_DEBUG; level < MCP_LEVEL_NONE; level++)
		mcp_call_log(peer->held, level, NULL, "x");
	for (enum mcp_level level = first; level < MCP_LEVEL_NONE; level++) {
		char want[200];

		(void)snprintf(want, sizeof want,
		               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
		               "\"params\":{\"level\":\"%s\",\"data\":\"x\"}}",
		               mcp_level_name(level));
		CHECK_NEXT(peer, want);
	}
	CHECK_NOTHING_SENT(peer);
}

static void open_with_call(struct peer *peer, struct mcp_config *config)
{
	peer_open(peer, config);
	peer_send(peer, "{\"jsonrpc\":\"2.0\",\"id\":\"h\",\"method\":\"tools/"
	                "call\",\"params\":{\"name\":\"hold\"}}");
	assert_non_null(peer->held);
}

static void close_with_call(struct peer *peer)
{
	mcp_respond_content(peer->held, json_list(), NULL);
	CHECK_NEXT(peer, "{\"jsonrpc\":\"2.0\",\"id\":\"h\",\"result\":{\"content\":[]}}");
	peer_close(peer);
}

static void level_is_the_least_severe_one_that_is_sent(void **state)
{
	static const struct {
		const char *line;
		enum mcp_level level;
	} cases[] = {
		{ REQUEST("logging/setLevel", "{\"level\":\"debug\"}"), MCP_LEVEL_DEBUG },
		{ REQUEST("logging/setLevel", "{\"level\":\"info\"}"), MCP_LEVEL_INFO },
		{ REQUEST("logging/setLevel", "{\"level\":\"notice\"}"), MCP_LEVEL_NOTICE },
		{ REQUEST("logging/setLevel", "{\"level\":\"warning\"}"), MCP_LEVEL_WARNING },
		{ REQUEST("logging/setLevel", "{\"level\":\"error\"}"), MCP_LEVEL_ERROR },
		{ REQUEST("logging/setLevel", "{\"level\":\"critical\"}"), MCP_LEVEL_CRITICAL },
		{ REQUEST("logging/setLevel", "{\"level\":\"alert\"}"), MCP_LEVEL_ALERT },
		{ REQUEST("logging/setLevel", "{\"level\":\"emergency\"}"), MCP_LEVEL_EMERGENCY },
	};
	struct mcp_config config = { .tools = tools };
	struct peer peer;

	open_with_call(&peer, &config);
	check_messages_from(&peer, MCP_LEVEL_INFO); /* the default */
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		peer_send(&peer, cases[i].line);
		CHECK_NEXT(&peer, RESULT("{}"));
		check_messages_from(&peer, cases[i].level);
	}
	close_with_call(&peer);
}

static void invalid_level_is_an_error_and_changes_nothing(void **state)
{
	static const char *const lines[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\"}",
		REQUEST("logging/setLevel", "{}"),
		REQUEST("logging/setLevel", "{\"level\":null}"),
		REQUEST("logging/setLevel", "{\"level\":3}"),
		REQUEST("logging/setLevel", "{\"level\":\"\"}"),
		REQUEST("logging/setLevel", "{\"level\":\"DEBUG\"}"),
		REQUEST("logging/setLevel", "{\"level\":\"warn\"}"),
		REQUEST("logging/setLevel", "{\"level\":\"debug\\u0000\"}"),
		REQUEST("logging/setLevel", "{\"level\":[\"debug\"]}"),
	};
	struct mcp_config config = { .tools = tools };
	struct peer peer;

	open_with_call(&peer, &config);
	peer_send(&peer, REQUEST("logging/setLevel", "{\"level\":\"alert\"}"));
	CHECK_NEXT(&peer, RESULT("{}"));
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		peer_send(&peer, lines[i]);
		CHECK_NEXT(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"
		                  "\"message\":\"'level' must be one of debug, info, notice, "
		                  "warning, error, critical, alert, emergency\"}}");
		check_messages_from(&peer, MCP_LEVEL_ALERT);
	}
	close_with_call(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(supported_revision_is_confirmed),
		TEST(other_revisions_get_the_newest_one),
		TEST(server_info_has_the_members_of_the_revision),
		TEST(icon_needs_neither_type_nor_sizes),
		TEST(capabilities_follow_from_the_tables),
		TEST(second_handshake_resets_the_session),
		TEST(discover_describes_the_server_and_changes_nothing),
		TEST(discover_of_a_server_without_tables),
		TEST(ping_works_before_and_after_the_handshake),
		TEST(level_is_the_least_severe_one_that_is_sent),
		TEST(invalid_level_is_an_error_and_changes_nothing),
	};

	return RUN_TESTS("mcp/lifecycle", tests);
}
