#include "unit/test.h"
#include "json/scan.h"

static void depth_and_values_are_counted(void **state)
{
	static const struct {
		const char *text;
		size_t depth, values;
	} cases[] = {
		{ "", 0, 1 },
		{ "1", 0, 1 },
		{ "\"[[[,,,\"", 0, 1 },
		{ "[]", 1, 2 },
		{ "[1]", 1, 2 },
		{ "[1,2,3]", 1, 4 },
		{ "{\"a\":1}", 1, 2 },
		{ "{\"a\":1,\"b\":[2,3]}", 2, 5 },
		{ "[[[]]]", 3, 4 },
		{ "[[],[[]],[]]", 3, 8 },
		{ "[\"\\\"[,\"]", 1, 2 },  /* an escaped quote does not end the string */
		{ "[\"\\\\\",[]]", 2, 4 }, /* an escaped backslash does not escape the quote */
		{ "]]]][", 1, 2 },         /* not JSON: some answer, no underflow */
		{ "[\"unfinished", 1, 2 },
		{ "[\"unfinished\\", 1, 2 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_scan scan;

		json_scan(view_of(cases[i].text), &scan);
		if (scan.depth != cases[i].depth || scan.values != cases[i].values)
			fail_msg("%s: depth %zu, values %zu", cases[i].text, scan.depth,
			         scan.values);
	}
}

static void empty_view_may_be_null(void **state)
{
	struct json_scan scan = { .depth = 9, .ids = 9 };

	json_scan((struct view){ 0 }, &scan);
	assert_int_equal(scan.depth, 0);
	assert_int_equal(scan.ids, 0);
}

static void id_of_the_top_level_is_found(void **state)
{
	static const struct {
		const char *text, *id;
		size_t ids;
	} cases[] = {
		{ "{\"id\":5}", "5", 1 },
		{ "{ \"id\" : \t5 \n, \"a\":1}", "5", 1 },
		{ "{\"a\":[{\"id\":1}],\"id\":\"x\"}", "\"x\"", 1 },
		{ "{\"id\":\"a,}\\\"b\"}", "\"a,}\\\"b\"", 1 },
		{ "{\"id\":null}", "null", 1 },
		{ "{\"id\":-1.5e3", "-1.5e3", 1 }, /* cut off */
		{ "{\"id\":\"a\\", "\"a\\", 1 },
		{ "{\"id\":", "", 1 },
		{ "{\"id\":1,\"id\":2}", "1", 2 },
		{ "{\"id\":[1]}", "", 1 },
		{ "{\"id\":{\"id\":1}}", "", 1 },
		{ "{\"a\":{\"id\":1}}", "", 0 },
		{ "[{\"id\":1}]", "", 0 },
		{ "\"id\":1", "", 0 },
		{ "{\"ID\":1,\"i\":2,\"idx\":3}", "", 0 },
		{ "{\"a\":\"id\",\"b\":1}", "", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_scan scan;

		json_scan(view_of(cases[i].text), &scan);
		if (scan.ids != cases[i].ids)
			fail_msg("%s: %zu ids", cases[i].text, scan.ids);
		CHECK_VIEW(scan.id, cases[i].id);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(depth_and_values_are_counted),
		TEST(empty_view_may_be_null),
		TEST(id_of_the_top_level_is_found),
	};

	return RUN_TESTS("json/scan", tests);
}
