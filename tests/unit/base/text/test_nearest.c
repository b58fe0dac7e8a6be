#include "base/text/nearest.h"
#include "unit/test.h"

static const char *best_of(const char *typed, const char *const *known)
{
	struct nearest best = { 0 };

	for (; *known != NULL; known++)
		nearest_consider(&best, typed, *known);
	return best.name;
}

static void closest_name_is_found(void **state)
{
	static const char *const verbs[] = { "serve", "tools", "call", "completion", "help", NULL };
	static const struct {
		const char *typed, *want;
	} cases[] = {
		{ "serve", "serve" },
		{ "serv", "serve" },   /* one missing */
		{ "servee", "serve" }, /* one too many */
		{ "derve", "serve" },  /* one wrong */
		{ "hlep", "help" },    /* neighbours swapped: one edit */
		{ "hxxp", NULL },      /* two edits of four letters: too far */
		{ "complteoin", "completion" },
		{ "completion-of", "completion" },
		{ "completely", "completion" }, /* three of ten */
		{ "compiler", NULL },
		{ "tool", "tools" },
		{ "cal", "call" },
		{ "c", NULL },
		{ "", NULL },
		{ "something else", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *got = best_of(cases[i].typed, verbs);

		if (cases[i].want == NULL && got != NULL)
			fail_msg("'%s' is not near '%s'", got, cases[i].typed);
		if (cases[i].want == NULL)
			continue;
		assert_non_null(got);
		assert_string_equal(got, cases[i].want);
	}
}

static void first_of_the_closest_names_wins(void **state)
{
	static const char *const closer_last[] = { "abcdeXX", "abcdefX", NULL };
	static const char *const closer_first[] = { "abcdefX", "abcdeXX", NULL };
	static const char *const equals[] = { "abcdefX", "abcdefY", NULL };

	assert_string_equal(best_of("abcdefg", closer_last), "abcdefX");
	assert_string_equal(best_of("abcdefg", closer_first), "abcdefX");
	assert_string_equal(best_of("abcdefg", equals), "abcdefX");
}

static void prefix_of_a_name_is_near(void **state)
{
	static const char *const clients[] = { "claude-code", "claude-desktop", "codex", NULL };
	static const char *const closer[] = { "abcdefgh", "abx", NULL };

	assert_string_equal(best_of("claude", clients), "claude-code");
	assert_string_equal(best_of("claude-d", clients), "claude-desktop");
	assert_string_equal(best_of("cla", clients), "claude-code");
	assert_null(best_of("cl", clients));
	assert_null(best_of("cla-", clients));
	assert_string_equal(best_of("abc", closer), "abcdefgh"); /* both one edit away */
	assert_string_equal(best_of("abx", closer), "abx");
}

static void shortened_name_is_near(void **state)
{
	static const char *const tools[] = { "run_code", "run_command", "write_file", NULL };
	static const char *const short_names[] = { "r", "go", NULL };

	assert_string_equal(best_of("run_cmd", tools), "run_command");
	assert_string_equal(best_of("wrt_fl", tools), "write_file");
	assert_null(best_of("cmd", tools)); /* it begins otherwise */
	assert_null(best_of("rn", tools));
	assert_null(best_of("", short_names)); /* nothing of the typed text would stay */
	assert_null(best_of("x", short_names));
	assert_string_equal(best_of("gp", short_names), "go");
}

static void names_above_64_bytes_are_ignored(void **state)
{
	char typed[80], known[80];

	for (size_t len = 60; len < 70; len++) {
		struct nearest best = { 0 };

		memset(typed, 'n', sizeof typed);
		memset(known, 'n', sizeof known);
		typed[len] = known[len] = '\0';
		nearest_consider(&best, typed, known);
		assert_int_equal(best.name != NULL, len <= 64);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(closest_name_is_found),
		TEST(first_of_the_closest_names_wins),
		TEST(prefix_of_a_name_is_near),
		TEST(shortened_name_is_near),
		TEST(names_above_64_bytes_are_ignored),
	};

	return RUN_TESTS("base/nearest", tests);
}
