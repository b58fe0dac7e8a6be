/* test_ignore.c - .gitignore as git reads it. The verdicts of the first table are those of
 * `git check-ignore`. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/copy/ignore.h"
#include "unit/test.h"

static const struct verdict {
	const char *rules, *path; /* a slash at the end: a directory */
	bool left_out;
} verdicts[] = {
	/* names anywhere */
	{ "a", "a", true },
	{ "a", "b/a", true },
	{ "a", "b/a/c", true },
	{ "a", "ab", false },
	{ "*.o", "x/y.o", true },
	{ "*.o", "x/y.oo", false },
	{ "*.o", ".o", true },
	{ "?.c", "a.c", true },
	{ "?.c", "ab.c", false },
	{ "a*b*c", "aXbXbXc", true },
	{ "a*b*c", "aXbXbX", false },
	/* anchored */
	{ "/a", "a", true },
	{ "/a", "b/a", false },
	{ "b/a", "b/a", true },
	{ "b/a", "c/b/a", false },
	{ "b/*", "b/a", true },
	{ "b/*", "b/a/c", true },
	{ "*/a", "b/a", true },
	{ "*/a", "c/b/a", false },
	/* directories only */
	{ "a/", "a", false },
	{ "a/", "a/", true },
	{ "a/", "b/a/", true },
	{ "a/", "a/b", true },
	{ "/a/", "b/a/", false },
	{ "b/a/", "b/a/", true },
	{ "a//", "a/", false },
	{ "b//a", "b/a", false },
	{ "./a", "a", false },
	{ "[b/a]/x", "a/x", true },
	{ "a\\/b", "a/b", true },
	{ "**\\/a", "a", false },
	{ "**\\/a", "x/a", true },
	{ "**\\/a", "x/y/a", true },
	/* any number of directories */
	{ "**/a", "a", true },
	{ "**/a", "b/c/a", true },
	{ "a/**", "a/", false },
	{ "a/**", "a/b", true },
	{ "a/**", "a/b/c", true },
	{ "a/**/b", "a/b", true },
	{ "a/**/b", "a/x/y/b", true },
	{ "a/**/b", "a/x/y/bb", false },
	{ "**/a/**/b", "x/a/y/a/z/b", true },
	{ "a**b", "axxb", true },
	{ "a**b", "ax/xb", false },
	{ "**", "x/y", true },
	/* sets */
	{ "[ab].c", "a.c", true },
	{ "[ab].c", "c.c", false },
	{ "[!ab].c", "c.c", true },
	{ "[^ab].c", "a.c", false },
	{ "[a-c]x", "bx", true },
	{ "[a-c]x", "dx", false },
	{ "[]a]x", "]x", true },
	{ "[a-]x", "-x", true },
	{ "[[:digit:]]x", "7x", true },
	{ "[[:digit:]]x", "ax", false },
	{ "[\\]]x", "]x", true },
	{ "[ab", "[ab", false },
	{ "*.py[co]", "m.pyc", true },
	/* characters that mean something */
	{ "\\#a", "#a", true },
	{ "#a", "#a", false },
	{ "\\!a", "!a", true },
	{ "\\*", "*", true },
	{ "\\*", "x", false },
	{ "a ", "a", true },
	{ "a\\ ", "a ", true },
	{ "a\\ ", "a", false },
	{ "a\r", "a", true },
	{ "\n\n  \na", "a", true },
	{ "\xef\xbb\xbf"
	  "a",
	  "a", true },
	{ "ä*", "äö", true },
	{ "/", "a", false },
	{ "!", "a", false },
	/* taking back */
	{ "*.o\n!keep.o", "keep.o", false },
	{ "*.o\n!keep.o", "b/keep.o", false },
	{ "!keep.o\n*.o", "keep.o", true },
	{ "a\n!a/b", "a/b", true }, /* below a directory that is left out */
	{ "a/*\n!a/b", "a/b", false },
	{ "a/*\n!a/b", "a/c", true },
	/* always */
	{ "", ".git", true },
	{ "", ".git/config", true },
	{ "", "sub/.git", true },
	{ "!.git", ".git/config", true },
	{ "", ".github/x", false },
	{ "", ".gitignore", false },
};

