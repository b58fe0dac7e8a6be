#include "agent/files/glob.h"

#include "base/clock.h"
#include "unit/test.h"

static bool matches(const char *pattern, const char *path, bool ignore_case)
{
	static struct glob glob;
	struct error err;

	CHECK_OK(glob_init(&glob, view_of(pattern), ignore_case, &err), err);
	return glob_match(&glob, view_of(path));
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

static void holds_a_pattern_without_a_slash_against_the_last_name(void **state)
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

	(void)state;
	check(rows, ARRAY_LEN(rows), false);
}

static void holds_a_pattern_with_a_slash_against_the_whole_path(void **state)
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

	(void)state;
	check(rows, ARRAY_LEN(rows), false);
}

static void crosses_directories_with_two_stars(void **state)
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

	(void)state;
	check(rows, ARRAY_LEN(rows), false);
}

static void knows_sets_and_escapes(void **state)
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

	(void)state;
	check(rows, ARRAY_LEN(rows), false);
}

static void minds_case_unless_told_otherwise(void **state)
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

	(void)state;
	check(minded, ARRAY_LEN(minded), false);
	check(ignored, ARRAY_LEN(ignored), true);
}

/* Backtracking would take longer than the universe has. */
static void takes_no_longer_for_hostile_patterns(void **state)
{
	static const char *const units[] = { "a*", "**a", "*a?", "[!b]*", "**/", "*/**/a" };
	char pattern[WIRE_PATTERN_MAX + 1], path[WIRE_PATH_MAX + 1];
	uint64_t start = clock_now_ms();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		size_t len = strlen(units[i]), used = 0;

		while (used + len + 1 <= WIRE_PATTERN_MAX) {
			memcpy(pattern + used, units[i], len);
			used += len;
		}
		pattern[used++] = 'b';
		pattern[used] = '\0';
		memset(path, 'a', WIRE_PATH_MAX);
		path[WIRE_PATH_MAX] = '\0';
		assert_false(matches(pattern, path, false));
		for (size_t at = 7; at < WIRE_PATH_MAX; at += 8)
			path[at] = '/';
		assert_false(matches(pattern, path, false));
	}
	/* About a second with the sanitizers on a slow machine. */
	assert_in_range(clock_now_ms() - start, 0, 20000);
}

static void is_used_again_and_again(void **state)
{
	static struct glob glob;
	struct error err;

	(void)state;
	CHECK_OK(glob_init(&glob, VIEW("a*b"), false, &err), err);
	for (int i = 0; i < 1000; i++) {
		assert_true(glob_match(&glob, VIEW("axb")));
		assert_false(glob_match(&glob, VIEW("axc")));
		assert_false(glob_match(&glob, VIEW("")));
		/* The counter of steps comes round. */
		if (i == 500)
			glob.step = UINT32_MAX - 3;
	}
}

static void takes_the_longest_pattern_and_refuses_a_longer_one(void **state)
{
	static struct glob glob;
	char text[WIRE_PATTERN_MAX + 1];
	struct error err;

	(void)state;
	memset(text, 'x', sizeof text);
	CHECK_OK(glob_init(&glob, (struct view){ text, WIRE_PATTERN_MAX }, false, &err), err);
	assert_true(glob_match(&glob, (struct view){ text, WIRE_PATTERN_MAX }));
	assert_false(glob_match(&glob, (struct view){ text, WIRE_PATTERN_MAX - 1 }));
	assert_false(glob_match(&glob, (struct view){ text, WIRE_PATTERN_MAX + 1 }));
	CHECK_ERROR(glob_init(&glob, (struct view){ text, sizeof text }, false, &err), err,
	            ERR_LIMIT, "a pattern of 1025 bytes: at most 1024");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(holds_a_pattern_without_a_slash_against_the_last_name),
		TEST(holds_a_pattern_with_a_slash_against_the_whole_path),
		TEST(crosses_directories_with_two_stars),
		TEST(knows_sets_and_escapes),
		TEST(minds_case_unless_told_otherwise),
		TEST(takes_no_longer_for_hostile_patterns),
		TEST(is_used_again_and_again),
		TEST(takes_the_longest_pattern_and_refuses_a_longer_one),
	};

	return RUN_TESTS("glob", tests);
}
