/* The dispatch of requests: era, version, _meta, and the methods of each era. */
#include "unit/mcp/fake_client.h"

#define UNKNOWN(method, revision)                                                                  \
	ERROR("-32601", "method '" method "' is not known in revision " revision)

#define VERSION               "\"io.modelcontextprotocol/protocolVersion\":"
#define CAPABILITIES          "\"io.modelcontextprotocol/clientCapabilities\":"
#define INFO                  "\"io.modelcontextprotocol/clientInfo\":"
#define LEVEL                 "\"io.modelcontextprotocol/logLevel\":"
#define META(more)            "{\"_meta\":{" more "}}"
#define WITH_VERSION(version) META(VERSION version "," CAPABILITIES "{}")
#define STATELESS             WITH_VERSION("\"2026-07-28\"")
#define LISTED                "\"resources\":[{\"uri\":\"r://a\",\"name\":\"a\"}]"
#define INITIALIZE_RESULT(version)                                                                 \
	RESULT("{\"protocolVersion\":\"" version                                                   \
	       "\",\"capabilities\":{\"logging\":{},\"resources\":{"                               \
	       "\"subscribe\":true}},\"serverInfo\":{\"name\":\"test\",\"version\":\"1\"}}")

static int read_nothing(struct mcp_call *call, const void *args, struct error *err)
{
	(void)args, (void)err;
	mcp_respond_text(call, NULL, VIEW(""));
	return 0;
}

static const struct mcp_resource resource = { .uri = "r://a", .name = "a", .read = read_nothing };
static const struct mcp_resource *const resources[] = { &resource, NULL };

static void open_peer(struct peer *peer)
{
	struct mcp_config config = { .resources = resources, .resources_change = true };

	peer_open(peer, &config);
}

static void check(const char *line, const char *want)
{
	peer_check(&(struct mcp_config){ .resources = resources, .resources_change = true }, line,
	           want);
}

static void each_request_is_dispatched_by_its_own_meta(void **state)
{
	static const struct {
		const char *line, *want;
	} steps[] = {
		{ REQUEST("resources/list", STATELESS),
		  RESULT("{" LISTED ",\"ttlMs\":0,\"cacheScope\":\"private\"," STATELESS_FIELDS
		         "}") },
		{ REQUEST("resources/list", "{}"), RESULT("{" LISTED "}") },
		{ REQUEST("nope", "{}"), UNKNOWN("nope", "2025-03-26") },
		{ INITIALIZE("2024-11-05"), INITIALIZE_RESULT("2024-11-05") },
		{ REQUEST("resources/list", STATELESS),
		  RESULT("{" LISTED ",\"ttlMs\":0,\"cacheScope\":\"private\"," STATELESS_FIELDS
		         "}") },
		{ REQUEST("nope", STATELESS), UNKNOWN("nope", "2026-07-28") },
		{ REQUEST("nope", "{}"), UNKNOWN("nope", "2024-11-05") },
		{ REQUEST("ping", "{}"), RESULT("{}") },
	};
	struct peer peer;

	open_peer(&peer);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		peer_send(&peer, steps[i].line);
		CHECK_NEXT(&peer, steps[i].want);
		CHECK_NOTHING_SENT(&peer);
	}
	peer_close(&peer);
}

static void meta_may_have_optional_and_unknown_members(void **state)
{
	check(REQUEST("resources/list",
	              META(LEVEL "\"debug\"," INFO
	                         "{\"name\":\"c\",\"version\":\"2\",\"x\":1}," CAPABILITIES
	                         "{\"roots\":{}},\"progressToken\":7,\"traceparent\":5," VERSION
	                         "\"2026-07-28\"")),
	      RESULT("{" LISTED ",\"ttlMs\":0,\"cacheScope\":\"private\"," STATELESS_FIELDS "}"));
}

static void meta_without_version_belongs_to_the_handshake_era(void **state)
{
	static const char *const params[] = {
		"{\"_meta\":null}",
		"{\"_meta\":5}",
		"{\"_meta\":[{" VERSION "\"2026-07-28\"}]}",
		META(CAPABILITIES "{}"),
		META("\"protocolVersion\":\"2026-07-28\""),
		"{" VERSION "\"2026-07-28\"}",
		META(LEVEL "\"loud\""),
	};

	for (size_t i = 0; i < ARRAY_LEN(params); i++) {
		char line[300];

		(void)snprintf(line, sizeof line, REQUEST("resources/list", "%s"), params[i]);
		check(line, RESULT("{" LISTED "}"));
	}
}

