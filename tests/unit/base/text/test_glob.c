#include "base/text/glob.h"

#include "base/clock.h"
#include "unit/test.h"

enum { PATTERN_MAX = 1024, TEXT_MAX = 4095 }; /* as on the wire */

static bool matches(const char *pattern, const char *path, bool ignore_case)
{
	static struct glob glob;

	glob_set(&glob, view_of(pattern), ignore_case ? GLOB_IGNORE_CASE : 0);
	return glob_match_path(&glob, view_of(path));
}

struct row {
	const char *pattern, *path;
	bool want;
};

static void check(const struct row *rows, size_t count, bool ignore_case)
{
	for (size_t i = 0; i < count; i++)
		if (matches(rows[i].pattern, rows[i].path, ignore_case) != rows[i].want)
			fail_msg("'%s' and '%s': not %d", rows[i].pattern, rows[i].path,
			         rows[i].want);
}

static void pattern_without_slash_matches_the_last_name(void **state)
{
	static const struct row rows[] = {
		{ "*.c", "a.c", true },
		{ "*.c", "src/deep/a.c", true },
		{ "*.c", "a.cc", false },
		{ "*.c", ".c", true },
		{ "a.c", "a.c", true },
		{ "a.c", "b/a.c", true },
		{ "a.c", "a.c/b", false },
		{ "a.c", "aa.c", false },
		{ "src", "src/a", false },
		{ "*", "any/thing", true },
		{ "?", "a", true },
		{ "?", "ab", false },
		{ "?", "\xc3\xa9", true }, /* one character of two bytes */
		{ "??", "\xc3\xa9", false },
		{ "?", "\xff", true }, /* a byte that is none */
		{ "??", "\xff\xfe", true },
		{ "\xff", "\xff", true },
		{ "\xff", "\xfe", false },
		{ "*\xa9", "\xc3\xa9", false }, /* never half of one */
		{ "a*b*c", "axxbyyc", true },
		{ "a*b*c", "abc", true },
		{ "a*b*c", "acb", false },
		{ "*a*", "bab", true },
		{ "", "a", false },
	};

	check(rows, ARRAY_LEN(rows), false);
}

static void pattern_with_slash_matches_the_whole_path(void **state)
{
	static const struct row rows[] = {
		{ "src/*.c", "src/a.c", true },
		{ "src/*.c", "src/b/a.c", false },
		{ "src/*.c", "x/src/a.c", false },
		{ "/*.c", "a.c", true },
		{ "/*.c", "src/a.c", false },
		{ "./a.c", "a.c", true },
		{ "./a.c", "src/a.c", false },
		{ "*/a", "b/a", true },
		{ "*/a", "a", false },
		{ "a?b", "a/b", false },
		{ "a/?/b", "a/x/b", true },
		{ "a/?b", "a//b", false },
		{ "a/[!x]b", "a//b", false },
		{ "a/[.-0]b", "a//b", false }, /* '/' lies between */
	};

	check(rows, ARRAY_LEN(rows), false);
}

static void two_stars_cross_directories(void **state)
{
	static const struct row rows[] = {
		{ "**/a.c", "a.c", true },
		{ "**/a.c", "x/a.c", true },
		{ "**/a.c", "x/y/z/a.c", true },
		{ "**/a.c", "xa.c", false },
		{ "**/a.c", "x/ya.c", false },
		{ "src/**/a.c", "src/a.c", true },
		{ "src/**/a.c", "src/x/y/a.c", true },
		{ "src/**/a.c", "srca.c", false },
		{ "src/**/a.c", "src/xa.c", false },
		{ "src/**", "src/x", true },
		{ "src/**", "src/x/y", true },
		{ "src/**", "src", false },
		{ "**", "a/b/c", true },
		{ "**.c", "x/y/a.c", true },
		{ "a**z", "a/b/z", true },
		{ "a**z", "az", true },
		{ "**/**/x", "x", true },
		{ "**/**/x", "a/b/c/x", true },
		{ "**/b/**/d", "a/b/c/d", true },
		{ "**/b/**/d", "b/d", true },
		{ "**/b/**/d", "a/c/d", false },
		{ "**/b/**/d", "b/b/d/d", true },
		{ "***/x", "a/b/x", true },
		{ "**/*.c", "x/.c/y", false },
		{ "**/test/*_?.[ch]", "a/test/b/test/x_1.h", true },
	};

	check(rows, ARRAY_LEN(rows), false);
}

