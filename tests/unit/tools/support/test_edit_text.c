#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "tools/support/edit_text.h"
#include "unit/test.h"

enum { ROOM = 1000 };

struct made {
	struct buf text, diff;
	size_t replaced;
};

static int make(struct made *made, const char *text, const struct edit *edits, size_t count,
                struct error *err)
{
	return edit_text(view_of(text), edits, count, &made->text, &made->diff, &made->replaced,
	                 err);
}

static void begin(struct made *made)
{
	buf_init(&made->text, ROOM);
	buf_init(&made->diff, ROOM);
	made->replaced = 0;
}

static void end(struct made *made)
{
	buf_done(&made->text);
	buf_done(&made->diff);
}

#define EDIT(old_, new_)                                                                           \
	{                                                                                          \
		VIEW_INIT(old_), VIEW_INIT(new_), false                                            \
	}
#define EDIT_ALL(old_, new_)                                                                       \
	{                                                                                          \
		VIEW_INIT(old_), VIEW_INIT(new_), true                                             \
	}

static void edits_are_made_one_after_the_other(void **state)
{
	static const struct {
		const char *text;
		struct edit edits[3];
		size_t count, replaced;
		const char *want, *diff;
	} rows[] = {
		{ "a\nb\nc\n", { EDIT("b", "B") }, 1, 1, "a\nB\nc\n", "@@ line 2 @@\n-b\n+B\n" },
		{ "x",
		  { EDIT("x", "y"), EDIT("y", "zz") },
		  2,
		  2,
		  "zz",
		  "@@ line 1 @@\n-x\n+y\n@@ line 1 @@\n-y\n+zz\n" },
		{ "a a\nb\na\n",
		  { EDIT_ALL("a", "xx") },
		  1,
		  3,
		  "xx xx\nb\nxx\n",
		  "@@ line 1 @@\n-a a\n+xx xx\n@@ line 3 @@\n-a\n+xx\n" },
		{ "aaaa", { EDIT_ALL("aa", "a") }, 1, 2, "aa", "@@ line 1 @@\n-aaaa\n+aa\n" },
		{ "one\ntwo\n",
		  { EDIT("one\n", "") },
		  1,
		  1,
		  "two\n",
		  "@@ line 1 @@\n-one\n-two\n+two\n" },
		{ "one\ntwo\n",
		  { EDIT("one\n", "1\n2\n") },
		  1,
		  1,
		  "1\n2\ntwo\n",
		  "@@ line 1 @@\n-one\n+1\n+2\n" },
		{ "all", { EDIT("all", "") }, 1, 1, "", "@@ line 1 @@\n-all\n" },
		{ "a\r\nb\r\n",
		  { EDIT("a\r\n", "A\r\n") },
		  1,
		  1,
		  "A\r\nb\r\n",
		  "@@ line 1 @@\n-a\r\n+A\r\n" },
		{ "\xff\xfe",
		  { EDIT("\xff", "ok") },
		  1,
		  1,
		  "ok\xfe",
		  "@@ line 1 @@\n-\xff\xfe\n+ok\xfe\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct made made;
		struct error err;

		begin(&made);
		CHECK_OK(make(&made, rows[i].text, rows[i].edits, rows[i].count, &err), err);
		assert_string_equal(buf_text(&made.text), rows[i].want);
		assert_string_equal(buf_text(&made.diff), rows[i].diff);
		assert_int_equal(made.replaced, rows[i].replaced);
		end(&made);
	}
}

static void says_which_edit_did_not_match_and_why(void **state)
{
	static const struct {
		const char *text;
		struct edit edits[2];
		size_t count;
		enum error_kind kind;
		const char *message;
	} rows[] = {
		{ "a\n",
		  { EDIT("b", "c") },
		  1,
		  ERR_NOT_FOUND,
		  "edit 1 of 1: its old text \"b\" was not found (0 times): read the file and copy "
		  "it "
		  "exactly" },
		{ "a\n",
		  { EDIT("a", "b"), EDIT("a", "c") },
		  2,
		  ERR_NOT_FOUND,
		  "edit 2 of 2: its old text \"a\" was not found (0 times): read the file and copy "
		  "it "
		  "exactly; edits before this one may have changed it" },
		{ "x\n\tif a:\n",
		  { EDIT("    if a:\n", "c") },
		  1,
		  ERR_NOT_FOUND,
		  "edit 1 of 1: its old text \"    if a:\\n\" was not found; line 2 differs from "
		  "it only "
		  "in white space (indentation, tabs, line ends): read the file and copy it "
		  "exactly" },
		{ "a\r\nb\r\n",
		  { EDIT("a\nb", "c") },
		  1,
		  ERR_NOT_FOUND,
		  "edit 1 of 1: its old text \"a\\nb\" was not found; line 1 differs from it only "
		  "in "
		  "white space (indentation, tabs, line ends): read the file and copy it exactly" },
		{ "a\nb\na\n",
		  { EDIT("a", "c") },
		  1,
		  ERR_INVALID,
		  "edit 1 of 1: its old text \"a\" was found 2 times (lines 1, 3): add what stands "
		  "around it, or set all to true" },
		{ "aaaaaaaaaa",
		  { EDIT("a", "c") },
		  1,
		  ERR_INVALID,
		  "edit 1 of 1: its old text \"a\" was found 10 times (lines 1, 1, 1, 1, 1, 1, 1, "
		  "1, "
		  "...): add what stands around it, or set all to true" },
		{ "a",
		  { EDIT("", "c") },
		  1,
		  ERR_INVALID,
		  "edit 1 of 1: its old text is empty; write_file makes or replaces a whole file" },
		{ "a",
		  { EDIT("a", "a") },
		  1,
		  ERR_INVALID,
		  "edit 1 of 1: old and new text are the same: leave it out" },
		{ "",
		  { EDIT("a", "b") },
		  1,
		  ERR_NOT_FOUND,
		  "edit 1 of 1: its old text \"a\" was not found (0 times): read the file and copy "
		  "it "
		  "exactly" },
		{ "",
		  { EDIT(" ", "b") },
		  1,
		  ERR_NOT_FOUND,
		  "edit 1 of 1: its old text \" \" was not found (0 times): read the file and copy "
		  "it "
		  "exactly" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct made made;
		struct error err;

		begin(&made);
		CHECK_ERROR(make(&made, rows[i].text, rows[i].edits, rows[i].count, &err), err,
		            rows[i].kind, rows[i].message);
		end(&made);
	}
}

static void a_text_that_grows_too_large_is_refused(void **state)
{
	AUTO_FREE char *big = mem_new(ROOM + 1);
	struct edit edit = { VIEW_INIT("a"), { big, ROOM / 2 }, true };
	struct made made;
	struct error err;

	(void)state;
	memset(big, 'x', ROOM);
	begin(&made);
	CHECK_ERROR(make(&made, "aaa", &edit, 1, &err), err, ERR_LIMIT,
	            "edit 1 of 1: the new text: more than 1000 bytes");
	end(&made);
}

static void a_diff_that_does_not_fit_ends_with_a_whole_hunk(void **state)
{
	static const struct edit edit = EDIT_ALL("a", "b");
	struct made made;
	struct error err;

	(void)state;
	begin(&made);
	made.diff.max = 30;
	CHECK_OK(make(&made, "a\na\na\n", &edit, 1, &err), err);
	assert_string_equal(buf_text(&made.text), "b\nb\nb\n");
	assert_string_equal(buf_text(&made.diff), "@@ line 1 @@\n-a\n+b\n");
	assert_int_not_equal(made.diff.max, 30);
	end(&made);
}

static void long_lines_are_cut_in_the_diff(void **state)
{
	static const struct edit edit = EDIT("z", "b");
	char text[302];
	struct made made;
	struct error err;

	(void)state;
	memset(text, 'x', 300);
	memcpy(text + 300, "z", 2);
	begin(&made);
	CHECK_OK(make(&made, text, &edit, 1, &err), err);
	assert_int_equal(made.diff.len, strlen("@@ line 1 @@\n") + 2 * (1 + 200 + 3 + 1));
	end(&made);
}

static void many_are_replaced_in_one_line(void **state)
{
	enum { LEN = 100 * 1000, EVERY = 100 };
	static const struct edit edit = EDIT_ALL("z", "yy");
	char *text = mem_new(LEN + 1);
	struct made made;
	struct error err;

	(void)state;
	memset(text, 'x', LEN);
	for (size_t i = 0; i < LEN; i += EVERY)
		text[i] = 'z';
	buf_init(&made.text, 2 * LEN);
	buf_init(&made.diff, ROOM);
	CHECK_OK(make(&made, text, &edit, 1, &err), err);
	assert_int_equal(made.replaced, LEN / EVERY);
	assert_int_equal(made.text.len, LEN + LEN / EVERY);
	end(&made);
	free(text);
}

static void the_work_is_bounded(void **state)
{
	enum { LEN = 100001, LARGE = 10 * 1024 * 1024, MANY = 52 };
	static const struct edit all = EDIT_ALL("z", "y");
	static struct edit many[MANY];
	char *text = mem_new(LARGE + 1);
	struct made made;
	struct error err;

	(void)state;
	memset(text, 'z', LEN);
	buf_init(&made.text, LARGE);
	buf_init(&made.diff, ROOM);
	CHECK_ERROR(make(&made, text, &all, 1, &err), err, ERR_LIMIT,
	            "edit 1 of 1: its old text is found too often: at most 100000 replacements are "
	            "made in one call; change the file with a program, for example sed");
	text[LEN - 1] = '\0';
	CHECK_OK(make(&made, text, &all, 1, &err), err);
	assert_int_equal(made.replaced, LEN - 1);
	memset(text, 'z', LARGE);
	for (size_t i = 0; i < MANY; i++)
		many[i] = all;
	CHECK_ERROR(make(&made, text, many, MANY, &err), err, ERR_LIMIT,
	            "too many edits for a text of 10485760 bytes: bytes times edits may be at most "
	            "536870912 in one call; make fewer edits at once, or change the file with a "
	            "program, for example sed");
	end(&made);
	free(text);
}

/* Occurrences that end where the lines of the one before end. */
static void lines_that_run_together_are_one_hunk(void **state)
{
	static const struct edit edit = EDIT_ALL("a\n", "b");
	struct made made;
	struct error err;

	(void)state;
	begin(&made);
	CHECK_OK(make(&made, "a\na\nc\nd\n", &edit, 1, &err), err);
	assert_string_equal(buf_text(&made.text), "bbc\nd\n");
	assert_string_equal(buf_text(&made.diff), "@@ line 1 @@\n-a\n-a\n-c\n+bbc\n");
	end(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(edits_are_made_one_after_the_other),
		TEST(says_which_edit_did_not_match_and_why),
		TEST(a_text_that_grows_too_large_is_refused),
		TEST(a_diff_that_does_not_fit_ends_with_a_whole_hunk),
		TEST(long_lines_are_cut_in_the_diff),
		TEST(many_are_replaced_in_one_line),
		TEST(the_work_is_bounded),
		TEST(lines_that_run_together_are_one_hunk),
	};

	return RUN_TESTS("tools/edit_text", tests);
}
