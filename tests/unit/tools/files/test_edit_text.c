#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "tools/files/edit_text.h"
#include "unit/test.h"

enum { ROOM = 1000 };

struct edited {
	struct buf text, diff;
	size_t replaced;
};

static int run_edits(struct edited *edited, const char *text, const struct edit *edits,
                     size_t count, struct error *err)
{
	return edit_text(view_of(text), edits, count, &edited->text, &edited->diff,
	                 &edited->replaced, err);
}

static void init_edited(struct edited *edited)
{
	buf_init(&edited->text, ROOM);
	buf_init(&edited->diff, ROOM);
	edited->replaced = 0;
}

static void free_edited(struct edited *edited)
{
	buf_done(&edited->text);
	buf_done(&edited->diff);
}

#define EDIT(old_, new_)                                                                           \
	{                                                                                          \
		VIEW_INIT(old_), VIEW_INIT(new_), false                                            \
	}
#define EDIT_ALL(old_, new_)                                                                       \
	{                                                                                          \
		VIEW_INIT(old_), VIEW_INIT(new_), true                                             \
	}

static void edits_are_applied_in_order(void **state)
{
	static const struct {
		const char *text;
		struct edit edits[3];
		size_t count, replaced;
		const char *want, *diff;
	} rows[] = {
		{ "a\nb\nc\n", { EDIT("b", "B") }, 1, 1, "a\nB\nc\n", "@@ line 2 @@\n-b\n+B\n" },
		{ "a\r\nb\r\nc\r\n", /* the lines of the text end in CR LF */
		  { EDIT("a\nb\n", "x\ny\n"), EDIT("c", "1\n2") },
		  2,
		  2,
		  "x\r\ny\r\n1\r\n2\r\n",
		  "@@ line 1 @@\n-a\r\n-b\r\n+x\r\n+y\r\n@@ line 3 @@\n-c\r\n+1\r\n+2\r\n" },
		{ "a\r\nb\r\n",
		  { EDIT_ALL("\r\n", "\n") },
		  1,
		  2,
		  "a\nb\n",
		  "@@ line 1 @@\n-a\r\n+a\n@@ line 2 @@\n-b\r\n+b\n" },
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

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct edited edited;
		struct error err;

		init_edited(&edited);
		CHECK_OK(run_edits(&edited, rows[i].text, rows[i].edits, rows[i].count, &err), err);
		assert_string_equal(buf_text(&edited.text), rows[i].want);
		assert_string_equal(buf_text(&edited.diff), rows[i].diff);
		assert_int_equal(edited.replaced, rows[i].replaced);
		free_edited(&edited);
	}
}

static void error_names_the_edit_that_did_not_match(void **state)
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
		  "it exactly" },
		{ "a\n",
		  { EDIT("a", "b"), EDIT("a", "c") },
		  2,
		  ERR_NOT_FOUND,
		  "edit 2 of 2: its old text \"a\" was not found (0 times): read the file and copy "
		  "it exactly; edits before this one may have changed it" },
		{ "x\n\tif a:\n",
		  { EDIT("    if a:\n", "c") },
		  1,
		  ERR_NOT_FOUND,
		  "edit 1 of 1: its old text \"    if a:\\n\" was not found; line 2 differs "
		  "from it only in white space (indentation, tabs, line ends): read the file "
		  "and copy it exactly" },
		{ "a\r\nb\nc\r\n",
		  { EDIT("a\nb", "c") },
		  1,
		  ERR_NOT_FOUND,
		  "edit 1 of 1: its old text \"a\\nb\" was not found; line 1 differs from it "
		  "only in white space (indentation, tabs, line ends): read the file and copy "
		  "it exactly" },
		{ "a\nb\na\n",
		  { EDIT("a", "c") },
		  1,
		  ERR_INVALID,
		  "edit 1 of 1: its old text \"a\" was found 2 times (lines 1, 3): add the text "
		  "around it to make it unique, or set all to true" },
		{ "aaaaaaaaaa",
		  { EDIT("a", "c") },
		  1,
		  ERR_INVALID,
		  "edit 1 of 1: its old text \"a\" was found 10 times (lines 1, 1, 1, 1, 1, 1, "
		  "1, 1, ...): add the text around it to make it unique, or set all to true" },
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
		{ "x }\n}\n}\n",
		  { EDIT("}\n}\n", "}\n") },
		  1,
		  ERR_INVALID,
		  "edit 1 of 1: its old text \"}\\n}\\n\" was found 2 times (lines 1, 2): add the text "
		  "around it to make it unique, or set all to true" },
		{ "x\n  load(user) {\n  b\n}\n",
		  { EDIT("load(user) {\n  c\n}", "") },
		  1,
		  ERR_NOT_FOUND,
		  "edit 1 of 1: its old text \"load(user) {\\n  c\\n}\" was not found; line 2 is as "
		  "its first line, but the lines behind differ: read on from there and copy them "
		  "exactly" },
		{ "}\na\n",
		  { EDIT("}\nb\n", "c") },
		  1,
		  ERR_NOT_FOUND,
		  "edit 1 of 1: its old text \"}\\nb\\n\" was not found (0 times): read the file and "
		  "copy it exactly" },
		{ "",
		  { EDIT("a", "b") },
		  1,
		  ERR_NOT_FOUND,
		  "edit 1 of 1: its old text \"a\" was not found (0 times): read the file and copy "
		  "it exactly" },
		{ "",
		  { EDIT(" ", "b") },
		  1,
		  ERR_NOT_FOUND,
		  "edit 1 of 1: its old text \" \" was not found (0 times): read the file and copy "
		  "it exactly" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct edited edited;
		struct error err;

		init_edited(&edited);
		CHECK_ERROR(run_edits(&edited, rows[i].text, rows[i].edits, rows[i].count, &err),
		            err, rows[i].kind, rows[i].message);
		free_edited(&edited);
	}
}