static void sets_and_escapes_match(void **state)
{
	static const struct row rows[] = {
		{ "[abc]", "b", true },
		{ "[abc]", "d", false },
		{ "[a-c]x", "bx", true },
		{ "[a-c]x", "dx", false },
		{ "[!a-c]", "d", true },
		{ "[!a-c]", "b", false },
		{ "[^a-c]", "b", false },
		{ "[]]", "]", true },
		{ "[]a]", "a", true },
		{ "[!]]", "]", false },
		{ "[!]]", "a", true },
		{ "[a-]", "-", true },
		{ "[-a]", "-", true },
		{ "[a\\]b]", "]", true },
		{ "[a\\-c]", "b", false },
		{ "[a\\-c]", "-", true },
		{ "[[:digit:]x]", "7", true },
		{ "[[:digit:]x]", "a", false },
		{ "[![:digit:]]", "7", false },
		{ "[", "[", true },
		{ "[abc", "[abc", true },
		{ "[]", "[]", true },
		{ "[!]", "[!]", true },
		{ "a[b/c]d", "a[b/c]d", true }, /* no set reaches over a slash */
		{ "[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true },
		{ "[\xc3\xa0-\xc3\xbf]", "\xc3\x89", false },
		{ "\\*", "*", true },
		{ "\\*", "a", false },
		{ "\\[a]", "[a]", true },
		{ "\\\\", "\\", true },
		{ "a\\", "a\\", true },
		{ "\\a", "a", true },
	};

	check(rows, ARRAY_LEN(rows), false);
}

static void case_matters_unless_the_flag_is_set(void **state)
{
	static const struct row minded[] = { { "README*", "readme.md", false },
		                             { "[a-z]", "B", false } };
	static const struct row ignored[] = {
		{ "README*", "readme.md", true },
		{ "readme*", "README.md", true },
		{ "[a-z]", "B", true },
		{ "[A-Z]", "b", true },
		{ "[!a-z]", "B", false },
		{ "\\A", "a", true },
		{ "\xc3\x89", "\xc3\xa9", false }, /* A to Z only */
		{ "[_]", "?", false },
	};

	check(minded, ARRAY_LEN(minded), false);
	check(ignored, ARRAY_LEN(ignored), true);
}

/* Backtracking would take exponential time. */
static void hostile_pattern_takes_no_longer(void **state)
{
	static const char *const units[] = { "a*", "**a", "*a?", "[!b]*", "**/", "*/**/a" };
	char pattern[PATTERN_MAX + 1], path[TEXT_MAX + 1];
	uint64_t start = clock_now_ms();

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		size_t len = strlen(units[i]), used = 0;

		while (used + len + 1 <= PATTERN_MAX) {
			memcpy(pattern + used, units[i], len);
			used += len;
		}
		pattern[used++] = 'b';
		pattern[used] = '\0';
		memset(path, 'a', TEXT_MAX);
		path[TEXT_MAX] = '\0';
		assert_false(matches(pattern, path, false));
		for (size_t at = 7; at < TEXT_MAX; at += 8)
			path[at] = '/';
		assert_false(matches(pattern, path, false));
	}
	/* About a second with the sanitizers on a slow machine; backtracking would take years. */
	assert_in_range(clock_now_ms() - start, 0, 60000);
}

