#include <math.h>

#include "base/cleanup.h"
#include "unit/test.h"
#include "json/json.h"

/* Takes over the value. */
static void check_written(json_t *value, const char *want)
{
	AUTO_JSON json_t *owned = value;
	size_t len;
	AUTO_FREE char *text = json_write(owned, &len);

	assert_string_equal(text, want);
	assert_int_equal(len, strlen(want));
}

static void check_indented(json_t *value, size_t indent, const char *want)
{
	size_t len;
	AUTO_FREE char *text = json_write_indented(value, indent, &len);

	assert_string_equal(text, want);
	assert_int_equal(len, strlen(want));
}

static void value_is_written_on_one_line_without_spaces(void **state)
{
	json_t *object = json_obj(), *list = json_list();

	json_push(list, json_int(-1));
	json_push(list, json_str("a\nb"));
	json_push(list, json_null());
	json_set(object, "list", list);
	json_set_text(object, "text", "x");
	json_set_text(object, "none", NULL);
	json_set(object, "text", json_str("y")); /* replaces */
	json_set(object, "empty", json_obj());
	check_written(object, "{\"list\":[-1,\"a\\nb\",null],\"text\":\"y\",\"empty\":{}}");
}

static void invalid_utf8_is_replaced(void **state)
{
	static const struct {
		struct view text;
		const char *want;
	} cases[] = {
		{ { NULL, 0 }, "\"\"" },
		{ VIEW_INIT(""), "\"\"" },
		{ VIEW_INIT("a\xc3\xa9"), "\"a\xc3\xa9\"" },
		{ VIEW_INIT("\xff"), "\"\xef\xbf\xbd\"" },
		{ VIEW_INIT("a\xc3"), "\"a\xef\xbf\xbd\"" },
		{ VIEW_INIT("\xe2\x82z"), "\"\xef\xbf\xbd\xef\xbf\xbdz\"" },
		{ VIEW_INIT("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ VIEW_INIT("a\0b"), "\"a\\u0000b\"" },
		{ VIEW_INIT("\0\xff\0"), "\"\\u0000\xef\xbf\xbd\\u0000\"" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_written(json_str_view(cases[i].text), cases[i].want);
	check_written(json_str("\xff!"), "\"\xef\xbf\xbd!\"");
	check_written(json_format("%d %s", 5, "\xff"), "\"5 \xef\xbf\xbd\"");
}

static void whole_numbers_print_without_a_fraction(void **state)
{
	static const struct {
		double value;
		const char *want;
	} cases[] = {
		{ 0, "0" },
		{ -0.0, "0" },
		{ 5, "5" },
		{ -3, "-3" },
		{ 0.5, "0.5" },
		{ 9007199254740991.0, "9007199254740991" },
		{ 9007199254740992.0, "9007199254740992.0" },
		{ 0x1p60, "1.152921504606847e18" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_written(json_num(cases[i].value), cases[i].want);
	check_written(json_int(INT64_MIN), "-9223372036854775808");
}

static void pair_and_list_of_hold_the_value(void **state)
{
	check_written(json_pair("a", json_list_of(json_pair("b", json_int(1)))),
	              "{\"a\":[{\"b\":1}]}");
}

static void scalars_are_written_on_their_own(void **state)
{
	check_written(json_null(), "null");
	check_written(json_true(), "true");
	check_written(json_str("\"\\/\x7f\x01"), "\"\\\"\\\\/\x7f\\u0001\"");
}

static void reals_have_the_fewest_digits(void **state)
{
	json_t *list = json_list();

	check_written(json_num(0.1), "0.1");
	check_written(json_num(0.3), "0.3");
	check_written(json_num(0.1 + 0.2), "0.30000000000000004");
	check_written(json_num(1e300), "1e300");
	json_push(list, json_num(0.1));
	json_push(list, json_num(0.1 + 0.2));
	check_written(list, "[0.1,0.30000000000000004]");
}

static void indented_text_has_the_given_indentation(void **state)
{
	static const struct {
		size_t indent;
		const char *want;
	} cases[] = {
		{ 0, "{\"a\": [1, 0.1], \"b\": {}}" },
		{ 1, "{\n \"a\": [\n  1,\n  0.1\n ],\n \"b\": {}\n}" },
		{ 2, "{\n  \"a\": [\n    1,\n    0.1\n  ],\n  \"b\": {}\n}" },
	};
	AUTO_JSON json_t *object = json_obj();
	AUTO_JSON json_t *text = json_str("on its own");
	json_t *list = json_list();

	json_push(list, json_int(1));
	json_push(list, json_num(0.1));
	json_set(object, "a", list);
	json_set(object, "b", json_obj());
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_indented(object, cases[i].indent, cases[i].want);
	check_indented(text, 2, "\"on its own\"");
}

static void indent_above_the_maximum(void)
{
	size_t len;

	(void)json_write_indented(json_obj(), 32, &len);
}

static void set_null_value(void)
{
	json_set(json_obj(), "key", NULL);
}

static void build_nan(void)
{
	volatile double zero = 0;

	(void)json_num(sqrt(-1 - zero));
}

static void misuse_aborts(void **state)
{
	char output[4096];

	assert_string_equal(must_abort(set_null_value, output, sizeof output), "");
	assert_string_equal(must_abort(indent_above_the_maximum, output, sizeof output), "");
	assert_string_equal(must_abort(build_nan, output, sizeof output), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(value_is_written_on_one_line_without_spaces),
		TEST(invalid_utf8_is_replaced),
		TEST(whole_numbers_print_without_a_fraction),
		TEST(pair_and_list_of_hold_the_value),
		TEST(scalars_are_written_on_their_own),
		TEST(reals_have_the_fewest_digits),
		TEST(indented_text_has_the_given_indentation),
		TEST(misuse_aborts),
	};

	return RUN_TESTS("json/build", tests);
}