#define A_LEVEL  "must be one of debug, info, notice, warning, error, critical, alert, emergency"
#define A_CLIENT "must be an object with the strings name and version"
#define A_TOKEN  "must be a string of at most 1024 bytes or a number"

static void invalid_meta_is_an_error_that_names_the_member(void **state)
{
	static const struct {
		const char *meta, *key, *problem;
	} cases[] = {
		{ VERSION "1," CAPABILITIES "{}", "io.modelcontextprotocol/protocolVersion",
		  "must be a string" },
		{ VERSION "null," CAPABILITIES "{}", "io.modelcontextprotocol/protocolVersion",
		  "must be a string" },
		{ VERSION "\"2026-07-28\\u0000\"," CAPABILITIES "{}",
		  "io.modelcontextprotocol/protocolVersion", "must be a string" },
		{ VERSION "\"2026-07-28\"", "io.modelcontextprotocol/clientCapabilities",
		  "is missing" },
		{ VERSION "\"2025-11-25\"", "io.modelcontextprotocol/clientCapabilities",
		  "is missing" }, /* checked before the version */
		{ VERSION "\"2026-07-28\"," CAPABILITIES "[]",
		  "io.modelcontextprotocol/clientCapabilities", "must be an object" },
		{ VERSION "\"2026-07-28\"," CAPABILITIES "null",
		  "io.modelcontextprotocol/clientCapabilities", "must be an object" },
		{ VERSION "\"2026-07-28\"," CAPABILITIES "{}," INFO "\"c\"",
		  "io.modelcontextprotocol/clientInfo", A_CLIENT },
		{ VERSION "\"2026-07-28\"," CAPABILITIES "{}," INFO "{\"name\":\"c\"}",
		  "io.modelcontextprotocol/clientInfo", A_CLIENT },
		{ VERSION "\"2026-07-28\"," CAPABILITIES "{}," INFO
		          "{\"name\":\"c\",\"version\":1}",
		  "io.modelcontextprotocol/clientInfo", A_CLIENT },
		{ VERSION "\"2026-07-28\"," CAPABILITIES "{}," LEVEL "\"loud\"",
		  "io.modelcontextprotocol/logLevel", A_LEVEL },
		{ VERSION "\"2026-07-28\"," CAPABILITIES "{}," LEVEL "null",
		  "io.modelcontextprotocol/logLevel", A_LEVEL },
		{ VERSION "\"2026-07-28\"," CAPABILITIES "{},\"progressToken\":true",
		  "progressToken", A_TOKEN },
		{ VERSION "\"2026-07-28\"," CAPABILITIES "{},\"progressToken\":{}", "progressToken",
		  A_TOKEN },
	};
	static const char *const methods[] = { "resources/list", "server/discover", "ping",
		                               "nope" };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t j = 0; j < ARRAY_LEN(methods); j++) {
			char line[400], want[500];

			(void)snprintf(line, sizeof line, REQUEST("%s", META("%s")), methods[j],
			               cases[i].meta);
			(void)snprintf(
			        want, sizeof want,
			        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"
			        "\"message\":"
			        "\"params._meta: '%s' %s\",\"data\":{\"envelope\":{\"key\":\"%s\","
			        "\"problem\":\"%s\"}}}}",
			        cases[i].key, cases[i].problem, cases[i].key, cases[i].problem);
			check(line, want);
		}
	}
}

static void unsupported_version_is_an_error_with_the_supported_ones(void **state)
{
	static const char *const versions[] = {
		"2024-11-05", "2025-03-26", "2025-06-18",  "2025-11-25", "2026-07-27",
		"2026-07-29", "v999.0.0",   "2026-07-28 ", "",
	};
	static const char *const methods[] = { "resources/list", "server/discover", "nope" };

	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		for (size_t j = 0; j < ARRAY_LEN(methods); j++) {
			char line[300], want[400];

			(void)snprintf(line, sizeof line, REQUEST("%s", WITH_VERSION("\"%s\"")),
			               methods[j], versions[i]);
			(void)snprintf(want, sizeof want,
			               "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,"
			               "\"message\":"
			               "\"protocol version '%s' is not supported without a "
			               "handshake; use 2026-07-28\",\"data\":{"
			               "\"supported\":[\"2026-07-28\"],\"requested\":\"%s\"}}}",
			               versions[i], versions[i]);
			check(line, want);
		}
	}
}