static void glob_is_used_again_and_again(void **state)
{
	static struct glob glob;

	for (int i = 0; i < 1000; i++) {
		glob_set(&glob, VIEW("a*b"), 0);
		assert_true(glob_match_path(&glob, VIEW("axb")));
		assert_false(glob_match_path(&glob, VIEW("axc")));
		assert_false(glob_match_path(&glob, VIEW("")));
		glob_set(&glob, VIEW("a*c"), 0);
		assert_true(glob_match_path(&glob, VIEW("axc")));
		/* The counter of rounds wraps. */
		if (i == 500)
			glob.round = UINT32_MAX - 3;
	}
}

static void longest_pattern_is_matched(void **state)
{
	static struct glob glob;
	static char text[GLOB_PATTERN_MAX + 1];

	memset(text, 'x', sizeof text);
	glob_set(&glob, (struct view){ text, GLOB_PATTERN_MAX }, 0);
	assert_true(glob_match_path(&glob, (struct view){ text, GLOB_PATTERN_MAX }));
	assert_false(glob_match_path(&glob, (struct view){ text, GLOB_PATTERN_MAX - 1 }));
	assert_false(glob_match_path(&glob, (struct view){ text, GLOB_PATTERN_MAX + 1 }));
}

static void match_gives_up_when_its_steps_are_spent(void **state)
{
	static struct glob glob;
	uint64_t steps = 10;

	glob_set(&glob, VIEW("*a*a*a*"), 0);
	assert_false(glob_match(&glob, VIEW("aaaaaaaaaaaaaaaaaaaaaaaa"), &steps));
	assert_int_equal(steps, 0);
	steps = 1000;
	assert_true(glob_match(&glob, VIEW("aaaaaaaaaaaaaaaaaaaaaaaa"), &steps));
	assert_in_range(steps, 1, 999);
}

/* The other rows of this dialect are in the test of .gitignore. */
static void git_dialect_differs(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool git, ours;
	} rows[] = {
		{ "a**b", "a/b", false, true },    { "**a", "x/a", false, true },
		{ "***/a", "x/y/a", false, true }, { "[ab", "[ab", false, true },
		{ "a\\", "a\\", false, true },     { "?", "\xc3\xa4", false, true },
		{ "??", "\xc3\xa4", true, false }, { "x[b/a]y", "xay", true, false },
		{ "a/**/b", "a/b", true, true },   { "a/**", "a/b/c", true, true },
	};
	static struct glob glob;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t steps = 1000;

		glob_set(&glob, view_of(rows[i].pattern), GLOB_GIT);
		assert_int_equal(glob_match(&glob, view_of(rows[i].text), &steps), rows[i].git);
		glob_set(&glob, view_of(rows[i].pattern), 0);
		assert_int_equal(glob_match(&glob, view_of(rows[i].text), &steps), rows[i].ours);
	}
}

static void one_of_several_lines_matches(void **state)
{
	static struct glob glob;

	assert_true(glob_match_lines(&glob, VIEW("*.c\n*.h"), 0, VIEW("src/a.c")));
	assert_true(
	        glob_match_lines(&glob, VIEW("*.c\nsrc/*.H"), GLOB_IGNORE_CASE, VIEW("src/a.h")));
	assert_false(glob_match_lines(&glob, VIEW("*.c\nsrc/*.h"), 0, VIEW("a.h")));
	assert_false(glob_match_lines(&glob, VIEW(""), 0, VIEW("a")));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(pattern_without_slash_matches_the_last_name),
		TEST(pattern_with_slash_matches_the_whole_path),
		TEST(two_stars_cross_directories),
		TEST(sets_and_escapes_match),
		TEST(case_matters_unless_the_flag_is_set),
		TEST(hostile_pattern_takes_no_longer),
		TEST(glob_is_used_again_and_again),
		TEST(longest_pattern_is_matched),
		TEST(match_gives_up_when_its_steps_are_spent),
		TEST(git_dialect_differs),
		TEST(one_of_several_lines_matches),
	};

	return RUN_TESTS("glob", tests);
}
