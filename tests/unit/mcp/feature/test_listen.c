#include "mcp/internal.h"
#include "unit/mcp/fake_client.h"

#define LISTEN(id, filter)                                                                         \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"subscriptions/listen\",\"params\":{"      \
	"\"notifications\":" filter "," STATELESS_META "}}"
#define SUBSCRIPTION(id) "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":" id "}"
#define ACK(id, accepted)                                                                          \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"                           \
	"acknowledged\",\"params\":{" SUBSCRIPTION(id) ",\"notifications\":" accepted "}}"
#define RESULT_OF(id)                                                                              \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"_meta\":{"                               \
	"\"io.modelcontextprotocol/subscriptionId\":" id ","                                       \
	"\"io.modelcontextprotocol/serverInfo\":{\"name\":\"test\",\"version\":\"1\"}},"           \
	"\"resultType\":\"complete\"}}"
#define CHANGED(list, id)                                                                          \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" list                                    \
	"/list_changed\",\"params\":{" SUBSCRIPTION(id) "}}"

static int fail_handler(struct mcp_call *call, const void *args, struct error *err)
{
	(void)call, (void)args;
	return error_set(err, ERR_UNSUPPORTED, "not called here");
}

static const struct mcp_tool tool = { .name = "t", .help = "A tool.", .call = fail_handler };
static const struct mcp_tool *const tools[] = { &tool, NULL };
static const struct mcp_resource resource = { .uri = "u:a", .name = "a", .read = fail_handler };
static const struct mcp_resource *const resources[] = { &resource, NULL };

static void open_peer(struct peer *peer, size_t max_subscriptions)
{
	struct mcp_config config = { .tools = tools,
		                     .resources = resources,
		                     .lists_change = true,
		                     .resources_change = true,
		                     .limits = mcp_default_limits };

	config.limits.max_subscriptions = max_subscriptions;
	peer_open(peer, &config);
}

static void listen_acknowledges_the_accepted_filter_first(void **state)
{
	struct peer peer;

	open_peer(&peer, 10);
	peer_send(&peer, LISTEN("\"a\"", "{\"toolsListChanged\":true,\"promptsListChanged\":true,"
	                                 "\"resourcesListChanged\":false,\"more\":1,"
	                                 "\"resourceSubscriptions\":[\"u:a\",\"u:b\"]}"));
	CHECK_NEXT(&peer,
	           ACK("\"a\"", "{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"u:a\","
	                        "\"u:b\"]}"));
	CHECK_NOTHING_SENT(&peer);
	peer_close(&peer);
}

static void listen_without_accepted_filter_ends_at_once(void **state)
{
	struct mcp_config config = { .tools = tools };
	struct peer peer;

	peer_open(&peer, &config);
	peer_send(&peer, LISTEN("1", "{\"toolsListChanged\":true}"));
	CHECK_NEXT(&peer, ACK("1", "{}"));
	CHECK_NEXT(&peer, RESULT_OF("1"));
	peer_close(&peer);
}

static void each_listen_request_gets_the_notifications_of_its_filter(void **state)
{
	struct peer peer;

	open_peer(&peer, 10);
	peer_send(&peer, LISTEN("1", "{\"toolsListChanged\":true}"));
	peer_send(&peer, LISTEN("\"1\"", "{\"resourceSubscriptions\":[\"u:a\"]}"));
	(void)peer_next(&peer);
	(void)peer_next(&peer);
	mcp_server_list_changed(peer.server, NULL, MCP_LIST_PROMPTS);
	mcp_server_resource_updated(peer.server, NULL, "u:b");
	CHECK_NOTHING_SENT(&peer);
	mcp_server_list_changed(peer.server, NULL, MCP_LIST_TOOLS);
	CHECK_NEXT(&peer, CHANGED("tools", "1"));
	CHECK_NOTHING_SENT(&peer);
	mcp_server_resource_updated(peer.server, NULL, "u:a");
	CHECK_NEXT(&peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/"
	                  "updated\",\"params\":{" SUBSCRIPTION("\"1\"") ",\"uri\":\"u:a\"}}");
	CHECK_NOTHING_SENT(&peer);
	peer_close(&peer);
}