static bool is_left_out(const struct ignore *ignore, const char *text)
{
	struct view path = view_of(text);
	bool is_directory = path.ptr[path.len - 1] == '/';

	path.len -= is_directory;
	return ignore_has(ignore, path, is_directory);
}

static void ignore_judges_as_git_does(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(verdicts); i++) {
		AUTO(ignore) struct ignore *ignore = ignore_new();
		struct error err;

		CHECK_OK(ignore_add(ignore, VIEW(""), view_of(verdicts[i].rules), &err), err);
		if (is_left_out(ignore, verdicts[i].path) != verdicts[i].left_out)
			fail_msg("'%s' and '%s': %s", verdicts[i].rules, verdicts[i].path,
			         verdicts[i].left_out ? "kept" : "left out");
	}
}

static void deeper_gitignore_wins(void **state)
{
	AUTO(ignore) struct ignore *ignore = ignore_new();
	struct error err;

	CHECK_OK(ignore_add(ignore, VIEW("a/b"), VIEW("!x.o\n/top"), &err), err);
	CHECK_OK(ignore_add(ignore, VIEW("a"), VIEW("y"), &err), err);
	CHECK_OK(ignore_add(ignore, VIEW(""), VIEW("*.o\n"), &err), err);
	assert_true(is_left_out(ignore, "x.o"));
	assert_true(is_left_out(ignore, "a/x.o"));
	assert_false(is_left_out(ignore, "a/b/x.o"));
	assert_false(is_left_out(ignore, "a/b/c/x.o"));
	assert_true(is_left_out(ignore, "a/b/y.o"));
	assert_true(is_left_out(ignore, "a/b/top"));
	assert_false(is_left_out(ignore, "a/b/c/top"));
	assert_false(is_left_out(ignore, "top"));
	assert_true(is_left_out(ignore, "a/y"));
	assert_false(is_left_out(ignore, "y"));
	assert_false(is_left_out(ignore, "ab/y"));
}

static void ignore_refuses_more_than_its_limits(void **state)
{
	AUTO(ignore) struct ignore *ignore = ignore_new();
	AUTO_BUF struct buf text;
	struct error err;

	buf_init(&text, IGNORE_FILE_MAX + 1);
	for (int i = 0; i < IGNORE_RULES_MAX; i++)
		CHECK_OK(buf_add(&text, VIEW("#\nx\n"), &err), err);
	CHECK_OK(ignore_add(ignore, VIEW(""), buf_view(&text), &err), err);
	CHECK_OK(ignore_add(ignore, VIEW("a"), VIEW("# none\n"), &err), err);
	CHECK_ERROR(
	        ignore_add(ignore, VIEW("b"), VIEW("y"), &err), err, ERR_LIMIT,
	        "all .gitignore files together have more than 10000 rules, which is the maximum: copy a directory further down, or without gitignore");
	while (text.len < text.max)
		CHECK_OK(buf_add(&text, VIEW("#"), &err), err);
	CHECK_ERROR(
	        ignore_add(ignore, VIEW("b"), buf_view(&text), &err), err, ERR_LIMIT,
	        "a .gitignore of more than 262144 bytes, which is the maximum: copy without gitignore");
	for (int i = 2; i < IGNORE_FILES_MAX; i++)
		CHECK_OK(ignore_add(ignore, VIEW("c"), VIEW(""), &err), err);
	CHECK_ERROR(
	        ignore_add(ignore, VIEW("c"), VIEW(""), &err), err, ERR_LIMIT,
	        "more than 1000 .gitignore files, which is the maximum: copy without gitignore");
}

/* Backtracking would try each star with each place of each other one. */
static void hostile_pattern_takes_no_longer(void **state)
{
	AUTO(ignore) struct ignore *ignore = ignore_new();
	AUTO_BUF struct buf rule, path;
	struct error err;

	buf_init(&rule, IGNORE_FILE_MAX);
	buf_init(&path, 4096);
	for (int i = 0; i < 500; i++)
		CHECK_OK(buf_add(&rule, VIEW("a*b**/"), &err), err);
	CHECK_OK(buf_add(&rule, VIEW("**/**/**/**/c"), &err), err);
	for (int i = 0; i < 1000; i++)
		CHECK_OK(buf_add(&path, VIEW("ab/"), &err), err);
	CHECK_OK(ignore_add(ignore, VIEW(""), buf_view(&rule), &err), err);
	assert_false(is_left_out(ignore, buf_text(&path)));
}

