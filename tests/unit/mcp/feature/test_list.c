/* Lists in pages: each page of a table, and where the next one begins. */
#include "mcp/call.h"
#include "unit/mcp/talk.h"

#define RESULT(result) "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" result "}"
#define CLAIMED                                                                                    \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define STAMP                                                                                      \
	"\"_meta\":{\"io.modelcontextprotocol/"                                                    \
	"serverInfo\":{\"name\":\"test\",\"version\":\"1\"}},"                                     \
	"\"resultType\":\"complete\""
#define R(name) "{\"uri\":\"r://" name "\",\"name\":\"" name "\"}"

static int never(struct mcp_call *call, const void *args, struct error *err)
{
	(void)call, (void)args, (void)err;
	fail_msg("a list runs no handler");
	return 0;
}

static const struct mcp_resource d = { .uri = "r://d", .name = "d", .read = never };
static const struct mcp_resource b = { .uri = "r://b", .name = "b", .read = never };
static const struct mcp_resource e = { .uri = "r://e", .name = "e", .read = never };
static const struct mcp_resource a = { .uri = "r://a", .name = "a", .read = never };
static const struct mcp_resource c = { .uri = "r://c", .name = "c", .read = never };
static const struct mcp_resource *const five[] = { &d, &b, &e, &a, &c, NULL };

static void begin(struct talk *talk, struct mcp_config *config, size_t page_size)
{
	config->limits = mcp_default_limits;
	config->limits.page_size = page_size;
	talk_begin(talk, config);
}

/* Asks for the page behind "cursor", a JSON value; NULL: without one. */
static void ask(struct talk *talk, const char *method, const char *cursor, const char *meta)
{
	char line[400];

	(void)snprintf(line, sizeof line,
	               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s%s%s}}",
	               method, cursor != NULL ? "\"cursor\":" : "", cursor != NULL ? cursor : "",
	               cursor != NULL && meta[0] != '\0' ? "," : "", meta);
	talk_say(talk, line);
}

/* The cursor of the message to be taken next, as JSON; empty: it has none. */
static void peek_cursor(const struct talk *talk, char *out, size_t size)
{
	const json_t *result = json_object_get(json_array_get(talk->sent, 0), "result");
	const char *cursor = json_text(result, "nextCursor");

	out[0] = '\0';
	if (cursor != NULL)
		(void)snprintf(out, size, "\"%s\"", cursor);
}

/* Follows the cursors of a list from its beginning; want ends in NULL. */
static void check_pages(size_t page_size, const char *meta, const char *const *want)
{
	struct mcp_config config = { .resources = five, .cache_ms = 5000 };
	char cursor[64] = "";
	struct talk talk;

	begin(&talk, &config, page_size);
	for (size_t i = 0; want[i] != NULL; i++) {
		ask(&talk, "resources/list", i == 0 ? NULL : cursor, meta);
		peek_cursor(&talk, cursor, sizeof cursor);
		CHECK_NEXT(&talk, want[i]);
		assert_int_equal(cursor[0] == '\0', want[i + 1] == NULL);
	}
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void a_list_is_read_in_pages_in_the_order_of_its_table(void **state)
{
	static const char *const ones[] = {
		RESULT("{\"resources\":[" R("d") "],\"nextCursor\":\"resources.1\"}"),
		RESULT("{\"resources\":[" R("b") "],\"nextCursor\":\"resources.2\"}"),
		RESULT("{\"resources\":[" R("e") "],\"nextCursor\":\"resources.3\"}"),
		RESULT("{\"resources\":[" R("a") "],\"nextCursor\":\"resources.4\"}"),
		RESULT("{\"resources\":[" R("c") "]}"),
		NULL,
	};
	static const char *const twos[] = {
		RESULT("{\"resources\":[" R("d") "," R("b") "],\"nextCursor\":\"resources.2\"}"),
		RESULT("{\"resources\":[" R("e") "," R("a") "],\"nextCursor\":\"resources.4\"}"),
		RESULT("{\"resources\":[" R("c") "]}"),
		NULL,
	};
	static const char *const fours[] = {
		RESULT("{\"resources\":[" R("d") "," R("b") "," R("e") "," R(
		        "a") "],\"nextCursor\":\"resources.4\"}"),
		RESULT("{\"resources\":[" R("c") "]}"),
		NULL,
	};

	(void)state;
	check_pages(1, "", ones);
	check_pages(2, "", twos);
	check_pages(4, "", fours);
}

static void a_list_that_fits_is_one_page(void **state)
{
	static const char *const whole[] = {
		RESULT("{\"resources\":[" R("d") "," R("b") "," R("e") "," R("a") "," R("c") "]}"),
		NULL,
	};

	(void)state;
	check_pages(5, "", whole);
	check_pages(6, "", whole);
	check_pages(SIZE_MAX, "", whole);
}

static void each_page_of_the_stateless_era_says_how_long_it_keeps(void **state)
{
	static const char *const pages[] = {
		RESULT("{\"resources\":[" R("d") "," R("b") "," R(
		        "e") "],\"nextCursor\":\"resources.3\",\"ttlMs\":5000,\"cacheScope\":"
		             "\"private\"," STAMP "}"),
		RESULT("{\"resources\":[" R("a") "," R(
		        "c") "],\"ttlMs\":5000,\"cacheScope\":\"private\"," STAMP "}"),
		NULL,
	};

	(void)state;
	check_pages(3, CLAIMED, pages);
}

static void no_page_of_the_handshake_era_does(void **state)
{
	static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18",
		                                 "2025-11-25" };
	struct mcp_config config = { .resources = five, .cache_ms = 5000 };
	struct talk talk;

	(void)state;
	begin(&talk, &config, 4);
	for (size_t i = 0; i < ARRAY_LEN(revisions); i++) {
		char line[200];

		(void)snprintf(
		        line, sizeof line,
		        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
		        "\"protocolVersion\":\"%s\"}}",
		        revisions[i]);
		talk_say(&talk, line);
		(void)talk_next(&talk);
		ask(&talk, "resources/list", "\"resources.3\"", "");
		CHECK_NEXT(&talk, RESULT("{\"resources\":[" R("a") "," R("c") "]}"));
	}
	talk_end(&talk);
}

