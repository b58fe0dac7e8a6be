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

static void any_version_member_counts(void **state)
{
	static const struct {
		const char *meta;
		bool has_version;
	} cases[] = {
		{ "{}", false },
		{ "5", false },
		{ "[]", false },
		{ "{" C "}", false },
		{ "{" V "}", true },
		{ "{\"" MCP_META_VERSION "\":null}", true },
		{ "{\"" MCP_META_VERSION "\":7}", true },
	};

	assert_false(request_meta_has_version(NULL));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *params = params_with(cases[i].meta);

		assert_int_equal(request_meta_has_version(params), cases[i].has_version);
	}
}

static void invalid_member_is_named(void **state)
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

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *params = params_with(cases[i].meta);
		struct request_meta read;

		assert_false(request_meta_read(params, &read));
		assert_string_equal(read.bad_key, cases[i].key);
		assert_string_equal(read.problem, cases[i].problem);
	}
}

static void valid_meta_is_read(void **state)
{
	AUTO_JSON json_t *params = params_with("{" V "," C ",\"" MCP_META_LOG_LEVEL
	                                       "\":\"notice\",\"progressToken\":3,\"other\":1}");
	struct request_meta read;

	assert_true(request_meta_read(params, &read));
	assert_string_equal(read.version, "2026-07-28");
	assert_int_equal(read.level, MCP_LEVEL_NOTICE);
	assert_int_equal(json_integer_value(read.progress_token), 3);
}

static void log_level_is_none_by_default(void **state)
{
	AUTO_JSON json_t *params = params_with("{" V "," C "}");
	struct request_meta read;

	assert_true(request_meta_read(params, &read));
	assert_int_equal(read.level, MCP_LEVEL_NONE);
	assert_null(read.progress_token);
}

static void invalid_progress_token_is_ignored_without_version(void **state)
{
	AUTO_JSON json_t *odd = params_with("{\"progressToken\":true}");
	AUTO_JSON json_t *good = params_with("{\"progressToken\":\"t\"}");

	assert_null(request_meta_progress_token(NULL));
	assert_null(request_meta_progress_token(odd));
	assert_string_equal(json_string_value(request_meta_progress_token(good)), "t");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(any_version_member_counts),
		TEST(invalid_member_is_named),
		TEST(valid_meta_is_read),
		TEST(log_level_is_none_by_default),
		TEST(invalid_progress_token_is_ignored_without_version),
	};

	return RUN_TESTS("mcp/request_meta", tests);
}
