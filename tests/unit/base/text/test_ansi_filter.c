#include "base/text/ansi_filter.h"

#include <string.h>

#include "unit/test.h"

#define SAME(text)                                                                                 \
	{                                                                                          \
		VIEW_INIT(text), text                                                              \
	}

static const struct {
	struct view in;
	const char *out;
} cases[] = {
	/* sequences of shells and editors */
	SAME("plain text\r\n\tand\b\a \xc3\xa4 \xe2\x82\xac \xc2\xa0|"),
	SAME("\x1b[1;31mred\x1b[0m\x1b[m \x1b[38:2::1:2:3mx\x1b[4:3m"),
	SAME("\x1b[H\x1b[2J\x1b[3;4H\x1b[K\x1b[1A\x1b[2B\x1b[5C\x1b[D\x1b[10G\x1b[4d"),
	SAME("\x1b[?1049h\x1b[?25l\x1b[?1;2004h\x1b[1;24r\x1b[L\x1b[M\x1b[3P\x1b[@\x1b[2X\x1b[?2J"),
	SAME("\x1b(0lqk\x1b(B\x1b)0\x0e\x0f\x1b"
	     "7\x1b"
	     "8\x1bM\x1b=\x1b>\x1b[4h\x1b[4l\x1b[2 q\x1b[!p\x1b[T\x1b[2S\x1b[3b"),
	SAME("\x1b[?1000;1002;1003;1006h\x1b[?1048h\x1b"
	     "c"),
	/* sequences that make the terminal send an answer */
	{ VIEW_INIT("a\x1b[c\x1b[0c\x1b[>c\x1b[=c\x1b[5n\x1b[6n\x1b[?6n\x1bZ"
	            "b"),
	  "ab" },
	{ VIEW_INIT("a\x1b[18t\x1b[21t\x1b[x\x1b[?25$p\x1b[>q\x1b[?u\x1bP$qm\x1b\\\x05"
	            "b"),
	  "ab" },
	{ VIEW_INIT("a\x1b]10;?\a\x1b]52;c;?\x1b\\b"), "ab" },
	/* titles, clipboard, links, printing */
	{ VIEW_INIT("a\x1b]0;title\a\x1b]52;c;QUJD\x1b\\\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\c"),
	  "abc" },
	{ VIEW_INIT("a\x1b_x\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\b"), "ab" },
	{ VIEW_INIT(
	          "a\x1b[5i\x1b[?5i\x1b[1;2\"p\x1b[?3h\x1b[20h\x1b[>4;2m\x1b[1;1;1;1;1T\x1b#8\x1b%G"
	          "\x1b F\x1b(Kb"),
	  "ab" },
	/* one of several modes is not allowed: the sequence is removed */
	{ VIEW_INIT("a\x1b[?25;3lb"), "ab" },
	/* C1 controls */
	{ VIEW_INIT("a\xc2\x9b"
	            "31mb\xc2\x9d"
	            "52;c;x\xc2\x9c"
	            "c\xc2\x90x\x1b\\d"),
	  "abcd" },
	{ VIEW_INIT("a\0b\x7f"
	            "c\x11\x13\x0b\x0c"
	            "d"),
	  "abcd" },
	/* cancelled, interrupted by another, never finished */
	{ VIEW_INIT("a\x1b[3\x18"
	            "b\x1b[3\x1b[31mc\x1b]0;x\nd"),
	  "ab\x1b[31mc\nd" },
	/* longer than the filter holds */
	{ VIEW_INIT("a\x1b[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1mb"),
	  "ab" },
	{ VIEW_INIT("\x1b]0;\xc2\x07"
	            "a\xc2\x1b[mb"),
	  "a\x1b[mb" },
};

static void drawing_sequences_pass_and_others_are_removed(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ansi_filter filter = { 0 };
		char out[256 + ANSI_FILTER_HELD_MAX];
		size_t n = ansi_filter_bytes(&filter, cases[i].in.ptr, cases[i].in.len, out);

		out[n] = '\0';
		assert_string_equal(out, cases[i].out);
	}
}

static void input_may_be_split_anywhere(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ansi_filter filter = { 0 };
		char out[256 + ANSI_FILTER_HELD_MAX];
		size_t n = 0;

		for (size_t k = 0; k < cases[i].in.len; k++)
			n += ansi_filter_bytes(&filter, cases[i].in.ptr + k, 1, out + n);
		out[n] = '\0';
		assert_string_equal(out, cases[i].out);
	}
}

#define ALWAYS                                                                                     \
	"\x0f\x1b(B"                                                                               \
	"\x1b[m\x1b>"

static void reset_restores_the_changed_modes(void **state)
{
	static const struct {
		const char *drawn, *reset;
	} resets[] = {
		{ "text", ALWAYS },
		{ "\x1b[?1049h\x1b[?25l\x1b[?2004h", "\x1b[?2004l\x1b[?1049l\x1b[?25h" ALWAYS },
		{ "\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l", ALWAYS },
		{ "\x1b[?7l\x1b[4h\x1b[2;9r", "\x1b[?7h\x1b[4l\x1b"
		                              "7\x1b[r\x1b"
		                              "8" ALWAYS },
		{ "\x1b[2;9r\x1b[r", ALWAYS },
		{ "\x1b[?1049;25l\x1b[4h\x1b[!p", ALWAYS },
		{ "\x1b[?25l\x1b[2;9r\x1b"
		  "c",
		  ALWAYS },
		/* all modes: fits into ANSI_FILTER_RESET_MAX */
		{ "\x1b[?1;5;6;12;1000;1002;1003;1006;2004h\x1b[?47;1047;1049h\x1b[?7;25l\x1b["
		  "4h\x1b[2;"
		  "9r",
		  "\x1b[?1l\x1b[?5l\x1b[?6l\x1b[?12l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l"
		  "\x1b[?2004l\x1b[?47l\x1b[?1047l\x1b[?1049l\x1b[?7h\x1b[?25h\x1b[4l\x1b"
		  "7\x1b[r\x1b"
		  "8" ALWAYS },
	};

	for (size_t i = 0; i < ARRAY_LEN(resets); i++) {
		struct ansi_filter filter = { 0 };
		char out[256], reset[ANSI_FILTER_RESET_MAX];
		size_t n;

		(void)ansi_filter_bytes(&filter, resets[i].drawn, strlen(resets[i].drawn), out);
		n = ansi_filter_reset(&filter, reset);
		assert_true(n < sizeof reset);
		reset[n] = '\0';
		assert_string_equal(reset, resets[i].reset);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(drawing_sequences_pass_and_others_are_removed),
		TEST(input_may_be_split_anywhere),
		TEST(reset_restores_the_changed_modes),
	};

	return RUN_TESTS("base/ansi_filter", tests);
}
