#include "mcp/caller.h"
#include "unit/test.h"

static void language_is_read_from_header_and_locale(void **state)
{
	static const struct {
		const char *text, *language;
	} cases[] = {
		{ NULL, "" },
		{ "", "" },
		{ "*", "" },
		{ "zh", "zh" },
		{ "ZH-hant-TW", "zh" },
		{ "zh-CN,zh;q=0.9,en;q=0.8", "zh" },
		{ "en;q=0.8, zh-CN", "zh" },
		{ "en;q=0.9,zh;q=0.95", "zh" },
		{ "en, zh", "en" },
		{ "de;q=0,zh;q=0.001", "zh" },
		{ "fil", "fil" },
		{ "zh;q=2,en;q=0.1", "en" },
		{ "zh;q=x,en;q=0.1", "en" },
		{ "zh;level=1", "" },
		{ ",,;,zh ;q=1.000,", "zh" },
		{ "klingon,english", "" },
		{ "zh_CN.UTF-8", "zh" },
		{ "de_DE@euro", "de" },
		{ "C.UTF-8", "" },
		{ "POSIX", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct mcp_caller caller = { .language = "xx" };

		mcp_caller_set_language(&caller, cases[i].text);
		assert_string_equal(caller.language, cases[i].language);
	}
}

static void scopes_are_found_by_name(void **state)
{
	enum mcp_scope scope = MCP_SCOPE_NONE;

	assert_true(mcp_scope_find("files", &scope));
	assert_int_equal(scope, MCP_SCOPE_FILES);
	assert_string_equal(mcp_scope_name(scope), "files");
	assert_false(mcp_scope_find("root", &scope));
	assert_int_equal(scope, MCP_SCOPE_FILES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(language_is_read_from_header_and_locale),
		TEST(scopes_are_found_by_name),
	};

	return RUN_TESTS("mcp/caller", tests);
}
