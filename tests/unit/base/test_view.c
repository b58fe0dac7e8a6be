#include "base/buf.h"
#include "unit/test.h"

static const struct view nothing; /* as buf_view() of an unused buffer */

static void comparisons_of_views_compare_bytes(void **state)
{
	static const struct {
		struct view v;
		const char *text;
		bool is, starts, ends;
	} cases[] = {
		{ VIEW_INIT("abc"), "abc", true, true, true },
		{ VIEW_INIT("abc"), "ab", false, true, false },
		{ VIEW_INIT("abc"), "abcd", false, false, false },
		{ VIEW_INIT("abc"), "abd", false, false, false },
		{ VIEW_INIT("abc"), "", false, true, true },
		{ VIEW_INIT(""), "", true, true, true },
		{ VIEW_INIT(""), "a", false, false, false },
		{ { NULL, 0 }, "", true, true, true },
		{ { NULL, 0 }, "a", false, false, false },
		{ VIEW_INIT("abc"), "bc", false, false, true },
		{ VIEW_INIT("abc"), "xabc", false, false, false },
		{ VIEW_INIT("a\0b"), "a", false, true, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (view_is(cases[i].v, cases[i].text) != cases[i].is)
			fail_msg("case %zu: view_is", i);
		if (view_starts(cases[i].v, cases[i].text) != cases[i].starts)
			fail_msg("case %zu: view_starts", i);
		if (view_ends(cases[i].v, cases[i].text) != cases[i].ends)
			fail_msg("case %zu: view_ends", i);
	}
}

static void comparisons_ignore_the_case_of_ascii_letters(void **state)
{
	static const struct {
		struct view v;
		const char *text;
		bool is, starts;
	} cases[] = {
		{ VIEW_INIT("Host"), "host", true, true },
		{ VIEW_INIT("host"), "HOST", true, true },
		{ VIEW_INIT("Hosts"), "host", false, true },
		{ VIEW_INIT("hos"), "host", false, false },
		{ VIEW_INIT("h\0st"), "host", false, false },
		{ VIEW_INIT("[ab]"), "{AB}", false, false },
		{ VIEW_INIT(""), "", true, true },
		{ { NULL, 0 }, "", true, true },
		{ { NULL, 0 }, "a", false, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (view_is_nocase(cases[i].v, cases[i].text) != cases[i].is)
			fail_msg("case %zu: view_is_nocase", i);
		if (view_starts_nocase(cases[i].v, cases[i].text) != cases[i].starts)
			fail_msg("case %zu: view_starts_nocase", i);
	}
}

static void trim_removes_blanks_at_both_ends(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = { { "abc", "abc" },
		      { "  abc", "abc" },
		      { "abc \t\r\n", "abc" },
		      { " a b ", "a b" },
		      { "", "" },
		      { " \r\n\t ", "" },
		      { "\va\f", "\va\f" },
		      { "\xc2\xa0x", "\xc2\xa0x" } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_VIEW(view_trim(view_of(cases[i].text)), cases[i].want);
	CHECK_VIEW(view_trim(nothing), "");
	assert_int_equal(view_trim(VIEW(" a\0 ")).len, 2);
}

static void next_line_returns_line_after_line(void **state)
{
	static const struct {
		const char *text;
		const char *lines[5];
	} cases[] = {
		{ "", { NULL } },         { "a", { "a", NULL } },
		{ "a\n", { "a", NULL } }, { "a\nb", { "a", "b", NULL } },
		{ "\n", { "", NULL } },   { "\n\na\r\n", { "", "", "a\r", NULL } },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct view rest = view_of(cases[i].text), line;

		for (size_t j = 0; cases[i].lines[j] != NULL; j++) {
			assert_true(view_next_line(&rest, &line));
			CHECK_VIEW(line, cases[i].lines[j]);
		}
		line = (struct view){ "untouched", 9 };
		assert_false(view_next_line(&rest, &line));
		CHECK_VIEW(line, "untouched");
		assert_int_equal(rest.len, 0);
	}
}

static void cut_returns_part_after_part(void **state)
{
	static const struct {
		const char *text, *part, *rest;
	} cases[] = {
		{ "a:b:c", "a", "b:c" }, { "a", "a", "" }, { "a:", "a", "" },
		{ ":a", "", "a" },       { "", "", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct view rest = view_of(cases[i].text);

		CHECK_VIEW(view_cut(&rest, ':'), cases[i].part);
		CHECK_VIEW(rest, cases[i].rest);
	}
}

static void list_has_whole_words_only(void **state)
{
	struct view list = view_of("cpu,cpuacct , memory");

	assert_true(view_list_has(list, ',', "cpu"));
	assert_true(view_list_has(list, ',', "cpuacct"));
	assert_true(view_list_has(list, ',', "memory"));
	assert_false(view_list_has(list, ',', "mem"));
	assert_false(view_list_has(list, ',', ""));
	assert_false(view_list_has(view_of(""), ',', "cpu"));
}

static void line_may_contain_nul_bytes(void **state)
{
	struct view rest = VIEW("a\0b\nc"), line;

	assert_true(view_next_line(&rest, &line));
	assert_int_equal(line.len, 3);
	assert_memory_equal(line.ptr, "a\0b", 3);
	CHECK_VIEW(rest, "c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(comparisons_of_views_compare_bytes),
		TEST(comparisons_ignore_the_case_of_ascii_letters),
		TEST(trim_removes_blanks_at_both_ends),
		TEST(next_line_returns_line_after_line),
		TEST(cut_returns_part_after_part),
		TEST(list_has_whole_words_only),
		TEST(line_may_contain_nul_bytes),
	};

	return RUN_TESTS("base/view", tests);
}