static void an_empty_or_null_cursor_is_the_beginning(void **state)
{
	static const char *const cursors[] = { NULL, "\"\"", "null" };
	struct mcp_config config = { .resources = five };
	struct talk talk;

	(void)state;
	begin(&talk, &config, 1);
	for (size_t i = 0; i < ARRAY_LEN(cursors); i++) {
		ask(&talk, "resources/list", cursors[i], "");
		CHECK_NEXT(&talk,
		           RESULT("{\"resources\":[" R("d") "],\"nextCursor\":\"resources.1\"}"));
		ask(&talk, "resources/list", cursors[i], CLAIMED);
		CHECK_NEXT(&talk, RESULT("{\"resources\":[" R(
		                          "d") "],\"nextCursor\":\"resources.1\",\"ttlMs\":0,"
		                               "\"cacheScope\":\"private\"," STAMP "}"));
	}
	talk_say(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}");
	CHECK_NEXT(&talk, RESULT("{\"resources\":[" R("d") "],\"nextCursor\":\"resources.1\"}"));
	talk_end(&talk);
}

/* Nothing is kept between two pages. */
static void a_cursor_may_be_used_again_and_by_another_session(void **state)
{
	struct mcp_config config = { .resources = five };
	struct mcp_session *first;
	struct talk talk;

	(void)state;
	begin(&talk, &config, 2);
	for (int i = 0; i < 2; i++) {
		ask(&talk, "resources/list", "\"resources.4\"", "");
		CHECK_NEXT(&talk, RESULT("{\"resources\":[" R("c") "]}"));
	}
	first = talk.session;
	talk.session = mcp_session_new(talk.server, &talk.sink);
	mcp_session_close(first);
	ask(&talk, "resources/list", "\"resources.4\"", "");
	CHECK_NEXT(&talk, RESULT("{\"resources\":[" R("c") "]}"));
	talk_end(&talk);
}

static void a_list_without_entries_has_no_cursors(void **state)
{
	static const struct mcp_resource *const none[] = { NULL };
	static const struct mcp_resource *const one[] = { &a, NULL };
	static const struct mcp_template t = { .uri_template = "t://{x}",
		                               .name = "t",
		                               .read = never };
	static const struct mcp_template *const templates[] = { &t, NULL };
	static const struct {
		struct mcp_config config;
		const char *want;
	} cases[] = {
		{ { .resources = none }, RESULT("{\"resources\":[]}") },
		{ { .templates = templates }, RESULT("{\"resources\":[]}") }, /* no table at all */
		{ { .resources = one }, RESULT("{\"resources\":[" R("a") "]}") },
	};
	static const char *const cursors[] = { "\"resources.0\"", "\"resources.1\"",
		                               "\"resources.18446744073709551615\"" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct mcp_config config = cases[i].config;
		struct talk talk;

		begin(&talk, &config, 1);
		ask(&talk, "resources/list", NULL, "");
		CHECK_NEXT(&talk, cases[i].want);
		for (size_t j = 0; j < ARRAY_LEN(cursors); j++) {
			ask(&talk, "resources/list", cursors[j], "");
			CHECK_NEXT(&talk,
			           "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"
			           "\"message\":"
			           "\"'cursor' was not returned by this server; omit it to get the "
			           "first page\"}}");
		}
		talk_end(&talk);
	}
}

