/* The list methods: pages and cursors. */
#include "unit/mcp/fake_client.h"

#define BAD_CURSOR                                                                                 \
	INVALID_PARAMS("'cursor' was not returned by this server; omit it to get the first page")
#define R(name) "{\"uri\":\"r://" name "\",\"name\":\"" name "\"}"

static int fail_handler(struct mcp_call *call, const void *args, struct error *err)
{
	(void)call, (void)args, (void)err;
	fail_msg("a list runs no handler");
	return 0;
}

static const struct mcp_resource d = { .uri = "r://d", .name = "d", .read = fail_handler };
static const struct mcp_resource b = { .uri = "r://b", .name = "b", .read = fail_handler };
static const struct mcp_resource e = { .uri = "r://e", .name = "e", .read = fail_handler };
static const struct mcp_resource a = { .uri = "r://a", .name = "a", .read = fail_handler };
static const struct mcp_resource c = { .uri = "r://c", .name = "c", .read = fail_handler };
static const struct mcp_resource *const five[] = { &d, &b, &e, &a, &c, NULL };

static void open_peer(struct peer *peer, struct mcp_config *config, size_t page_size)
{
	config->limits = mcp_default_limits;
	config->limits.page_size = page_size;
	peer_open(peer, config);
}

/* Requests the page at `cursor`, which is JSON; NULL: no cursor. */
static void request_page(struct peer *peer, const char *method, const char *cursor,
                         const char *meta)
{
	char line[400];

	(void)snprintf(line, sizeof line,
	               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s%s%s}}",
	               method, cursor != NULL ? "\"cursor\":" : "", cursor != NULL ? cursor : "",
	               cursor != NULL && meta[0] != '\0' ? "," : "", meta);
	peer_send(peer, line);
}

/* nextCursor of the next message as JSON; empty if it has none. */
static void peek_cursor(const struct peer *peer, char *out, size_t size)
{
	const json_t *result = json_object_get(json_array_get(peer->sent, 0), "result");
	const char *cursor = json_text(result, "nextCursor");

	out[0] = '\0';
	if (cursor != NULL)
		(void)snprintf(out, size, "\"%s\"", cursor);
}

/* Reads all pages of a list. `want` ends in NULL. */
static void check_pages(size_t page_size, const char *meta, const char *const *want)
{
	struct mcp_config config = { .resources = five, .cache_ms = 5000 };
	char cursor[64] = "";
	struct peer peer;

	open_peer(&peer, &config, page_size);
	for (size_t i = 0; want[i] != NULL; i++) {
		request_page(&peer, "resources/list", i == 0 ? NULL : cursor, meta);
		peek_cursor(&peer, cursor, sizeof cursor);
		CHECK_NEXT(&peer, want[i]);
		assert_int_equal(cursor[0] == '\0', want[i + 1] == NULL);
	}
	CHECK_NOTHING_SENT(&peer);
	peer_close(&peer);
}

static void pages_follow_the_order_of_the_table(void **state)
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

	check_pages(1, "", ones);
	check_pages(2, "", twos);
	check_pages(4, "", fours);
}

static void short_list_is_one_page(void **state)
{
	static const char *const whole[] = {
		RESULT("{\"resources\":[" R("d") "," R("b") "," R("e") "," R("a") "," R("c") "]}"),
		NULL,
	};

	check_pages(5, "", whole);
	check_pages(6, "", whole);
	check_pages(SIZE_MAX, "", whole);
}

static void pages_of_the_stateless_era_have_cache_hints(void **state)
{
	static const char *const pages[] = {
		RESULT("{\"resources\":[" R("d") "," R("b") "," R(
		        "e") "],\"nextCursor\":\"resources.3\",\"ttlMs\":5000,\"cacheScope\":"
		             "\"private\"," STATELESS_FIELDS "}"),
		RESULT("{\"resources\":[" R("a") "," R(
		        "c") "],\"ttlMs\":5000,\"cacheScope\":\"private\"," STATELESS_FIELDS "}"),
		NULL,
	};

	check_pages(3, STATELESS_META, pages);
}

static void pages_of_the_handshake_era_have_no_cache_hints(void **state)
{
	static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18",
		                                 "2025-11-25" };
	struct mcp_config config = { .resources = five, .cache_ms = 5000 };
	struct peer peer;

	open_peer(&peer, &config, 4);
	for (size_t i = 0; i < ARRAY_LEN(revisions); i++) {
		char line[200];

		(void)snprintf(
		        line, sizeof line,
		        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
		        "\"protocolVersion\":\"%s\"}}",
		        revisions[i]);
		peer_send(&peer, line);
		(void)peer_next(&peer);
		request_page(&peer, "resources/list", "\"resources.3\"", "");
		CHECK_NEXT(&peer, RESULT("{\"resources\":[" R("a") "," R("c") "]}"));
	}
	peer_close(&peer);
}

static void empty_or_null_cursor_gives_the_first_page(void **state)
{
	static const char *const cursors[] = { NULL, "\"\"", "null" };
	struct mcp_config config = { .resources = five };
	struct peer peer;

	open_peer(&peer, &config, 1);
	for (size_t i = 0; i < ARRAY_LEN(cursors); i++) {
		request_page(&peer, "resources/list", cursors[i], "");
		CHECK_NEXT(&peer,
		           RESULT("{\"resources\":[" R("d") "],\"nextCursor\":\"resources.1\"}"));
		request_page(&peer, "resources/list", cursors[i], STATELESS_META);
		CHECK_NEXT(&peer, RESULT("{\"resources\":[" R(
		                          "d") "],\"nextCursor\":\"resources.1\",\"ttlMs\":0,"
		                               "\"cacheScope\":\"private\"," STATELESS_FIELDS "}"));
	}
	peer_send(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}");
	CHECK_NEXT(&peer, RESULT("{\"resources\":[" R("d") "],\"nextCursor\":\"resources.1\"}"));
	peer_close(&peer);
}