static void ignore_gives_up_when_rules_cost_too_much(void **state)
{
	static const char *const rules[] = { "**/**/**/**/**/**/**/**/**/**/*a*a*a*a*a*a*b*\n",
		                             "[[[[[[[[\n" };
	static const char why[] =
	        "the .gitignore rules are too costly: copy without gitignore, or a smaller directory";

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		AUTO(ignore) struct ignore *ignore = ignore_new();
		AUTO_BUF struct buf text, path;
		uint64_t started = clock_now_ms();
		struct error err;

		buf_init(&text, IGNORE_FILE_MAX);
		buf_init(&path, 4096);
		while (text.len + strlen(rules[i]) < 40000)
			CHECK_OK(buf_add(&text, view_of(rules[i]), &err), err);
		while (path.len < 2000)
			CHECK_OK(buf_add(&path, VIEW("[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/"),
			                 &err),
			         err);
		CHECK_OK(buf_add(&path, VIEW("x"), &err), err);
		CHECK_OK(ignore_add(ignore, VIEW(""), buf_view(&text), &err), err);
		for (int n = 0; n < 513 && ignore_check(ignore, &err) == 0; n++) {
			ignore_credit(ignore);
			(void)ignore_has(ignore, buf_view(&path), false);
		}
		CHECK_ERROR(ignore_check(ignore, &err), err, ERR_LIMIT, why);
		assert_true(clock_now_ms() - started < 60000); /* without the limit: hours */
	}
}

/* 400 rules and 20000 files stay below the limit of steps. */
static void steps_suffice_for_a_large_project(void **state)
{
	AUTO(ignore) struct ignore *ignore = ignore_new();
	AUTO_BUF struct buf text;
	struct error err;
	char path[64];

	buf_init(&text, IGNORE_FILE_MAX);
	for (int i = 0; i < 100; i++)
		CHECK_OK(buf_printf(&text, &err, "*.t%d\n/out%d/\nname%d\nsome/where%d/*.log\n", i,
		                    i, i, i),
		         err);
	CHECK_OK(ignore_add(ignore, VIEW(""), buf_view(&text), &err), err);
	for (int i = 0; i < 20000; i++) {
		(void)snprintf(path, sizeof path, "some/where%d/deep/inside/file%d.c", i / 100, i);
		ignore_credit(ignore);
		assert_false(ignore_has(ignore, view_of(path), false));
		CHECK_OK(ignore_check(ignore, &err), err);
	}
}

/* The cached verdict of one directory must not be used for another one. */
static void cached_directories_are_not_confused(void **state)
{
	static const struct {
		const char *path;
		bool left_out;
	} rows[] = {
		{ "a/b/c/x", false },   { "a/b/cd/x", false }, { "a/out/x", true },
		{ "a/outer/x", false }, { "a/out/y", true },   { "a/b/out/x", true },
		{ "a/b/c/x.o", true },  { "a/x", false },      { "out/x", true },
		{ "a/b/c/y", false },   { "a", false },        { "a/out/z", true },
	};
	AUTO(ignore) struct ignore *ignore = ignore_new();
	struct error err;

	CHECK_OK(ignore_add(ignore, VIEW(""), VIEW("out\n*.o\n"), &err), err);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (is_left_out(ignore, rows[i].path) != rows[i].left_out)
			fail_msg("'%s'", rows[i].path);
	CHECK_OK(ignore_add(ignore, VIEW("a"), VIEW("b/\n!out\n"), &err), err);
	assert_true(is_left_out(ignore, "a/b/c/y"));
	assert_false(is_left_out(ignore, "a/out/z"));
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(ignore_judges_as_git_does),
		TEST(deeper_gitignore_wins),
		TEST(ignore_refuses_more_than_its_limits),
		TEST(hostile_pattern_takes_no_longer),
		TEST(ignore_gives_up_when_rules_cost_too_much),
		TEST(steps_suffice_for_a_large_project),
		TEST(cached_directories_are_not_confused),
	};

	return RUN_TESTS("ignore", all);
}