static void result_that_is_too_large_is_refused(void **state)
{
	AUTO_FREE char *big = mem_new(ROOM + 1);
	struct edit edit = { VIEW_INIT("a"), { big, ROOM / 2 }, true };
	struct edited edited;
	struct error err;

	memset(big, 'x', ROOM);
	init_edited(&edited);
	CHECK_ERROR(run_edits(&edited, "aaa", &edit, 1, &err), err, ERR_LIMIT,
	            "edit 1 of 1: the new text: more than 1000 bytes");
	free_edited(&edited);
}

static void diff_that_does_not_fit_ends_with_a_whole_hunk(void **state)
{
	static const struct edit edit = EDIT_ALL("a", "b");
	struct edited edited;
	struct error err;

	init_edited(&edited);
	edited.diff.max = 30;
	CHECK_OK(run_edits(&edited, "a\na\na\n", &edit, 1, &err), err);
	assert_string_equal(buf_text(&edited.text), "b\nb\nb\n");
	assert_string_equal(buf_text(&edited.diff), "@@ line 1 @@\n-a\n+b\n");
	assert_int_not_equal(edited.diff.max, 30);
	free_edited(&edited);
}

static void diff_cuts_long_lines(void **state)
{
	static const struct edit edit = EDIT("z", "b");
	char text[302];
	struct edited edited;
	struct error err;

	memset(text, 'x', 300);
	memcpy(text + 300, "z", 2);
	init_edited(&edited);
	CHECK_OK(run_edits(&edited, text, &edit, 1, &err), err);
	assert_int_equal(edited.diff.len, strlen("@@ line 1 @@\n") + 2 * (1 + 200 + 3 + 1));
	free_edited(&edited);
}

static void one_line_may_have_many_replacements(void **state)
{
	enum { LEN = 100 * 1000, EVERY = 100 };
	static const struct edit edit = EDIT_ALL("z", "yy");
	char *text = mem_new(LEN + 1);
	struct edited edited;
	struct error err;

	memset(text, 'x', LEN);
	for (size_t i = 0; i < LEN; i += EVERY)
		text[i] = 'z';
	buf_init(&edited.text, 2 * LEN);
	buf_init(&edited.diff, ROOM);
	CHECK_OK(run_edits(&edited, text, &edit, 1, &err), err);
	assert_int_equal(edited.replaced, LEN / EVERY);
	assert_int_equal(edited.text.len, LEN + LEN / EVERY);
	free_edited(&edited);
	free(text);
}

static void replacements_and_searched_bytes_are_bounded(void **state)
{
	enum { LEN = 100001, LARGE = 10 * 1024 * 1024, MANY = 52 };
	static const struct edit all = EDIT_ALL("z", "y");
	static struct edit many[MANY];
	char *text = mem_new(LARGE + 1);
	struct edited edited;
	struct error err;

	memset(text, 'z', LEN);
	buf_init(&edited.text, LARGE);
	buf_init(&edited.diff, ROOM);
	CHECK_ERROR(run_edits(&edited, text, &all, 1, &err), err, ERR_LIMIT,
	            "edit 1 of 1: its old text is found too often: at most 100000 replacements are "
	            "made in one call; change the file with a program, for example sed");
	text[LEN - 1] = '\0';
	CHECK_OK(run_edits(&edited, text, &all, 1, &err), err);
	assert_int_equal(edited.replaced, LEN - 1);
	memset(text, 'z', LARGE);
	for (size_t i = 0; i < MANY; i++)
		many[i] = all;
	CHECK_ERROR(run_edits(&edited, text, many, MANY, &err), err, ERR_LIMIT,
	            "too many edits for a text of 10485760 bytes: bytes times edits may be at most "
	            "536870912 in one call; make fewer edits at once, or change the file with a "
	            "program, for example sed");
	free_edited(&edited);
	free(text);
}

/* Each occurrence begins where the changed lines of the one before it end. */
static void lines_that_are_joined_are_one_hunk(void **state)
{
	static const struct edit edit = EDIT_ALL("a\n", "b");
	struct edited edited;
	struct error err;

	init_edited(&edited);
	CHECK_OK(run_edits(&edited, "a\na\nc\nd\n", &edit, 1, &err), err);
	assert_string_equal(buf_text(&edited.text), "bbc\nd\n");
	assert_string_equal(buf_text(&edited.diff), "@@ line 1 @@\n-a\n-a\n-c\n+bbc\n");
	free_edited(&edited);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(edits_are_applied_in_order),
		TEST(error_names_the_edit_that_did_not_match),
		TEST(result_that_is_too_large_is_refused),
		TEST(diff_that_does_not_fit_ends_with_a_whole_hunk),
		TEST(diff_cuts_long_lines),
		TEST(one_line_may_have_many_replacements),
		TEST(replacements_and_searched_bytes_are_bounded),
		TEST(lines_that_are_joined_are_one_hunk),
	};

	return RUN_TESTS("tools/edit_text", tests);
}
