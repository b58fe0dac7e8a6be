#include "mcp/internal.h"
#include "unit/mcp/talk.h"

#define META                                                                                       \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define LISTEN(id, wishes)                                                                         \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"subscriptions/listen\",\"params\":{"      \
	"\"notifications\":" wishes "," META "}}"
#define STAMP(id) "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":" id "}"
#define ACK(id, honoured)                                                                          \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"                           \
	"acknowledged\",\"params\":{" STAMP(id) ",\"notifications\":" honoured "}}"
#define DONE(id)                                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"_meta\":{"                               \
	"\"io.modelcontextprotocol/subscriptionId\":" id ","                                       \
	"\"io.modelcontextprotocol/serverInfo\":{\"name\":\"test\",\"version\":\"1\"}},"           \
	"\"resultType\":\"complete\"}}"
#define CHANGED(list, id)                                                                          \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" list                                    \
	"/list_changed\",\"params\":{" STAMP(id) "}}"
#define CANCEL(id)                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"                                         \
	"cancelled\",\"params\":{\"requestId\":" id "}}"

static int never(struct mcp_call *call, const void *args, struct error *err)
{
	(void)call, (void)args;
	return error_set(err, ERR_UNSUPPORTED, "not called here");
}

static const struct mcp_tool tool = { .name = "t", .help = "A tool.", .call = never };
static const struct mcp_tool *const tools[] = { &tool, NULL };
static const struct mcp_resource resource = { .uri = "u:a", .name = "a", .read = never };
static const struct mcp_resource *const resources[] = { &resource, NULL };

static void begin(struct talk *talk, size_t max_subscriptions)
{
	struct mcp_config config = { .tools = tools,
		                     .resources = resources,
		                     .lists_change = true,
		                     .resources_change = true,
		                     .limits = mcp_default_limits };

	config.limits.max_subscriptions = max_subscriptions;
	talk_begin(talk, &config);
}

static void acknowledges_what_it_honours_first(void **state)
{
	struct talk talk;

	(void)state;
	begin(&talk, 10);
	talk_say(&talk, LISTEN("\"a\"", "{\"toolsListChanged\":true,\"promptsListChanged\":true,"
	                                "\"resourcesListChanged\":false,\"more\":1,"
	                                "\"resourceSubscriptions\":[\"u:a\",\"u:b\"]}"));
	CHECK_NEXT(&talk,
	           ACK("\"a\"", "{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"u:a\","
	                        "\"u:b\"]}"));
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void with_nothing_to_honour_it_completes_at_once(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, LISTEN("1", "{\"toolsListChanged\":true}"));
	CHECK_NEXT(&talk, ACK("1", "{}"));
	CHECK_NEXT(&talk, DONE("1"));
	talk_end(&talk);
}