/* Both copies are cut between characters: in the message after 60 bytes, in the data after 1023. */
static void long_version_is_cut_in_the_error(void **state)
{
	char version[2000], line[2500], want[2500];

	memset(version, 'x', 1023);
	memcpy(version + 1023, "\xc3\xa9yyy", sizeof "\xc3\xa9yyy");
	(void)snprintf(line, sizeof line, REQUEST("nope", WITH_VERSION("\"%s\"")), version);
	(void)snprintf(want, sizeof want,
	               "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":"
	               "\"protocol version '%.60s...' is not supported without a handshake; "
	               "use 2026-07-28\",\"data\":{\"supported\":[\"2026-07-28\"],"
	               "\"requested\":\"%.1023s\"}}}",
	               version, version);
	check(line, want);
}

static void initialize_with_invalid_meta_is_a_handshake(void **state)
{
	static const char *const metas[] = {
		VERSION "5," CAPABILITIES "{}",
		VERSION "\"2026-07-28\"",
		VERSION "\"2026-07-28\"," CAPABILITIES "[]",
		VERSION "\"2026-07-28\"," CAPABILITIES "{}," LEVEL "\"loud\"",
		VERSION "\"2025-11-25\"," CAPABILITIES "{}",
		VERSION "\"2026-07-27\"," CAPABILITIES "{}",
		VERSION "\"\"," CAPABILITIES "{}",
	};

	for (size_t i = 0; i < ARRAY_LEN(metas); i++) {
		char line[400];

		(void)snprintf(line, sizeof line,
		               REQUEST("initialize",
		                       "{\"protocolVersion\":\"2025-06-18\",\"_meta\":{%s}}"),
		               metas[i]);
		check(line, INITIALIZE_RESULT("2025-06-18"));
	}
}

static void initialize_with_valid_meta_is_no_handshake(void **state)
{
	struct peer peer;

	open_peer(&peer);
	peer_send(&peer, REQUEST("initialize",
	                         "{\"protocolVersion\":\"2025-06-18\","
	                         "\"_meta\":{" VERSION "\"2026-07-28\"," CAPABILITIES "{}}}"));
	CHECK_NEXT(&peer, UNKNOWN("initialize", "2026-07-28"));
	peer_send(&peer, REQUEST("initialize", WITH_VERSION("\"2027-01-01\"")));
	CHECK_NEXT(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":"
	                  "\"protocol version '2027-01-01' is not supported without a handshake; "
	                  "use 2026-07-28\",\"data\":{\"supported\":[\"2026-07-28\"],"
	                  "\"requested\":\"2027-01-01\"}}}");
	peer_send(&peer, REQUEST("nope", "{}"));
	CHECK_NEXT(&peer, UNKNOWN("nope", "2025-03-26"));
	peer_close(&peer);
}

static void methods_of_the_handshake_era_are_unknown_in_the_stateless_era(void **state)
{
	static const struct {
		const char *method, *params, *want;
	} cases[] = {
		{ "ping", "", "{}" },
		{ "logging/setLevel", "\"level\":\"info\",", "{}" },
		{ "resources/subscribe", "\"uri\":\"r://a\",", "{}" },
		{ "resources/unsubscribe", "\"uri\":\"r://a\",", "{}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char line[300], want[200];

		(void)snprintf(line, sizeof line,
		               REQUEST("%s", "{%s\"_meta\":{" VERSION "\"2026-07-28\"," CAPABILITIES
		                             "{}}}"),
		               cases[i].method, cases[i].params);
		(void)snprintf(want, sizeof want, UNKNOWN("%s", "2026-07-28"), cases[i].method);
		check(line, want);
		(void)snprintf(line, sizeof line, REQUEST("%s", "{%s\"_meta\":{}}"),
		               cases[i].method, cases[i].params);
		(void)snprintf(want, sizeof want, RESULT("%s"), cases[i].want);
		check(line, want);
	}
}

static void listen_is_unknown_in_the_handshake_era(void **state)
{
	static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18",
		                                 "2025-11-25" };
	struct peer peer;

	open_peer(&peer);
	for (size_t i = 0; i < ARRAY_LEN(revisions); i++) {
		char line[200], want[200];

		(void)snprintf(line, sizeof line, INITIALIZE("%s"), revisions[i]);
		peer_send(&peer, line);
		(void)peer_next(&peer);
		peer_send(&peer, REQUEST("subscriptions/listen", "{\"notifications\":{}}"));
		(void)snprintf(want, sizeof want, UNKNOWN("subscriptions/listen", "%s"),
		               revisions[i]);
		CHECK_NEXT(&peer, want);
		CHECK_NOTHING_SENT(&peer);
	}
	peer_close(&peer);
}

