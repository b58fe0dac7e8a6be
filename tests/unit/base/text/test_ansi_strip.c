#include "base/text/ansi_strip.h"

#include <string.h>

#include "unit/test.h"

static const struct {
	struct view in;
	const char *out;
} cases[] = {
	{ VIEW_INIT("plain text\n\tand\r\n"), "plain text\n\tand\r\n" },
	{ VIEW_INIT("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x94\x94 \xc2\xa0|"),
	  "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x94\x94 \xc2\xa0|" },
	{ VIEW_INIT("a\x1b[31mred\x1b[0m b"), "ared b" },
	{ VIEW_INIT("a\x1b[6nb\x1b[?25lc\x1b[1;2 q d"), "abc d" },
	{ VIEW_INIT("a\x1b]52;c;QUJD\x07"
	            "b"),
	  "ab" },
	{ VIEW_INIT("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b"), "alinkb" },
	{ VIEW_INIT("a\x1bP$qm\x1b\\b\x1b_x\x1b\\c\x1b^x\x1b\\d\x1bXx\x1b\\e"), "abcde" },
	{ VIEW_INIT("a\x1b(Bb\x1b"
	            "cc\x1b"
	            "7d"),
	  "abcd" },
	{ VIEW_INIT("a\xc2\x9b"
	            "6nb\xc2\x9d"
	            "52;c;x\xc2\x9c"
	            "c\xc2\x85"
	            "d"),
	  "abcd" },
	{ VIEW_INIT("a\0b\x07"
	            "c\x08"
	            "d\x7f"
	            "e\x0e"
	            "f"),
	  "abcdef" },
	/* cancelled, and interrupted by another */
	{ VIEW_INIT("a\x1b[3\x18"
	            "b\x1b[3\x1b[31mc"),
	  "abc" },
	/* never finished: hides the rest of its line */
	{ VIEW_INIT("a\x1b]0;title\nb\x1b[1\nc"), "a\nb\nc" },
	/* an incomplete character in a title */
	{ VIEW_INIT("\x1b]0;\xc2\x07"
	            "a\xc2\x1b[mb"),
	  "ab" },
};

static void text_stays_and_sequences_are_removed(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ansi_strip strip = { 0 };
		char out[128];
		size_t n = ansi_strip_bytes(&strip, cases[i].in.ptr, cases[i].in.len, out);

		out[n] = '\0';
		assert_string_equal(out, cases[i].out);
	}
}

static void input_may_be_split_anywhere(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ansi_strip strip = { 0 };
		char out[128];
		size_t n = 0;

		for (size_t k = 0; k < cases[i].in.len; k++)
			n += ansi_strip_bytes(&strip, cases[i].in.ptr + k, 1, out + n);
		out[n] = '\0';
		assert_string_equal(out, cases[i].out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(text_stays_and_sequences_are_removed),
		TEST(input_may_be_split_anywhere),
	};

	return RUN_TESTS("base/ansi_strip", tests);
}