static void each_stream_gets_what_it_asked_for(void **state)
{
	struct talk talk;

	(void)state;
	begin(&talk, 10);
	talk_say(&talk, LISTEN("1", "{\"toolsListChanged\":true}"));
	talk_say(&talk, LISTEN("\"1\"", "{\"resourceSubscriptions\":[\"u:a\"]}"));
	(void)talk_next(&talk);
	(void)talk_next(&talk);
	mcp_server_list_changed(talk.server, MCP_LIST_PROMPTS);
	mcp_server_resource_updated(talk.server, "u:b");
	CHECK_SILENCE(&talk);
	mcp_server_list_changed(talk.server, MCP_LIST_TOOLS);
	CHECK_NEXT(&talk, CHANGED("tools", "1"));
	CHECK_SILENCE(&talk);
	mcp_server_resource_updated(talk.server, "u:a");
	CHECK_NEXT(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/"
	                  "updated\",\"params\":{" STAMP("\"1\"") ",\"uri\":\"u:a\"}}");
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void cancelling_ends_it_in_silence_and_closing_with_a_result(void **state)
{
	struct talk talk;

	(void)state;
	begin(&talk, 10);
	talk_say(&talk, LISTEN("1", "{\"toolsListChanged\":true}"));
	talk_say(&talk, LISTEN("2", "{\"toolsListChanged\":true}"));
	(void)talk_next(&talk);
	(void)talk_next(&talk);
	talk_say(&talk, CANCEL("1"));
	mcp_server_list_changed(talk.server, MCP_LIST_TOOLS);
	CHECK_NEXT(&talk, CHANGED("tools", "2"));
	mcp_session_close(talk.session);
	talk.session = NULL;
	CHECK_NEXT(&talk, DONE("2"));
	CHECK_SILENCE(&talk);
	mcp_server_list_changed(talk.server, MCP_LIST_TOOLS);
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void streams_and_their_uris_are_bounded_per_session(void **state)
{
	struct talk talk;

	(void)state;
	begin(&talk, 2);
	talk_say(&talk, LISTEN("1", "{\"resourceSubscriptions\":[\"u:a\",\"u:b\",\"u:c\"]}"));
	CHECK_NEXT(&talk, ACK("1", "{\"resourceSubscriptions\":[\"u:a\",\"u:b\"]}"));
	talk_say(&talk,
	         LISTEN("2", "{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"u:d\"]}"));
	CHECK_NEXT(&talk, ACK("2", "{\"toolsListChanged\":true,\"resourceSubscriptions\":[]}"));
	talk_say(&talk, LISTEN("3", "{\"toolsListChanged\":true}"));
	CHECK_NEXT(&talk, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32603,\"message\":"
	                  "\"2 listen streams are "
	                  "open (max_subscriptions); cancel one first\"}}");
	talk_say(&talk, CANCEL("1"));
	talk_say(&talk, LISTEN("4", "{\"resourceSubscriptions\":[\"u:d\"]}"));
	CHECK_NEXT(&talk, ACK("4", "{\"resourceSubscriptions\":[\"u:d\"]}"));
	talk_end(&talk);
}

static void refuses_wishes_it_cannot_read(void **state)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
		{ LISTEN("1", "5"), "'notifications' must be an object" },
		{ LISTEN("1", "null"), "'notifications' must be an object" },
		{ LISTEN("1", "{\"toolsListChanged\":\"yes\"}"),
		  "'notifications': the members for list changes must be true or false" },
		{ LISTEN("1", "{\"resourceSubscriptions\":{}}"),
		  "'notifications.resourceSubscriptions' must be an array of URIs" },
		{ LISTEN("1", "{\"resourceSubscriptions\":[5]}"),
		  "'notifications.resourceSubscriptions' must hold strings of at most 8192 bytes" },
		{ LISTEN("1", "{\"resourceSubscriptions\":[\"a\\u0000\"]}"),
		  "'notifications.resourceSubscriptions' must hold strings of at most 8192 bytes" },
	};
	struct talk talk;

	(void)state;
	begin(&talk, 10);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char want[300];

		talk_say(&talk, cases[i].line);
		(void)snprintf(want, sizeof want,
		               "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"
		               "\"message\":\"%s\"}}",
		               cases[i].why);
		CHECK_NEXT(&talk, want);
	}
	talk_end(&talk);
}

static void a_handshake_hears_of_changes_once_it_is_over(void **state)
{
	static const char changed[] =
	        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";
	struct talk talk;

	(void)state;
	begin(&talk, 10);
	mcp_server_list_changed(talk.server, MCP_LIST_TOOLS);
	CHECK_SILENCE(&talk);
	talk_say(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}");
	(void)talk_next(&talk);
	mcp_server_list_changed(talk.server, MCP_LIST_TOOLS);
	CHECK_SILENCE(&talk);
	talk_say(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	mcp_server_list_changed(talk.server, MCP_LIST_TOOLS);
	CHECK_NEXT(&talk, changed);
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(acknowledges_what_it_honours_first),
		TEST(with_nothing_to_honour_it_completes_at_once),
		TEST(each_stream_gets_what_it_asked_for),
		TEST(cancelling_ends_it_in_silence_and_closing_with_a_result),
		TEST(streams_and_their_uris_are_bounded_per_session),
		TEST(refuses_wishes_it_cannot_read),
		TEST(a_handshake_hears_of_changes_once_it_is_over),
	};

	return RUN_TESTS("mcp/listen", tests);
}
