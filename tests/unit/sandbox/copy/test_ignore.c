/* test_ignore.c - .gitignore as git reads it, and what it does to a tar stream. The verdicts of
 * the first table are those of `git check-ignore`. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/copy/ignore.h"
#include "sandbox/copy/tar_filter.h"
#include "unit/test.h"
#include "wire/tar.h"

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
	{ "[b/a]/x", "a/x", true },
	{ "a\\/b", "a/b", true },
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
	{ "a\n!a/b", "a/b", true }, /* it is below what is left out */
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

static void judges_as_git_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(verdicts); i++) {
		AUTO(ignore) struct ignore *ignore = ignore_new();
		struct error err;

		CHECK_OK(ignore_add(ignore, VIEW(""), view_of(verdicts[i].rules), &err), err);
		if (is_left_out(ignore, verdicts[i].path) != verdicts[i].left_out)
			fail_msg("'%s' and '%s': %s", verdicts[i].rules, verdicts[i].path,
			         verdicts[i].left_out ? "kept" : "left out");
	}
}

static void lets_deeper_files_win(void **state)
{
	AUTO(ignore) struct ignore *ignore = ignore_new();
	struct error err;

	(void)state;
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

static void takes_no_more_than_there_may_be(void **state)
{
	AUTO(ignore) struct ignore *ignore = ignore_new();
	AUTO_BUF struct buf text;
	struct error err;

	(void)state;
	buf_init(&text, IGNORE_FILE_MAX + 1);
	for (int i = 0; i < IGNORE_RULES_MAX; i++)
		CHECK_OK(buf_add(&text, VIEW("#\nx\n"), &err), err);
	CHECK_OK(ignore_add(ignore, VIEW(""), buf_view(&text), &err), err);
	CHECK_OK(ignore_add(ignore, VIEW("a"), VIEW("# none\n"), &err), err);
	CHECK_ERROR(ignore_add(ignore, VIEW("b"), VIEW("y"), &err), err, ERR_LIMIT,
	            "all .gitignore files together have more than 10000 rules, which is the "
	            "maximum: copy a directory further down, or without gitignore");
	while (text.len < text.max)
		CHECK_OK(buf_add(&text, VIEW("#"), &err), err);
	CHECK_ERROR(ignore_add(ignore, VIEW("b"), buf_view(&text), &err), err, ERR_LIMIT,
	            "a .gitignore of more than 262144 bytes, which is the maximum");
	for (int i = 2; i < IGNORE_FILES_MAX; i++)
		CHECK_OK(ignore_add(ignore, VIEW("c"), VIEW(""), &err), err);
	CHECK_ERROR(ignore_add(ignore, VIEW("c"), VIEW(""), &err), err, ERR_LIMIT,
	            "more than 1000 .gitignore files, which is the maximum");
}

/* Each star would be tried with each place of each other one. */
static void is_not_kept_busy_by_a_pattern(void **state)
{
	AUTO(ignore) struct ignore *ignore = ignore_new();
	AUTO_BUF struct buf rule, path;
	struct error err;

	(void)state;
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

static void gives_up_when_rules_cost_too_much(void **state)
{
	static const char *const rules[] = { "**/**/**/**/**/**/**/**/**/**/*a*a*a*a*a*a*b\n",
		                             "[[[[[[[[\n" };
	static const char why[] =
	        "the .gitignore rules are too costly: copy without gitignore, or a "
	        "smaller directory";

	(void)state;
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
		assert_true(clock_now_ms() - started < 2000);
	}
}

/* A project's rules and very many files: no limit is in the way. */
static void has_steps_enough_for_a_project(void **state)
{
	AUTO(ignore) struct ignore *ignore = ignore_new();
	AUTO_BUF struct buf text;
	struct error err;
	char path[64];

	(void)state;
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

/* What is known of directories must not be taken for what is known of others. */
static void remembers_directories_rightly(void **state)
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

	(void)state;
	CHECK_OK(ignore_add(ignore, VIEW(""), VIEW("out\n*.o\n"), &err), err);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (is_left_out(ignore, rows[i].path) != rows[i].left_out)
			fail_msg("'%s'", rows[i].path);
	CHECK_OK(ignore_add(ignore, VIEW("a"), VIEW("b/\n!out\n"), &err), err);
	assert_true(is_left_out(ignore, "a/b/c/y"));
	assert_false(is_left_out(ignore, "a/out/z"));
}

/* --- in a tar stream --- */

static const char long_name[] = "a/directory/with/a/long/name/"
                                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                                "xxxxxxxxxxxxxxxxxxxxxxxxxxx"
                                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

static void put_entry(struct buf *out, enum tar_type type, const char *name, struct view data)
{
	static const char zeros[TAR_BLOCK];
	struct tar_entry entry = {
		.type = type, .mode = 0644, .size = data.len, .name = name, .link = ""
	};
	struct error err;

	if (type == TAR_SYMLINK)
		entry.link = "where";
	CHECK_OK(tar_encode(&entry, out, &err), err);
	CHECK_OK(buf_add(out, data, &err), err);
	CHECK_OK(buf_add(out, (struct view){ zeros, tar_padding(data.len) }, &err), err);
}

static void put_end(struct buf *out)
{
	static const char zeros[2 * TAR_BLOCK];
	struct error err;

	CHECK_OK(buf_add(out, (struct view){ zeros, sizeof zeros }, &err), err);
}

static void put_archive(struct buf *out, bool whole)
{
	char data[1500];

	memset(data, 'd', sizeof data);
	put_entry(out, TAR_FILE, "a.c", VIEW("source"));
	if (whole) {
		put_entry(out, TAR_FILE, "a.o", (struct view){ data, sizeof data });
		put_entry(out, TAR_DIRECTORY, ".git", VIEW(""));
		put_entry(out, TAR_FILE, ".git/HEAD", VIEW("ref"));
		put_entry(out, TAR_SYMLINK, "link.o", VIEW(""));
	}
	put_entry(out, TAR_DIRECTORY, "d", VIEW(""));
	put_entry(out, TAR_SYMLINK, "d/link", VIEW(""));
	put_entry(out, TAR_FILE, long_name, (struct view){ data, TAR_BLOCK });
	if (whole) {
		AUTO_FREE char *object = mem_format("%s.o", long_name);

		put_entry(out, TAR_FILE, object, VIEW("object"));
	}
	put_entry(out, TAR_FILE, "empty", VIEW(""));
	put_end(out);
}

static void leaves_entries_out_of_an_archive(void **state)
{
	AUTO(ignore) struct ignore *ignore = ignore_new();
	AUTO_BUF struct buf whole, want;
	struct error err;

	(void)state;
	buf_init(&whole, 1024 * 1024);
	buf_init(&want, 1024 * 1024);
	put_archive(&whole, true);
	put_archive(&want, false);
	CHECK_OK(ignore_add(ignore, VIEW(""), VIEW("*.o"), &err), err);
	for (size_t piece = 1; piece < 3000; piece = piece * 3 + 1) {
		AUTO(tar_filter) struct tar_filter *filter = tar_filter_new(ignore);
		AUTO_BUF struct buf got;

		buf_init(&got, 1024 * 1024);
		for (size_t at = 0; at < whole.len; at += piece) {
			size_t len = whole.len - at < piece ? whole.len - at : piece;

			assert_int_equal(tar_filter_is_done(filter),
			                 at > whole.len - 2 * TAR_BLOCK + TAR_BLOCK - 1);
			CHECK_OK(tar_filter_take(filter, (struct view){ whole.ptr + at, len }, &got,
			                         &err),
			         err);
		}
		assert_true(tar_filter_is_done(filter));
		assert_int_equal(tar_filter_left_out(filter), 5);
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.ptr, want.ptr, want.len);
	}
}

