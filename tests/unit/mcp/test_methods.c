/* Which era a request belongs to, by its own evidence, and what each era knows. */
#include "mcp/call.h"
#include "unit/mcp/talk.h"

#define ASK(method, params)                                                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"
#define RESULT(result) "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" result "}"
#define ERROR(code, text)                                                                          \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":" code ",\"message\":\"" text "\"}}"
#define UNKNOWN(method, revision)                                                                  \
	ERROR("-32601", "method '" method "' is not known in revision " revision)

#define VERSION           "\"io.modelcontextprotocol/protocolVersion\":"
#define CAPABILITIES      "\"io.modelcontextprotocol/clientCapabilities\":"
#define INFO              "\"io.modelcontextprotocol/clientInfo\":"
#define LEVEL             "\"io.modelcontextprotocol/logLevel\":"
#define META(more)        "{\"_meta\":{" more "}}"
#define CLAIM_OF(version) META(VERSION version "," CAPABILITIES "{}")
#define CLAIM             CLAIM_OF("\"2026-07-28\"")
#define STAMP                                                                                      \
	"\"_meta\":{\"io.modelcontextprotocol/"                                                    \
	"serverInfo\":{\"name\":\"test\",\"version\":\"1\"}},"                                     \
	"\"resultType\":\"complete\""
#define LISTED              "\"resources\":[{\"uri\":\"r://a\",\"name\":\"a\"}]"
#define INITIALIZE(version) ASK("initialize", "{\"protocolVersion\":\"" version "\"}")
#define SHAKEN(version)                                                                            \
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

static void begin(struct talk *talk)
{
	struct mcp_config config = { .resources = resources, .resources_change = true };

	talk_begin(talk, &config);
}

/* In a session of its own. */
static void check(const char *line, const char *want)
{
	struct talk talk;

	begin(&talk);
	talk_say(&talk, line);
	CHECK_NEXT(&talk, want);
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void each_request_is_routed_by_itself(void **state)
{
	static const struct {
		const char *line, *want;
	} steps[] = {
		{ ASK("resources/list", CLAIM),
		  RESULT("{" LISTED ",\"ttlMs\":0,\"cacheScope\":\"private\"," STAMP "}") },
		{ ASK("resources/list", "{}"), RESULT("{" LISTED "}") },
		{ ASK("nope", "{}"), UNKNOWN("nope", "2025-03-26") },
		{ INITIALIZE("2024-11-05"), SHAKEN("2024-11-05") },
		{ ASK("resources/list", CLAIM),
		  RESULT("{" LISTED ",\"ttlMs\":0,\"cacheScope\":\"private\"," STAMP "}") },
		{ ASK("nope", CLAIM), UNKNOWN("nope", "2026-07-28") },
		{ ASK("nope", "{}"), UNKNOWN("nope", "2024-11-05") },
		{ ASK("ping", "{}"), RESULT("{}") },
	};
	struct talk talk;

	(void)state;
	begin(&talk);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		talk_say(&talk, steps[i].line);
		CHECK_NEXT(&talk, steps[i].want);
		CHECK_SILENCE(&talk);
	}
	talk_end(&talk);
}

static void a_claim_may_say_more_than_it_must(void **state)
{
	(void)state;
	check(ASK("resources/list",
	          META(LEVEL "\"debug\"," INFO
	                     "{\"name\":\"c\",\"version\":\"2\",\"x\":1}," CAPABILITIES
	                     "{\"roots\":{}},\"progressToken\":7,\"traceparent\":5," VERSION
	                     "\"2026-07-28\"")),
	      RESULT("{" LISTED ",\"ttlMs\":0,\"cacheScope\":\"private\"," STAMP "}"));
}

static void what_only_looks_like_a_claim_is_none(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(params); i++) {
		char line[300];

		(void)snprintf(line, sizeof line, ASK("resources/list", "%s"), params[i]);
		check(line, RESULT("{" LISTED "}"));
	}
}

#define A_LEVEL  "must be one of debug, info, notice, warning, error, critical, alert, emergency"
#define A_CLIENT "must be an object with the strings name and version"
#define A_TOKEN  "must be a string of at most 1024 bytes or a number"

