#include "mcp/request_meta.h"
#include "unit/test.h"

#define V "\"" MCP_META_VERSION "\":\"2026-07-28\""
#define C "\"" MCP_META_CAPABILITIES "\":{}"

static json_t *params_with(const char *meta)
{
	char text[512];
	json_t *params;

	(void)snprintf(text, sizeof text, "{\"_meta\":%s}", meta);
	params = json_loads(text, JSON_ALLOW_NUL, NULL);
	assert_non_null(params);
	return params;
}

static void a_claim_is_the_presence_of_a_version(void **state)
{
	static const struct {
		const char *meta;
		bool claimed;
	} cases[] = {
		{ "{}", false },
		{ "5", false },
		{ "[]", false },
		{ "{" C "}", false },
		{ "{" V "}", true },
		{ "{\"" MCP_META_VERSION "\":null}", true },
		{ "{\"" MCP_META_VERSION "\":7}", true },
	};

	(void)state;
	assert_false(request_meta_has_version(NULL));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *params = params_with(cases[i].meta);

		assert_int_equal(request_meta_has_version(params), cases[i].claimed);
	}
}

static void names_the_member_that_is_wrong(void **state)
{
	static const struct {
		const char *meta, *key, *problem;
	} cases[] = {
		{ "{\"" MCP_META_VERSION "\":7," C "}", MCP_META_VERSION, "must be a string" },
		{ "{\"" MCP_META_VERSION "\":\"2026-07-28\\u0000\"," C "}", MCP_META_VERSION,
		  "must be a string" },
		{ "{" V "}", MCP_META_CAPABILITIES, "is missing" },
		{ "{" V ",\"" MCP_META_CAPABILITIES "\":[]}", MCP_META_CAPABILITIES,
		  "must be an object" },
		{ "{" V "," C ",\"" MCP_META_CLIENT_INFO "\":{\"name\":\"x\"}}",
		  MCP_META_CLIENT_INFO, "must be an object with the strings name and version" },
		{ "{" V "," C ",\"" MCP_META_CLIENT_INFO "\":\"x\"}", MCP_META_CLIENT_INFO,
		  "must be an object with the strings name and version" },
		{ "{" V "," C ",\"" MCP_META_LOG_LEVEL "\":\"loud\"}", MCP_META_LOG_LEVEL,
		  "must be one of debug, info, notice, warning, error, critical, alert, "
		  "emergency" },
		{ "{" V "," C ",\"progressToken\":{}}", "progressToken",
		  "must be a string of at most 1024 bytes or a number" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *params = params_with(cases[i].meta);
		struct request_meta env;

		assert_false(request_meta_read(params, &env));
		assert_string_equal(env.bad_key, cases[i].key);
		assert_string_equal(env.problem, cases[i].problem);
	}
}

static void reads_what_a_valid_claim_says(void **state)
{
	AUTO_JSON json_t *params = params_with("{" V "," C ",\"" MCP_META_LOG_LEVEL
	                                       "\":\"notice\",\"progressToken\":3,\"other\":1}");
	struct request_meta env;

	(void)state;
	assert_true(request_meta_read(params, &env));
	assert_string_equal(env.version, "2026-07-28");
	assert_int_equal(env.level, MCP_LEVEL_NOTICE);
	assert_int_equal(json_integer_value(env.progress_token), 3);
}

static void wants_no_log_messages_unless_asked(void **state)
{
	AUTO_JSON json_t *params = params_with("{" V "," C "}");
	struct request_meta env;

	(void)state;
	assert_true(request_meta_read(params, &env));
	assert_int_equal(env.level, MCP_LEVEL_NONE);
	assert_null(env.progress_token);
}

static void without_a_claim_an_odd_progress_token_is_none(void **state)
{
	AUTO_JSON json_t *odd = params_with("{\"progressToken\":true}");
	AUTO_JSON json_t *good = params_with("{\"progressToken\":\"t\"}");

	(void)state;
	assert_null(request_meta_progress_token(NULL));
	assert_null(request_meta_progress_token(odd));
	assert_string_equal(json_string_value(request_meta_progress_token(good)), "t");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_claim_is_the_presence_of_a_version),
		TEST(names_the_member_that_is_wrong),
		TEST(reads_what_a_valid_claim_says),
		TEST(wants_no_log_messages_unless_asked),
		TEST(without_a_claim_an_odd_progress_token_is_none),
	};

	return RUN_TESTS("mcp/envelope", tests);
}
