#include "base/text/utf8.h"
#include "unit/test.h"

static void well_formed_characters_have_a_length(void **state)
{
	static const struct {
		struct view v;
		size_t want;
	} cases[] = {
		{ VIEW_INIT(""), 0 },
		{ VIEW_INIT("a"), 1 },
		{ VIEW_INIT("\0"), 1 },
		{ VIEW_INIT("\x7f"), 1 },
		{ VIEW_INIT("\xc2\x80"), 2 },         /* U+0080 */
		{ VIEW_INIT("\xdf\xbf rest"), 2 },    /* U+07FF */
		{ VIEW_INIT("\xe0\xa0\x80"), 3 },     /* U+0800 */
		{ VIEW_INIT("\xed\x9f\xbf"), 3 },     /* U+D7FF */
		{ VIEW_INIT("\xee\x80\x80"), 3 },     /* U+E000 */
		{ VIEW_INIT("\xef\xbf\xbf"), 3 },     /* U+FFFF */
		{ VIEW_INIT("\xf0\x90\x80\x80"), 4 }, /* U+10000 */
		{ VIEW_INIT("\xf4\x8f\xbf\xbf"), 4 }, /* U+10FFFF */
		/* not well formed */
		{ VIEW_INIT("\x80"), 0 },
		{ VIEW_INIT("\xbf"), 0 },
		{ VIEW_INIT("\xc0\x80"), 0 }, /* overlong */
		{ VIEW_INIT("\xc1\xbf"), 0 },
		{ VIEW_INIT("\xe0\x9f\xbf"), 0 },
		{ VIEW_INIT("\xf0\x8f\xbf\xbf"), 0 },
		{ VIEW_INIT("\xed\xa0\x80"), 0 }, /* surrogates */
		{ VIEW_INIT("\xed\xbf\xbf"), 0 },
		{ VIEW_INIT("\xf4\x90\x80\x80"), 0 }, /* past U+10FFFF */
		{ VIEW_INIT("\xf5\x80\x80\x80"), 0 },
		{ VIEW_INIT("\xff"), 0 },
		{ VIEW_INIT("\xc3"), 0 }, /* cut off */
		{ VIEW_INIT("\xe2\x82"), 0 },
		{ VIEW_INIT("\xf0\x9f\x94"), 0 },
		{ VIEW_INIT("\xc3("), 0 }, /* continued wrongly */
		{ VIEW_INIT("\xe2\x82("), 0 },
		{ VIEW_INIT("\xf0\x9f\x94("), 0 },
		{ VIEW_INIT("\xf0\x9f\xff\x94"), 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (utf8_char_len(cases[i].v) != cases[i].want)
			fail_msg("case %zu: %zu, not %zu", i, utf8_char_len(cases[i].v),
			         cases[i].want);
		if (utf8_is_valid(cases[i].v) != (cases[i].want != 0 || cases[i].v.len == 0))
			fail_msg("case %zu: utf8_is_valid", i);
	}
}

static void invalid_byte_anywhere_makes_text_invalid(void **state)
{
	assert_true(utf8_is_valid((struct view){ NULL, 0 }));
	assert_true(utf8_is_valid(VIEW("a\0\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x94")));
	assert_false(utf8_is_valid(VIEW("abc\xc3")));
	assert_false(utf8_is_valid(VIEW("\xc3\xa9\xa9")));
	assert_false(utf8_is_valid(VIEW("ab\xff"
	                                "cd")));
}

static void prefix_ends_between_characters(void **state)
{
	static const struct {
		const char *text;
		size_t max, want;
	} cases[] = {
		{ "", 5, 0 },
		{ "abc", 5, 3 },
		{ "abc", 2, 2 },
		{ "abc", 0, 0 },
		{ "a\xc3\xa9z", 1, 1 },
		{ "a\xc3\xa9z", 2, 1 },
		{ "a\xc3\xa9z", 3, 3 },
		{ "a\xe2\x82\xac", 2, 1 },
		{ "a\xe2\x82\xac", 3, 1 },
		{ "a\xe2\x82\xac", 4, 4 },
		{ "\xf0\x9f\x94\x94", 1, 0 },
		{ "\xf0\x9f\x94\x94", 2, 0 },
		{ "\xf0\x9f\x94\x94", 3, 0 },
		{ "\xf0\x9f\x94\x94", 4, 4 },
		{ "\xf0\x9f\x94\x94\xf0\x9f\x94\x94", 7, 4 },
		{ "ab\xc3", 9, 2 }, /* ends inside a character */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t got = utf8_prefix(cases[i].text, strlen(cases[i].text), cases[i].max);

		if (got != cases[i].want)
			fail_msg("case %zu: %zu, not %zu", i, got, cases[i].want);
	}
}

static void prefix_of_invalid_text_is_not_longer_than_asked(void **state)
{
	char bytes[32];

	memset(bytes, 0x80, sizeof bytes);
	for (size_t max = 0; max <= sizeof bytes; max++)
		assert_true(utf8_prefix(bytes, sizeof bytes, max) <= max);
}

static void escape_gives_one_printable_line(void **state)
{
	static const struct {
		struct view v;
		const char *want;
	} cases[] = {
		{ VIEW_INIT(""), "" },
		{ VIEW_INIT("plain"), "plain" },
		{ VIEW_INIT("a\nb\tc\rd"), "a\\nb\\tc\\rd" },
		{ VIEW_INIT("nul\0!"), "nul\\x00!" },
		{ VIEW_INIT("\x1b[31m"), "\\x1b[31m" },
		{ VIEW_INIT("\x7f"), "\\x7f" },
		{ VIEW_INIT("\xff\xc3"), "\\xff\\xc3" },
		{ VIEW_INIT("\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x94"),
		  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x94" },
		{ VIEW_INIT("\xc2\x9b"), "\\u009b" }, /* C1: an escape sequence in one character */
		{ VIEW_INIT("\xc2\xa0"), "\xc2\xa0" },
		/* separators, and marks that reorder the text around them; their neighbours */
		{ VIEW_INIT("\xe2\x80\xa7"), "\xe2\x80\xa7" },
		{ VIEW_INIT("\xe2\x80\xa8"), "\\u2028" },
		{ VIEW_INIT("\xe2\x80\xae"), "\\u202e" },
		{ VIEW_INIT("\xe2\x80\xaf"), "\xe2\x80\xaf" },
		{ VIEW_INIT("\xe2\x81\xa5"), "\xe2\x81\xa5" },
		{ VIEW_INIT("\xe2\x81\xa6"), "\\u2066" },
		{ VIEW_INIT("\xe2\x81\xa9"), "\\u2069" },
		{ VIEW_INIT("\xe2\x81\xaa"), "\xe2\x81\xaa" },
		{ VIEW_INIT("a\xe2\x80\xa8"
		            "b\xe2\x80\xae"
		            "c\xe2\x81\xa6"),
		  "a\\u2028b\\u202ec\\u2066" }, /* separators and reordering marks */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char out[64];

		assert_ptr_equal(utf8_escape(cases[i].v, out, sizeof out), out);
		assert_string_equal(out, cases[i].want);
	}
}

static void escape_marks_cut_text(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		const char *want;
	} cases[] = {
		{ "12345678901234567890", 12, "12345678..." },
		{ "1234567\n01234567890", 12, "1234567..." }, /* no half escapes */
		{ "1234567\xc3\xa9 and more", 12, "1234567..." },
		{ "123456\xc3\xa9 and more", 12, "123456\xc3\xa9..." },
		{ "1234", 8, "1234" },
		{ "12345678901", 12, "12345678901" }, /* just fits: no dots */
		{ "123456789\n", 12, "123456789\\n" },
		{ "1234567890\n", 12, "12345678..." },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char out[16];

		memset(out, '#', sizeof out);
		assert_string_equal(utf8_escape(view_of(cases[i].text), out, cases[i].size),
		                    cases[i].want);
		for (size_t j = cases[i].size; j < sizeof out; j++)
			assert_int_equal(out[j], '#');
	}
}

/* The result is UTF-8 without control characters for all bytes. */
static void escape_of_any_two_bytes_is_printable(void **state)
{
	for (unsigned pair = 0; pair < 0x10000; pair++) {
		const char bytes[2] = { (char)(pair >> 8), (char)(pair & 0xff) };
		char out[32];

		(void)utf8_escape((struct view){ bytes, 2 }, out, sizeof out);
		if (!utf8_is_valid(view_of(out)))
			fail_msg("%04x is shown as something that is not UTF-8", pair);
		for (const char *p = out; *p != '\0'; p++)
			if ((unsigned char)*p < 0x20 || *p == 0x7f)
				fail_msg("%04x is shown with a control", pair);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(well_formed_characters_have_a_length),
		TEST(invalid_byte_anywhere_makes_text_invalid),
		TEST(prefix_ends_between_characters),
		TEST(prefix_of_invalid_text_is_not_longer_than_asked),
		TEST(escape_gives_one_printable_line),
		TEST(escape_marks_cut_text),
		TEST(escape_of_any_two_bytes_is_printable),
	};

	return RUN_TESTS("base/utf8", tests);
}
