/* Tools as each revision describes them, their arguments and their answers. */
#include "mcp/call.h"
#include "unit/mcp/talk.h"

#define RESULT(result) "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" result "}"
#define CALL(name, more)                                                                           \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" name     \
	"\"" more "}}"
#define ERROR(text)                                                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"" text "\"}}"
#define FAILURE(text) "{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":true"
#define STAMP                                                                                      \
	"\"_meta\":{\"io.modelcontextprotocol/"                                                    \
	"serverInfo\":{\"name\":\"test\",\"version\":\"1\"}},"                                     \
	"\"resultType\":\"complete\""

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

/* Asks in revisions[i]: after its handshake, or with its claim. more begins with a comma. */
static void ask(struct talk *talk, size_t i, const char *method, const char *more)
{
	char line[600];

	if (i < STATELESS) {
		(void)snprintf(
		        line, sizeof line,
		        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
		        "\"protocolVersion\":\"%s\"}}",
		        revisions[i]);
		talk_say(talk, line);
		(void)talk_next(talk);
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
	talk_say(talk, line);
}

/* want: the result in each revision. */
static void check_all(const char *method, const char *more, const char *const want[REVISIONS])
{
	struct mcp_config config = { .tools = strcmp(method, "tools/list") == 0 ? tools : both };
	struct talk talk;

	talk_begin(&talk, &config);
	for (size_t i = 0; i < REVISIONS; i++) {
		ask(&talk, i, method, more);
		CHECK_NEXT(&talk, want[i]);
		CHECK_SILENCE(&talk);
	}
	talk_end(&talk);
}

static void check(const char *line, const char *want)
{
	struct mcp_config config = { .tools = both };
	struct talk talk;

	talk_begin(&talk, &config);
	talk_say(&talk, line);
	CHECK_NEXT(&talk, want);
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

#define INPUT                                                                                      \
	"\"inputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\","        \
	"\"minimum\":1,"                                                                           \
	"\"maximum\":9,\"default\":3,\"description\":\"How "                                       \
	"many.\"},\"word\":{\"type\":\"string\","                                                  \
	"\"maxLength\":10,\"default\":\"none\",\"description\":\"Which.\"}},"                      \
	"\"additionalProperties\":false}"
#define OUTPUT                                                                                     \
	"\"outputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\","       \
	"\"description\":\"As asked.\"}},\"required\":[\"n\"]}"
#define HINTS                                                                                      \
	"\"annotations\":{\"title\":\"Count\",\"readOnlyHint\":true,\"destructiveHint\":true,"     \
	"\"idempotentHint\":true,\"openWorldHint\":true}"
#define ICONS "\"icons\":[{\"src\":\"data:,x\",\"mimeType\":\"image/png\",\"sizes\":[\"1x1\"]}]"

static void a_tool_is_described_as_the_revision_knows(void **state)
{
	static const char *const want[REVISIONS] = {
		RESULT("{\"tools\":[{\"name\":\"count\",\"description\":\"Counts.\"," INPUT "}]}"),
		RESULT("{\"tools\":[{\"name\":\"count\",\"description\":\"Counts.\"," INPUT
		       "," HINTS "}]}"),
		RESULT("{\"tools\":[{\"name\":\"count\",\"title\":\"Count\",\"description\":"
		       "\"Counts.\"," INPUT "," OUTPUT "," HINTS "}]}"),
		RESULT("{\"tools\":[{\"name\":\"count\",\"title\":\"Count\",\"description\":"
		       "\"Counts.\"," ICONS "," INPUT "," OUTPUT "," HINTS "}]}"),
		RESULT("{\"tools\":[{\"name\":\"count\",\"title\":\"Count\",\"description\":"
		       "\"Counts.\"," ICONS "," INPUT "," OUTPUT "," HINTS
		       "}],\"ttlMs\":0,\"cacheScope\":\"private\"," STAMP "}"),
	};

	(void)state;
	check_all("tools/list", "", want);
}

static void each_hint_is_told_true_or_false(void **state)
{
	static const struct {
		uint32_t hints;
		const char *want;
	} cases[] = {
		{ 0, "{\"readOnlyHint\":false,\"destructiveHint\":false,\"idempotentHint\":false,"
		     "\"openWorldHint\":false}" },
		{ MCP_READ_ONLY, "{\"readOnlyHint\":true,\"destructiveHint\":false,"
		                 "\"idempotentHint\":false,\"openWorldHint\":false}" },
		{ MCP_DESTRUCTIVE, "{\"readOnlyHint\":false,\"destructiveHint\":true,"
		                   "\"idempotentHint\":false,\"openWorldHint\":false}" },
		{ MCP_IDEMPOTENT, "{\"readOnlyHint\":false,\"destructiveHint\":false,"
		                  "\"idempotentHint\":true,\"openWorldHint\":false}" },
		{ MCP_OPEN_WORLD, "{\"readOnlyHint\":false,\"destructiveHint\":false,"
		                  "\"idempotentHint\":false,\"openWorldHint\":true}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct mcp_tool tool = {
			.name = "t", .help = "T.", .hints = cases[i].hints, .call = media
		};
		const struct mcp_tool *const one[] = { &tool, NULL };
		struct mcp_config config = { .tools = one };
		struct talk talk;
		char want[400];

		talk_begin(&talk, &config);
		talk_say(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
		(void)snprintf(want, sizeof want,
		               RESULT("{\"tools\":[{\"name\":\"t\",\"description\":\"T.\","
		                      "\"inputSchema\":{"
		                      "\"type\":\"object\",\"properties\":{},"
		                      "\"additionalProperties\":false},\"annotations\":%s}]}"),
		               cases[i].want);
		CHECK_NEXT(&talk, want);
		talk_end(&talk);
	}
}

static void a_structured_answer_is_text_too(void **state)
{
#define TEXT "\"content\":[{\"type\":\"text\",\"text\":\"{\\\"n\\\":7,\\\"word\\\":\\\"é\\\"}\"}]"
#define BOTH TEXT ",\"structuredContent\":{\"n\":7,\"word\":\"é\"}"
	static const char *const want[REVISIONS] = {
		RESULT("{" TEXT "}"), RESULT("{" TEXT "}"),           RESULT("{" BOTH "}"),
		RESULT("{" BOTH "}"), RESULT("{" BOTH "," STAMP "}"),
	};

	(void)state;
	check_all("tools/call", ",\"name\":\"count\",\"arguments\":{\"n\":7,\"word\":\"é\"}", want);
}

static void blocks_the_revision_cannot_carry_become_text(void **state)
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
		RESULT("{\"content\":[" AUDIO "," LINK "," OTHERS STRUCTURED "," STAMP "}"),
	};

	(void)state;
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

	(void)state;
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

	(void)state;
	runs = 0;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		check(lines[i], ERROR("'arguments' must be an object"));
	assert_int_equal(runs, 0);
}

static void a_wrong_argument_is_a_result_the_model_reads(void **state)
{
	static const struct {
		const char *arguments, *why;
	} cases[] = {
		{ "{\"n\":\"x\"}",
		  "argument 'n': expected an integer from 1 to 9, got the string \\\"x\\\"" },
		{ "{\"n\":10}",
		  "argument 'n': expected an integer from 1 to 9, got the number 10" },
		{ "{\"n\":1,\"wrod\":\"x\"}",
		  "argument 'wrod' is not known; did you mean 'word'?" },
		{ "{\"other\":1}", "argument 'other' is not known" },
	};

	(void)state;
	runs = 0;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char line[200], want[300];

		(void)snprintf(line, sizeof line, CALL("count", ",\"arguments\":%s"),
		               cases[i].arguments);
		(void)snprintf(want, sizeof want, RESULT(FAILURE("%s") "}"), cases[i].why);
		check(line, want);
	}
	check(CALL("media", ",\"arguments\":{\"n\":1}"),
	      RESULT(FAILURE("argument 'n' is not known") "}"));
	assert_int_equal(runs, 0);
}