/* The server keeps no state between two pages. */
static void cursor_works_repeatedly_and_in_other_sessions(void **state)
{
	struct mcp_config config = { .resources = five };
	struct mcp_session *first;
	struct peer peer;

	open_peer(&peer, &config, 2);
	for (int i = 0; i < 2; i++) {
		request_page(&peer, "resources/list", "\"resources.4\"", "");
		CHECK_NEXT(&peer, RESULT("{\"resources\":[" R("c") "]}"));
	}
	first = peer.session;
	peer.session = mcp_session_new(peer.server, &peer.sink,
	                               &(struct mcp_caller){ .owner = "me" });
	mcp_session_close(first);
	request_page(&peer, "resources/list", "\"resources.4\"", "");
	CHECK_NEXT(&peer, RESULT("{\"resources\":[" R("c") "]}"));
	peer_close(&peer);
}

static void short_list_accepts_no_cursor(void **state)
{
	static const struct mcp_resource *const none[] = { NULL };
	static const struct mcp_resource *const one[] = { &a, NULL };
	static const struct mcp_template t = { .uri_template = "t://{x}",
		                               .name = "t",
		                               .read = fail_handler };
	static const struct mcp_template *const templates[] = { &t, NULL };
	static const struct {
		struct mcp_config config;
		const char *want;
	} cases[] = {
		{ { .resources = none }, RESULT("{\"resources\":[]}") },
		{ { .templates = templates }, RESULT("{\"resources\":[]}") }, /* no table */
		{ { .resources = one }, RESULT("{\"resources\":[" R("a") "]}") },
	};
	static const char *const cursors[] = { "\"resources.0\"", "\"resources.1\"",
		                               "\"resources.18446744073709551615\"" };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct mcp_config config = cases[i].config;
		struct peer peer;

		open_peer(&peer, &config, 1);
		request_page(&peer, "resources/list", NULL, "");
		CHECK_NEXT(&peer, cases[i].want);
		for (size_t j = 0; j < ARRAY_LEN(cursors); j++) {
			request_page(&peer, "resources/list", cursors[j], "");
			CHECK_NEXT(&peer, BAD_CURSOR);
		}
		peer_close(&peer);
	}
}

static void cursor_of_another_list_is_rejected(void **state)
{
	static const struct mcp_tool t1 = { .name = "x", .help = "X.", .call = fail_handler };
	static const struct mcp_tool t2 = { .name = "y", .help = "Y.", .call = fail_handler };
	static const struct mcp_tool *const tools[] = { &t1, &t2, NULL };
	static const struct mcp_prompt p1 = { .name = "x", .get = fail_handler };
	static const struct mcp_prompt p2 = { .name = "y", .get = fail_handler };
	static const struct mcp_prompt *const prompts[] = { &p1, &p2, NULL };
	static const struct mcp_template m1 = { .uri_template = "x://{x}",
		                                .name = "x",
		                                .read = fail_handler };
	static const struct mcp_template m2 = { .uri_template = "y://{y}",
		                                .name = "y",
		                                .read = fail_handler };
	static const struct mcp_template *const templates[] = { &m1, &m2, NULL };
	static const struct {
		const char *method, *cursor, *first, *last;
	} cases[] = {
		{ "tools/list", "\"tools.1\"",
		  RESULT("{\"tools\":[{\"name\":\"x\",\"description\":\"X.\",\"inputSchema\":{"
		         "\"type\":\"object\","
		         "\"properties\":{}}}],\"nextCursor\":"
		         "\"tools.1\"}"),
		  RESULT("{\"tools\":[{\"name\":\"y\",\"description\":\"Y.\",\"inputSchema\":{"
		         "\"type\":\"object\","
		         "\"properties\":{}}}]}") },
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
	struct peer peer;

	open_peer(&peer, &config, 1);
	peer_send(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
	                 "\"protocolVersion\":\"2024-11-05\"}}");
	(void)peer_next(&peer);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		request_page(&peer, cases[i].method, NULL, "");
		CHECK_NEXT(&peer, cases[i].first);
		request_page(&peer, cases[i].method, cases[i].cursor, "");
		CHECK_NEXT(&peer, cases[i].last);
		request_page(&peer, cases[i].method, cases[(i + 1) % ARRAY_LEN(cases)].cursor, "");
		CHECK_NEXT(&peer, BAD_CURSOR);
	}
	peer_close(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pages_follow_the_order_of_the_table),
		TEST(short_list_is_one_page),
		TEST(pages_of_the_stateless_era_have_cache_hints),
		TEST(pages_of_the_handshake_era_have_no_cache_hints),
		TEST(empty_or_null_cursor_gives_the_first_page),
		TEST(cursor_works_repeatedly_and_in_other_sessions),
		TEST(short_list_accepts_no_cursor),
		TEST(cursor_of_another_list_is_rejected),
	};

	return RUN_TESTS("mcp/list", tests);
}