static void discover_without_version_names_the_missing_members(void **state)
{
	static const char *const lines[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}",
		REQUEST("server/discover", "null"),
		REQUEST("server/discover", "{}"),
		REQUEST("server/discover", "{\"_meta\":{}}"),
		REQUEST("server/discover", "{\"_meta\":7}"),
		REQUEST("server/discover", META(CAPABILITIES "{}")),
	};
	struct peer peer;

	open_peer(&peer);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
			peer_send(&peer, lines[i]);
			CHECK_NEXT(&peer,
			           ERROR("-32602", "'server/discover' needs params._meta with "
			                           "'io.modelcontextprotocol/protocolVersion' and "
			                           "'io.modelcontextprotocol/clientCapabilities'"));
		}
		peer_send(&peer, INITIALIZE("2025-11-25"));
		(void)peer_next(&peer);
	}
	peer_close(&peer);
}

static void unknown_method_is_escaped_and_cut_in_the_error(void **state)
{
	static const struct {
		const char *method, *shown;
	} cases[] = {
		{ "nope", "nope" },
		{ "", "" },
		{ "Resources/list", "Resources/list" },
		{ "resources/list ", "resources/list " },
		{ "resources", "resources" },
		{ "tools/list", "tools/list" }, /* the server has no tools */
		{ "prompts/get", "prompts/get" },
		{ "a\\nb\\u0007", "a\\\\nb\\\\x07" },
		{ "\xc3\xa9", "\xc3\xa9" },
		{ "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" },
		{ "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		  "x",
		  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.."
		  "." },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char line[300], want[300];

		(void)snprintf(line, sizeof line, REQUEST("%s", "{}"), cases[i].method);
		(void)snprintf(want, sizeof want, UNKNOWN("%s", "2025-03-26"), cases[i].shown);
		check(line, want);
		(void)snprintf(line, sizeof line, REQUEST("%s", STATELESS), cases[i].method);
		(void)snprintf(want, sizeof want, UNKNOWN("%s", "2026-07-28"), cases[i].shown);
		check(line, want);
	}
}

static void params_that_are_no_object_are_the_first_error(void **state)
{
	check(REQUEST("nope", "[]"), ERROR("-32602", "'params' must be an object"));
	check(REQUEST("resources/list", "\"x\""), ERROR("-32602", "'params' must be an object"));
}

static void notification_gets_no_response(void **state)
{
	static const char *const lines[] = {
		"{\"jsonrpc\":\"2.0\",\"method\":\"resources/list\",\"params\":" STATELESS "}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"server/discover\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"initialize\",\"params\":{}}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"nope\",\"params\":" META(VERSION "5") "}",
	};
	struct peer peer;

	open_peer(&peer);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		peer_send(&peer, lines[i]);
		CHECK_NOTHING_SENT(&peer);
	}
	peer_send(&peer, REQUEST("nope", "{}")); /* the session works, and has no handshake */
	CHECK_NEXT(&peer, UNKNOWN("nope", "2025-03-26"));
	peer_close(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_request_is_dispatched_by_its_own_meta),
		TEST(meta_may_have_optional_and_unknown_members),
		TEST(meta_without_version_belongs_to_the_handshake_era),
		TEST(invalid_meta_is_an_error_that_names_the_member),
		TEST(unsupported_version_is_an_error_with_the_supported_ones),
		TEST(long_version_is_cut_in_the_error),
		TEST(initialize_with_invalid_meta_is_a_handshake),
		TEST(initialize_with_valid_meta_is_no_handshake),
		TEST(methods_of_the_handshake_era_are_unknown_in_the_stateless_era),
		TEST(listen_is_unknown_in_the_handshake_era),
		TEST(discover_without_version_names_the_missing_members),
		TEST(unknown_method_is_escaped_and_cut_in_the_error),
		TEST(params_that_are_no_object_are_the_first_error),
		TEST(notification_gets_no_response),
	};

	return RUN_TESTS("mcp/methods", tests);
}