static void cancelled_listen_gets_no_response_and_closed_session_sends_one(void **state)
{
	struct peer peer;

	open_peer(&peer, 10);
	peer_send(&peer, LISTEN("1", "{\"toolsListChanged\":true}"));
	peer_send(&peer, LISTEN("2", "{\"toolsListChanged\":true}"));
	(void)peer_next(&peer);
	(void)peer_next(&peer);
	peer_send(&peer, CANCEL("1"));
	mcp_server_list_changed(peer.server, NULL, MCP_LIST_TOOLS);
	CHECK_NEXT(&peer, CHANGED("tools", "2"));
	mcp_session_close(peer.session);
	peer.session = NULL;
	CHECK_NEXT(&peer, RESULT_OF("2"));
	CHECK_NOTHING_SENT(&peer);
	mcp_server_list_changed(peer.server, NULL, MCP_LIST_TOOLS);
	CHECK_NOTHING_SENT(&peer);
	peer_close(&peer);
}

static void listen_requests_and_uris_are_limited_per_session(void **state)
{
	struct peer peer;

	open_peer(&peer, 2);
	peer_send(&peer, LISTEN("1", "{\"resourceSubscriptions\":[\"u:a\",\"u:b\",\"u:c\"]}"));
	CHECK_NEXT(&peer, ACK("1", "{\"resourceSubscriptions\":[\"u:a\",\"u:b\"]}"));
	peer_send(&peer,
	          LISTEN("2", "{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"u:d\"]}"));
	CHECK_NEXT(&peer, ACK("2", "{\"toolsListChanged\":true,\"resourceSubscriptions\":[]}"));
	peer_send(&peer, LISTEN("3", "{\"toolsListChanged\":true}"));
	CHECK_NEXT(&peer, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32603,\"message\":"
	                  "\"2 listen streams are "
	                  "open (max_subscriptions); cancel one first\"}}");
	peer_send(&peer, CANCEL("1"));
	peer_send(&peer, LISTEN("4", "{\"resourceSubscriptions\":[\"u:d\"]}"));
	CHECK_NEXT(&peer, ACK("4", "{\"resourceSubscriptions\":[\"u:d\"]}"));
	peer_close(&peer);
}

static void invalid_filter_is_an_error(void **state)
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
	struct peer peer;

	open_peer(&peer, 10);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char want[300];

		peer_send(&peer, cases[i].line);
		(void)snprintf(want, sizeof want, INVALID_PARAMS("%s"), cases[i].why);
		CHECK_NEXT(&peer, want);
	}
	peer_close(&peer);
}

static void handshake_session_is_notified_after_initialized(void **state)
{
	static const char changed[] =
	        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";
	struct peer peer;

	open_peer(&peer, 10);
	mcp_server_list_changed(peer.server, NULL, MCP_LIST_TOOLS);
	CHECK_NOTHING_SENT(&peer);
	peer_send(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}");
	(void)peer_next(&peer);
	mcp_server_list_changed(peer.server, NULL, MCP_LIST_TOOLS);
	CHECK_NOTHING_SENT(&peer);
	peer_send(&peer, INITIALIZED);
	mcp_server_list_changed(peer.server, NULL, MCP_LIST_TOOLS);
	CHECK_NEXT(&peer, changed);
	CHECK_NOTHING_SENT(&peer);
	peer_close(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(listen_acknowledges_the_accepted_filter_first),
		TEST(listen_without_accepted_filter_ends_at_once),
		TEST(each_listen_request_gets_the_notifications_of_its_filter),
		TEST(cancelled_listen_gets_no_response_and_closed_session_sends_one),
		TEST(listen_requests_and_uris_are_limited_per_session),
		TEST(invalid_filter_is_an_error),
		TEST(handshake_session_is_notified_after_initialized),
	};

	return RUN_TESTS("mcp/listen", tests);
}