static void a_broken_envelope_is_refused_by_member(void **state)
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
		  "is missing" }, /* before the version is looked at */
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
	static const char *const asked[] = { "resources/list", "server/discover", "ping", "nope" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t j = 0; j < ARRAY_LEN(asked); j++) {
			char line[400], want[500];

			(void)snprintf(line, sizeof line, ASK("%s", META("%s")), asked[j],
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

static void a_version_that_is_not_ours_is_refused_with_those_that_are(void **state)
{
	static const char *const versions[] = {
		"2024-11-05", "2025-03-26", "2025-06-18",  "2025-11-25", "2026-07-27",
		"2026-07-29", "v999.0.0",   "2026-07-28 ", "",
	};
	static const char *const asked[] = { "resources/list", "server/discover", "nope" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		for (size_t j = 0; j < ARRAY_LEN(asked); j++) {
			char line[300], want[400];

			(void)snprintf(line, sizeof line, ASK("%s", CLAIM_OF("\"%s\"")), asked[j],
			               versions[i]);
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

/* Cut between characters: in the message for people, in the data for programs. */
static void a_long_version_is_not_echoed_whole(void **state)
{
	char version[2000], line[2500], want[2500];

	(void)state;
	memset(version, 'x', 1023);
	memcpy(version + 1023, "\xc3\xa9yyy", sizeof "\xc3\xa9yyy");
	(void)snprintf(line, sizeof line, ASK("nope", CLAIM_OF("\"%s\"")), version);
	(void)snprintf(want, sizeof want,
	               "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":"
	               "\"protocol version '%.60s...' is not supported without a handshake; "
	               "use 2026-07-28\",\"data\":{\"supported\":[\"2026-07-28\"],"
	               "\"requested\":\"%.1023s\"}}}",
	               version, version);
	check(line, want);
}

static void an_initialize_whose_claim_does_not_hold_is_a_handshake(void **state)
{
	static const char *const claims[] = {
		VERSION "5," CAPABILITIES "{}",
		VERSION "\"2026-07-28\"",
		VERSION "\"2026-07-28\"," CAPABILITIES "[]",
		VERSION "\"2026-07-28\"," CAPABILITIES "{}," LEVEL "\"loud\"",
		VERSION "\"2025-11-25\"," CAPABILITIES "{}",
		VERSION "\"2026-07-27\"," CAPABILITIES "{}",
		VERSION "\"\"," CAPABILITIES "{}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(claims); i++) {
		char line[400];

		(void)snprintf(
		        line, sizeof line,
		        ASK("initialize", "{\"protocolVersion\":\"2025-06-18\",\"_meta\":{%s}}"),
		        claims[i]);
		check(line, SHAKEN("2025-06-18"));
	}
}

static void an_initialize_whose_claim_holds_is_no_handshake(void **state)
{
	struct talk talk;

	(void)state;
	begin(&talk);
	talk_say(&talk,
	         ASK("initialize", "{\"protocolVersion\":\"2025-06-18\","
	                           "\"_meta\":{" VERSION "\"2026-07-28\"," CAPABILITIES "{}}}"));
	CHECK_NEXT(&talk, UNKNOWN("initialize", "2026-07-28"));
	talk_say(&talk, ASK("initialize", CLAIM_OF("\"2027-01-01\"")));
	CHECK_NEXT(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":"
	                  "\"protocol version '2027-01-01' is not supported without a handshake; "
	                  "use 2026-07-28\",\"data\":{\"supported\":[\"2026-07-28\"],"
	                  "\"requested\":\"2027-01-01\"}}}");
	talk_say(&talk, ASK("nope", "{}"));
	CHECK_NEXT(&talk, UNKNOWN("nope", "2025-03-26"));
	talk_end(&talk);
}

static void methods_of_the_handshake_era_are_unknown_without_one(void **state)
{
	static const struct {
		const char *method, *params, *want;
	} cases[] = {
		{ "ping", "", "{}" },
		{ "logging/setLevel", "\"level\":\"info\",", "{}" },
		{ "resources/subscribe", "\"uri\":\"r://a\",", "{}" },
		{ "resources/unsubscribe", "\"uri\":\"r://a\",", "{}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char line[300], want[200];

		(void)snprintf(
		        line, sizeof line,
		        ASK("%s", "{%s\"_meta\":{" VERSION "\"2026-07-28\"," CAPABILITIES "{}}}"),
		        cases[i].method, cases[i].params);
		(void)snprintf(want, sizeof want, UNKNOWN("%s", "2026-07-28"), cases[i].method);
		check(line, want);
		(void)snprintf(line, sizeof line, ASK("%s", "{%s\"_meta\":{}}"), cases[i].method,
		               cases[i].params);
		(void)snprintf(want, sizeof want, RESULT("%s"), cases[i].want);
		check(line, want);
	}
}

static void listening_is_unknown_after_a_handshake(void **state)
{
	static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18",
		                                 "2025-11-25" };
	struct talk talk;

	(void)state;
	begin(&talk);
	for (size_t i = 0; i < ARRAY_LEN(revisions); i++) {
		char line[200], want[200];

		(void)snprintf(line, sizeof line, INITIALIZE("%s"), revisions[i]);
		talk_say(&talk, line);
		(void)talk_next(&talk);
		talk_say(&talk, ASK("subscriptions/listen", "{\"notifications\":{}}"));
		(void)snprintf(want, sizeof want, UNKNOWN("subscriptions/listen", "%s"),
		               revisions[i]);
		CHECK_NEXT(&talk, want);
		CHECK_SILENCE(&talk);
	}
	talk_end(&talk);
}

static void a_bare_discover_says_what_it_lacks(void **state)
{
	static const char *const lines[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}",
		ASK("server/discover", "null"),
		ASK("server/discover", "{}"),
		ASK("server/discover", "{\"_meta\":{}}"),
		ASK("server/discover", "{\"_meta\":7}"),
		ASK("server/discover", META(CAPABILITIES "{}")),
	};
	struct talk talk;

	(void)state;
	begin(&talk);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
			talk_say(&talk, lines[i]);
			CHECK_NEXT(&talk,
			           ERROR("-32602", "'server/discover' needs params._meta with "
			                           "'io.modelcontextprotocol/protocolVersion' and "
			                           "'io.modelcontextprotocol/clientCapabilities'"));
		}
		talk_say(&talk, INITIALIZE("2025-11-25"));
		(void)talk_next(&talk);
	}
	talk_end(&talk);
}

static void an_unknown_method_is_named_as_it_can_be_shown(void **state)
{
	static const struct {
		const char *method, *shown;
	} cases[] = {
		{ "nope", "nope" },
		{ "", "" },
		{ "Resources/list", "Resources/list" },
		{ "resources/list ", "resources/list " },
		{ "resources", "resources" },
		{ "tools/list", "tools/list" }, /* there are no tools */
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

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char line[300], want[300];

		(void)snprintf(line, sizeof line, ASK("%s", "{}"), cases[i].method);
		(void)snprintf(want, sizeof want, UNKNOWN("%s", "2025-03-26"), cases[i].shown);
		check(line, want);
		(void)snprintf(line, sizeof line, ASK("%s", CLAIM), cases[i].method);
		(void)snprintf(want, sizeof want, UNKNOWN("%s", "2026-07-28"), cases[i].shown);
		check(line, want);
	}
}

static void params_that_are_no_object_come_first(void **state)
{
	(void)state;
	check(ASK("nope", "[]"), ERROR("-32602", "'params' must be an object"));
	check(ASK("resources/list", "\"x\""), ERROR("-32602", "'params' must be an object"));
}

static void a_notification_is_never_answered(void **state)
{
	static const char *const lines[] = {
		"{\"jsonrpc\":\"2.0\",\"method\":\"resources/list\",\"params\":" CLAIM "}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"server/discover\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"initialize\",\"params\":{}}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"nope\",\"params\":" META(VERSION "5") "}",
	};
	struct talk talk;

	(void)state;
	begin(&talk);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		talk_say(&talk, lines[i]);
		CHECK_SILENCE(&talk);
	}
	talk_say(&talk, ASK("nope", "{}")); /* still there, and not shaken hands with */
	CHECK_NEXT(&talk, UNKNOWN("nope", "2025-03-26"));
	talk_end(&talk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_request_is_routed_by_itself),
		TEST(a_claim_may_say_more_than_it_must),
		TEST(what_only_looks_like_a_claim_is_none),
		TEST(a_broken_envelope_is_refused_by_member),
		TEST(a_version_that_is_not_ours_is_refused_with_those_that_are),
		TEST(a_long_version_is_not_echoed_whole),
		TEST(an_initialize_whose_claim_does_not_hold_is_a_handshake),
		TEST(an_initialize_whose_claim_holds_is_no_handshake),
		TEST(methods_of_the_handshake_era_are_unknown_without_one),
		TEST(listening_is_unknown_after_a_handshake),
		TEST(a_bare_discover_says_what_it_lacks),
		TEST(an_unknown_method_is_named_as_it_can_be_shown),
		TEST(params_that_are_no_object_come_first),
		TEST(a_notification_is_never_answered),
	};

	return RUN_TESTS("mcp/methods", tests);
}