static void each_list_has_its_own_name_and_cursors(void **state)
{
	static const struct mcp_tool t1 = { .name = "x", .help = "X.", .call = never };
	static const struct mcp_tool t2 = { .name = "y", .help = "Y.", .call = never };
	static const struct mcp_tool *const tools[] = { &t1, &t2, NULL };
	static const struct mcp_prompt p1 = { .name = "x", .get = never };
	static const struct mcp_prompt p2 = { .name = "y", .get = never };
	static const struct mcp_prompt *const prompts[] = { &p1, &p2, NULL };
	static const struct mcp_template m1 = { .uri_template = "x://{x}",
		                                .name = "x",
		                                .read = never };
	static const struct mcp_template m2 = { .uri_template = "y://{y}",
		                                .name = "y",
		                                .read = never };
	static const struct mcp_template *const templates[] = { &m1, &m2, NULL };
	static const struct {
		const char *method, *cursor, *first, *last;
	} cases[] = {
		{ "tools/list", "\"tools.1\"",
		  RESULT("{\"tools\":[{\"name\":\"x\",\"description\":\"X.\",\"inputSchema\":{"
		         "\"type\":\"object\","
		         "\"properties\":{},\"additionalProperties\":false}}],\"nextCursor\":"
		         "\"tools.1\"}"),
		  RESULT("{\"tools\":[{\"name\":\"y\",\"description\":\"Y.\",\"inputSchema\":{"
		         "\"type\":\"object\","
		         "\"properties\":{},\"additionalProperties\":false}}]}") },
		{ "prompts/list", "\"prompts.1\"",
		  RESULT("{\"prompts\":[{\"name\":\"x\",\"arguments\":[]}],\"nextCursor\":"
		         "\"prompts.1\"}"),
		  RESULT("{\"prompts\":[{\"name\":\"y\",\"arguments\":[]}]}") },
		{ "resources/list", "\"resources.4\"",
		  RESULT("{\"resources\":[" R("d") "],\"nextCursor\":\"resources.1\"}"),
		  RESULT("{\"resources\":[" R("c") "]}") },
		{ "resources/templates/list", "\"resourceTemplates.1\"",
		  RESULT("{\"resourceTemplates\":[{\"uriTemplate\":\"x://{x}\",\"name\":\"x\"}],"
		         "\"nextCursor\":\"resourceTemplates.1\"}"),
		  RESULT("{\"resourceTemplates\":[{\"uriTemplate\":\"y://"
		         "{y}\",\"name\":\"y\"}]}") },
	};
	struct mcp_config config = {
		.tools = tools, .prompts = prompts, .resources = five, .templates = templates
	};
	struct talk talk;

	(void)state;
	begin(&talk, &config, 1);
	talk_say(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
	                "\"protocolVersion\":\"2024-11-05\"}}");
	(void)talk_next(&talk);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		ask(&talk, cases[i].method, NULL, "");
		CHECK_NEXT(&talk, cases[i].first);
		ask(&talk, cases[i].method, cases[i].cursor, "");
		CHECK_NEXT(&talk, cases[i].last);
		ask(&talk, cases[i].method, cases[(i + 1) % ARRAY_LEN(cases)].cursor, "");
		CHECK_NEXT(&talk,
		           "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":"
		           "\"'cursor' was not returned by this server; omit it to get the "
		           "first page\"}}");
	}
	talk_end(&talk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_list_is_read_in_pages_in_the_order_of_its_table),
		TEST(a_list_that_fits_is_one_page),
		TEST(each_page_of_the_stateless_era_says_how_long_it_keeps),
		TEST(no_page_of_the_handshake_era_does),
		TEST(an_empty_or_null_cursor_is_the_beginning),
		TEST(a_cursor_may_be_used_again_and_by_another_session),
		TEST(a_list_without_entries_has_no_cursors),
		TEST(each_list_has_its_own_name_and_cursors),
	};

	return RUN_TESTS("mcp/list", tests);
}