static void masks_modes(void **state)
{
	AUTO(tar_filter) struct tar_filter *filter = tar_filter_new(NULL);
	AUTO_BUF struct buf bytes, out;
	struct tar_header header;
	struct error err;

	(void)state;
	buf_init(&bytes, 1024 * 1024);
	buf_init(&out, 1024 * 1024);
	put_entry(&bytes, TAR_FILE, "a", VIEW("text"));
	put_entry(&bytes, TAR_FILE, long_name, VIEW(""));
	tar_set_mode(bytes.ptr, 06777);
	tar_set_mode(bytes.ptr + bytes.len - TAR_BLOCK, 0666);
	put_end(&bytes);
	tar_filter_mask_modes(filter);
	CHECK_OK(tar_filter_take(filter, buf_view(&bytes), &out, &err), err);
	assert_int_equal(out.len, bytes.len);
	assert_int_equal(tar_decode(out.ptr, &header, &err), 1);
	assert_int_equal(header.mode, 0755);
	assert_memory_equal(out.ptr + 100, "0000755", 8);
	assert_int_equal(tar_decode(out.ptr + out.len - 3 * TAR_BLOCK, &header, &err), 1);
	assert_int_equal(header.mode, 0644);
}

static void refuses_what_our_agent_does_not_say(void **state)
{
	static const struct {
		size_t at;
		char byte;
		const char *why;
	} rows[] = {
		{ 0, 'z', "not a tar header" }, { 156, 'g', "not a tar header" }, /* the checksum */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(ignore) struct ignore *ignore = ignore_new();
		AUTO(tar_filter) struct tar_filter *filter = tar_filter_new(ignore);
		AUTO_BUF struct buf bytes, out;
		struct error err;

		buf_init(&bytes, 1024 * 1024);
		buf_init(&out, 1024 * 1024);
		put_archive(&bytes, true);
		bytes.ptr[rows[i].at] = rows[i].byte;
		CHECK_ERROR(tar_filter_take(filter, buf_view(&bytes), &out, &err), err, ERR_SYNTAX,
		            rows[i].why);
	}
}

int main(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(judges_as_git_does),
		cmocka_unit_test(lets_deeper_files_win),
		cmocka_unit_test(takes_no_more_than_there_may_be),
		cmocka_unit_test(is_not_kept_busy_by_a_pattern),
		cmocka_unit_test(gives_up_when_rules_cost_too_much),
		cmocka_unit_test(has_steps_enough_for_a_project),
		cmocka_unit_test(remembers_directories_rightly),
		cmocka_unit_test(masks_modes),
		cmocka_unit_test(leaves_entries_out_of_an_archive),
		cmocka_unit_test(refuses_what_our_agent_does_not_say),
	};

	return RUN_TESTS("ignore", all);
}
