#include "base/cleanup.h"
#include "mcp/internal.h"
#include "unit/test.h"

static void variables_are_extracted(void **state)
{
	static const struct {
		const char *uri_template, *uri, *variables;
	} cases[] = {
		{ "a://b", "a://b", "{}" },
		{ "a://{x}", "a://1", "{\"x\":\"1\"}" },
		{ "a://{x}/d", "a://12/d", "{\"x\":\"12\"}" },
		{ "a://{x}/{y}", "a://1/2", "{\"x\":\"1\",\"y\":\"2\"}" },
		{ "a://{x}/{+p}", "a://s/usr/bin/x", "{\"x\":\"s\",\"p\":\"usr/bin/x\"}" },
		{ "a://{x}/{+p}", "a://s/", "{\"x\":\"s\",\"p\":\"\"}" },
		{ "a://{+p}/end", "a://x/y/end", "{\"p\":\"x/y\"}" },
		{ "a://{x}", "a://%41%2f%C3%A9", "{\"x\":\"A/\xc3\xa9\"}" },
		{ "a://{x}.txt", "a://n.txt", "{\"x\":\"n\"}" },
		{ "a://{+p}.md", "a://a.md/b.md.md", "{\"p\":\"a.md/b.md\"}" },
		{ "a://{x}-{y}", "a://1-2-3", "{\"x\":\"1\",\"y\":\"2-3\"}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *found = uri_template_match(cases[i].uri_template, cases[i].uri);
		size_t len;
		AUTO_FREE char *text = json_write(found, &len);

		assert_string_equal(text, cases[i].variables);
	}
}

static void uri_that_does_not_match_is_rejected(void **state)
{
	static const struct {
		const char *uri_template, *uri;
	} cases[] = {
		{ "a://b", "a://c" },        { "a://b", "a://b/" },      { "a://b", "a://" },
		{ "a://{x}", "a://" },       { "a://{x}", "a://1/2" },   { "a://{x}/d", "a://1" },
		{ "a://{x}/d", "a:///d" },   { "a://{x}/d", "a://1/e" }, { "a://{x}", "a://%" },
		{ "a://{x}", "a://%4" },     { "a://{x}", "a://%zz" },   { "a://{x}", "a://%ff" },
		{ "a://{x}/{+p}", "a://s" }, { "a://{+p}/d", "a:///d" }, { "a://{x}", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (uri_template_match(cases[i].uri_template, cases[i].uri) != NULL)
			fail_msg("%s matches %s", cases[i].uri, cases[i].uri_template);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(variables_are_extracted),
		TEST(uri_that_does_not_match_is_rejected),
	};

	return RUN_TESTS("mcp/uri_template", tests);
}
