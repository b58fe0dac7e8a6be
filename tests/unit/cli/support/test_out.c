#include "cli/support/out.h"
#include "unit/cli/cli.h"

static void out_wrapped_breaks_lines_at_80_columns(void **state)
{
	static const struct {
		size_t indent, column;
		const char *text, *want;
	} cases[] = {
		{ 0, 0, "", "\n" },
		{ 0, 0, "one two", "one two\n" },
		{ 4, 0, "one two", "    one two\n" },
		{ 4, 2, "one two", "  one two\n" },
		{ 4, 6, "one two", " one two\n" },
		{ 0, 0, "one\n\ntwo", "one\n\ntwo\n" },
		{ 70, 70, "0123456789 0123456789",
		  "0123456789\n                                                                    "
		  "  "
		  "0123456789\n" },
		{ 75, 75, "0123456789", "0123456789\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		FILE *file = tmpfile();
		char got[512];
		int saved;

		(void)fflush(stdout);
		saved = ran_redirect(STDOUT_FILENO, file);
		out_wrapped(cases[i].indent, cases[i].column, cases[i].text);
		(void)fflush(stdout);
		ran_restore(STDOUT_FILENO, saved, file, got, sizeof got);
		assert_string_equal(got, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(out_wrapped_breaks_lines_at_80_columns),
	};

	return RUN_TESTS("cli/out", tests);
}
