/* tools/list and tools/call in every revision. */
#include "unit/mcp/fake_client.h"

#define CALL(name, more)                                                                           \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" name     \
	"\"" more "}}"
#define FAILURE(text) "{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":true"

struct args {
	int64_t n;
	const char *word;
};

static int runs; /* of the tool "count" */

static int count(struct mcp_call *call, const void *args, struct error *err)
{
	const struct args *a = args;
	json_t *structured = json_obj();

	(void)err;
	runs++;
	json_set(structured, "n", json_int(a->n));
	json_set(structured, "word", json_str(a->word));
	mcp_respond_content(call, NULL, structured);
	return 0;
}

static int media(struct mcp_call *call, const void *args, struct error *err)
{
	json_t *content = json_list();
	json_t *structured = json_obj();

	(void)args, (void)err;
	json_push(content, mcp_audio(VIEW("abc"), "audio/wav"));
	json_push(content, mcp_link("r://a", "a", "text/plain"));
	json_push(content, mcp_image(VIEW("abc"), "image/png"));
	json_push(content, mcp_embedded("r://b", NULL, "b"));
	json_push(content, mcp_text("%s", "own text"));
	json_set(structured, "n", json_int(5));
	mcp_respond_content(call, content, structured);
	return 0;
}

static const struct param params[] = {
	{ .name = "n",
	  .type = PARAM_INT,
	  .min = 1,
	  .max = 9,
	  .fallback.integer = 3,
	  .offset = offsetof(struct args, n),
	  .help = "How many." },
	{ .name = "word",
	  .type = PARAM_STRING,
	  .max = 10,
	  .fallback.text = "none",
	  .offset = offsetof(struct args, word),
	  .help = "Which." },
	{ 0 },
};
static const struct param output[] = {
	{ .name = "n", .type = PARAM_INT, .required = true, .help = "As asked." },
	{ 0 },
};
static const struct mcp_icon icon = { .src = "data:,x", .mime_type = "image/png", .sizes = "1x1" };
static const struct mcp_tool counter = { .name = "count",
	                                 .title = "Count",
	                                 .help = "Counts.",
	                                 .hints = MCP_READ_ONLY | MCP_DESTRUCTIVE | MCP_IDEMPOTENT |
	                                          MCP_OPEN_WORLD,
	                                 .params = params,
	                                 .args_size = sizeof(struct args),
	                                 .output = output,
	                                 .icon = &icon,
	                                 .call = count };
static const struct mcp_tool player = { .name = "media", .help = "Plays.", .call = media };
static const struct mcp_tool *const tools[] = { &counter, NULL };
static const struct mcp_tool *const both[] = { &counter, &player, NULL };

static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
	                                 "2026-07-28" };
enum { REVISIONS = ARRAY_LEN(revisions), STATELESS = REVISIONS - 1 };

/* Sends a request in revisions[i]: after a handshake, or with a version in _meta. `more` begins
 * with a comma. */