static void a_wrong_argument_is_a_result_in_each_revision(void **state)
{
#define WRONG FAILURE("argument 'n': expected an integer from 1 to 9, got the number 0")
	static const char *const want[REVISIONS] = {
		RESULT(WRONG "}"), RESULT(WRONG "}"),           RESULT(WRONG "}"),
		RESULT(WRONG "}"), RESULT(WRONG "," STAMP "}"),
	};

	(void)state;
	runs = 0;
	check_all("tools/call", ",\"name\":\"count\",\"arguments\":{\"n\":0}", want);
	assert_int_equal(runs, 0);
}

static void a_call_must_name_its_tool(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		check(lines[i], ERROR("'name' must be the name of a tool"));
	check(CALL("Media", ",\"arguments\":[]"),
	      ERROR("unknown tool 'Media'; did you mean 'media'?"));
	check(CALL("", ""), ERROR("unknown tool ''; tools/list returns all names"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_tool_is_described_as_the_revision_knows),
		TEST(each_hint_is_told_true_or_false),
		TEST(a_structured_answer_is_text_too),
		TEST(blocks_the_revision_cannot_carry_become_text),
		TEST(arguments_may_be_absent_null_or_empty),
		TEST(arguments_that_are_no_object_are_an_error),
		TEST(a_wrong_argument_is_a_result_the_model_reads),
		TEST(a_wrong_argument_is_a_result_in_each_revision),
		TEST(a_call_must_name_its_tool),
	};

	return RUN_TESTS("mcp/tools", tests);
}