static void request_in_revision(struct peer *peer, size_t i, const char *method, const char *more)
{
	char line[600];

	if (i < STATELESS) {
		(void)snprintf(
		        line, sizeof line,
		        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
		        "\"protocolVersion\":\"%s\"}}",
		        revisions[i]);
		peer_send(peer, line);
		(void)peer_next(peer);
		(void)snprintf(line, sizeof line,
		               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{\"_"
		               "meta\":{}%s}}",
		               method, more);
	} else {
		(void)snprintf(
		        line, sizeof line,
		        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{\"_meta\":{"
		        "\"io.modelcontextprotocol/protocolVersion\":\"%s\","
		        "\"io.modelcontextprotocol/clientCapabilities\":{}}%s}}",
		        method, revisions[i], more);
	}
	peer_send(peer, line);
}

/* Compares the result in each revision. */
static void check_all(const char *method, const char *more, const char *const want[REVISIONS])
{
	struct mcp_config config = { .tools = strcmp(method, "tools/list") == 0 ? tools : both };
	struct peer peer;

	peer_open(&peer, &config);
	for (size_t i = 0; i < REVISIONS; i++) {
		request_in_revision(&peer, i, method, more);
		CHECK_NEXT(&peer, want[i]);
		CHECK_NOTHING_SENT(&peer);
	}
	peer_close(&peer);
}

static void check(const char *line, const char *want)
{
	peer_check(&(struct mcp_config){ .tools = both }, line, want);
}

#define INPUT                                                                                      \
	"\"inputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\","        \
	"\"maximum\":9,\"default\":3,\"description\":\"How "                                       \
	"many.\"},\"word\":{\"type\":\"string\","                                                  \
	"\"default\":\"none\",\"description\":\"Which.\"}}}"
#define OUTPUT                                                                                     \
	"\"outputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"     \
	"\"required\":[\"n\"]}"
#define HINTS        "\"annotations\":{\"readOnlyHint\":true}"
#define TITLED_HINTS "\"annotations\":{\"title\":\"Count\",\"readOnlyHint\":true}"
#define ICONS        "\"icons\":[{\"src\":\"data:,x\",\"mimeType\":\"image/png\",\"sizes\":[\"1x1\"]}]"

static void tool_description_has_the_members_of_the_revision(void **state)
{
	static const char *const want[REVISIONS] = {
		RESULT("{\"tools\":[{\"name\":\"count\",\"description\":\"Counts.\"," INPUT "}]}"),
		RESULT("{\"tools\":[{\"name\":\"count\",\"description\":\"Counts.\"," INPUT
		       "," TITLED_HINTS "}]}"),
		RESULT("{\"tools\":[{\"name\":\"count\",\"title\":\"Count\",\"description\":"
		       "\"Counts.\"," INPUT "," OUTPUT "," HINTS "}]}"),
		RESULT("{\"tools\":[{\"name\":\"count\",\"title\":\"Count\",\"description\":"
		       "\"Counts.\"," ICONS "," INPUT "," OUTPUT "," HINTS "}]}"),
		RESULT("{\"tools\":[{\"name\":\"count\",\"title\":\"Count\",\"description\":"
		       "\"Counts.\"," ICONS "," INPUT "," OUTPUT "," HINTS
		       "}],\"ttlMs\":0,\"cacheScope\":\"private\"," STATELESS_FIELDS "}"),
	};

	check_all("tools/list", "", want);
}

static void only_hints_that_differ_from_their_default_are_sent(void **state)
{
	static const struct {
		uint32_t hints;
		const char *want;
	} cases[] = {
		{ 0, "{\"destructiveHint\":false,\"openWorldHint\":false}" },
		{ MCP_READ_ONLY, "{\"readOnlyHint\":true,\"openWorldHint\":false}" },
		{ MCP_DESTRUCTIVE, "{\"openWorldHint\":false}" },
		{ MCP_IDEMPOTENT, "{\"destructiveHint\":false,\"idempotentHint\":true,"
		                  "\"openWorldHint\":false}" },
		{ MCP_OPEN_WORLD, "{\"destructiveHint\":false}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct mcp_tool tool = {
			.name = "t", .help = "T.", .hints = cases[i].hints, .call = media
		};
		const struct mcp_tool *const one[] = { &tool, NULL };
		struct mcp_config config = { .tools = one };
		struct peer peer;
		char want[400];

		peer_open(&peer, &config);
		peer_send(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
		(void)snprintf(want, sizeof want,
		               RESULT("{\"tools\":[{\"name\":\"t\",\"description\":\"T.\","
		                      "\"inputSchema\":{"
		                      "\"type\":\"object\",\"properties\":{}},"
		                      "\"annotations\":%s}]}"),
		               cases[i].want);
		CHECK_NEXT(&peer, want);
		peer_close(&peer);
	}
}

static void structured_result_has_text_too(void **state)
{
#define TEXT "\"content\":[{\"type\":\"text\",\"text\":\"{\\\"n\\\":7,\\\"word\\\":\\\"é\\\"}\"}]"
#define BOTH TEXT ",\"structuredContent\":{\"n\":7,\"word\":\"é\"}"
	static const char *const want[REVISIONS] = {
		RESULT("{" TEXT "}"),
		RESULT("{" TEXT "}"),
		RESULT("{" BOTH "}"),
		RESULT("{" BOTH "}"),
		RESULT("{" BOTH "," STATELESS_FIELDS "}"),
	};

	check_all("tools/call", ",\"name\":\"count\",\"arguments\":{\"n\":7,\"word\":\"é\"}", want);
}

static void blocks_that_the_revision_lacks_become_text(void **state)
{
#define AUDIO "{\"type\":\"audio\",\"data\":\"YWJj\",\"mimeType\":\"audio/wav\"}"
#define NO_AUDIO                                                                                   \
	"{\"type\":\"text\",\"text\":\"[audio/wav audio: this protocol revision cannot carry "     \
	"it]\"}"
#define LINK                                                                                       \
	"{\"type\":\"resource_link\",\"uri\":\"r://a\",\"name\":\"a\",\"mimeType\":\"text/"        \
	"plain\"}"
#define NO_LINK "{\"type\":\"text\",\"text\":\"a: r://a\"}"
#define OTHERS                                                                                     \
	"{\"type\":\"image\",\"data\":\"YWJj\",\"mimeType\":\"image/"                              \
	"png\"},{\"type\":\"resource\","                                                           \
	"\"resource\":{\"uri\":\"r://b\",\"text\":\"b\"}},{\"type\":\"text\",\"text\":\"own "      \
	"text\"}]"
#define STRUCTURED ",\"structuredContent\":{\"n\":5}"
	static const char *const want[REVISIONS] = {
		RESULT("{\"content\":[" NO_AUDIO "," NO_LINK "," OTHERS "}"),
		RESULT("{\"content\":[" AUDIO "," NO_LINK "," OTHERS "}"),
		RESULT("{\"content\":[" AUDIO "," LINK "," OTHERS STRUCTURED "}"),
		RESULT("{\"content\":[" AUDIO "," LINK "," OTHERS STRUCTURED "}"),
		RESULT("{\"content\":[" AUDIO "," LINK "," OTHERS STRUCTURED "," STATELESS_FIELDS
		       "}"),
	};

	check_all("tools/call", ",\"name\":\"media\"", want);
}

static void arguments_may_be_absent_null_or_empty(void **state)
{
	static const char *const lines[] = {
		CALL("count", ""),
		CALL("count", ",\"arguments\":null"),
		CALL("count", ",\"arguments\":{}"),
		CALL("count", ",\"arguments\":{\"n\":null,\"word\":null}"),
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		check(lines[i], RESULT("{\"content\":[{\"type\":\"text\","
		                       "\"text\":\"{\\\"n\\\":3,\\\"word\\\":\\\"none\\\"}\"}]}"));
}

static void arguments_that_are_no_object_are_an_error(void **state)
{
	static const char *const lines[] = {
		CALL("count", ",\"arguments\":[]"),    CALL("count", ",\"arguments\":[{\"n\":7}]"),
		CALL("count", ",\"arguments\":\"n\""), CALL("count", ",\"arguments\":7"),
		CALL("count", ",\"arguments\":false"), CALL("media", ",\"arguments\":[]"),
	};

	runs = 0;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		check(lines[i], INVALID_PARAMS("'arguments' must be an object"));
	assert_int_equal(runs, 0);
}

static void wrong_argument_is_a_result_with_is_error(void **state)
{
	static const struct {
		const char *arguments, *why;
	} cases[] = {
		{ "{\"n\":\"x\"}",
		  "argument 'n': expected an integer from 1 to 9, got the string \\\"x\\\"" },
		{ "{\"n\":10}",
		  "argument 'n': expected an integer from 1 to 9, got the number 10" },
		{ "{\"n\":1,\"wrod\":\"x\"}",
		  "argument 'wrod' is not known; did you mean 'word'? There are: n, word" },
		{ "{\"other\":1}", "argument 'other' is not known; there are: n, word" },
	};

	runs = 0;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char line[200], want[300];

		(void)snprintf(line, sizeof line, CALL("count", ",\"arguments\":%s"),
		               cases[i].arguments);
		(void)snprintf(want, sizeof want, RESULT(FAILURE("%s") "}"), cases[i].why);
		check(line, want);
	}
	check(CALL("media", ",\"arguments\":{\"n\":1}"),
	      RESULT(FAILURE(
	              "argument 'n' is not known, and there are no others: leave it out") "}"));
	assert_int_equal(runs, 0);
}

static void wrong_argument_is_a_result_in_each_revision(void **state)
{
#define WRONG FAILURE("argument 'n': expected an integer from 1 to 9, got the number 0")
	static const char *const want[REVISIONS] = {
		RESULT(WRONG "}"),
		RESULT(WRONG "}"),
		RESULT(WRONG "}"),
		RESULT(WRONG "}"),
		RESULT(WRONG "," STATELESS_FIELDS "}"),
	};

	runs = 0;
	check_all("tools/call", ",\"name\":\"count\",\"arguments\":{\"n\":0}", want);
	assert_int_equal(runs, 0);
}

static void missing_or_unknown_tool_name_is_an_error(void **state)
{
	static const char *const lines[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		"call\",\"params\":{\"name\":null}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		"call\",\"params\":{\"name\":[\"count\"]}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		"call\",\"params\":{\"name\":\"count\\u0000\"}}",
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		check(lines[i], INVALID_PARAMS("'name' must be the name of a tool"));
	check(CALL("Media", ",\"arguments\":[]"),
	      INVALID_PARAMS("unknown tool 'Media'; did you mean 'media'?"));
	check(CALL("", ""), INVALID_PARAMS("unknown tool ''; tools/list returns all names"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tool_description_has_the_members_of_the_revision),
		TEST(only_hints_that_differ_from_their_default_are_sent),
		TEST(structured_result_has_text_too),
		TEST(blocks_that_the_revision_lacks_become_text),
		TEST(arguments_may_be_absent_null_or_empty),
		TEST(arguments_that_are_no_object_are_an_error),
		TEST(wrong_argument_is_a_result_with_is_error),
		TEST(wrong_argument_is_a_result_in_each_revision),
		TEST(missing_or_unknown_tool_name_is_an_error),
	};

	return RUN_TESTS("mcp/tools", tests);
}
