#include "base/text/diff.h"

#include <stdlib.h>

#include "base/buf.h"
#include "unit/test.h"

static void diffs_are_unified(void **state)
{
	static const struct {
		const char *before, *after, *want;
	} cases[] = {
		{ "", "", "" },
		{ "a\n", "a\n", "" },
		{ "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n" },
		{ "a\n", "", "@@ -1,1 +0,0 @@\n-a\n" },
		{ "a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n" },
		{ "a\nb", "a\nc\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n5\n6\n7\n8\n9\n",
		  "@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n",
		  "x\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ny\n",
		  "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -9,4 +9,4 @@\n 9\n 10\n 11\n-12\n+y\n" },
		{ "a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n",
		  "@@ -1,7 +1,6 @@\n-a\n-b\n c\n+b\n a\n b\n-b\n a\n+c\n" },
		{ "", "\tif (x)\x1b[31m\n\u202e\n",
		  "@@ -0,0 +1,2 @@\n+\tif (x)\\x1b[31m\n+\\u202e\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf out;

		buf_init(&out, 4096);
		assert_true(diff_lines(view_of(cases[i].before), view_of(cases[i].after), &out));
		assert_string_equal(buf_text(&out), cases[i].want);
	}
}

/* Rebuilds both texts from a diff, whose hunks must cover every line. */
static void check_rebuild(struct view diff, const char *before, const char *after)
{
	char a[4096] = "", b[4096] = "";
	struct view line;

	while (view_next_line(&diff, &line)) {
		size_t at_a = strlen(a), at_b = strlen(b);

		if (line.ptr[0] == '@')
			continue;
		if (line.ptr[0] != '+')
			(void)snprintf(a + at_a, sizeof a - at_a, "%.*s\n", (int)line.len - 1,
			               line.ptr + 1);
		if (line.ptr[0] != '-')
			(void)snprintf(b + at_b, sizeof b - at_b, "%.*s\n", (int)line.len - 1,
			               line.ptr + 1);
	}
	assert_string_equal(a, before);
	assert_string_equal(b, after);
}

/* Four different lines at most, so that they recur, and no more than the context of one hunk
 * between two changes. */
static void random_texts_are_rebuilt_from_their_diff(void **state)
{
	srand(1);
	for (int round = 0; round < 2000; round++) {
		char before[64] = "", after[64] = "";
		AUTO_BUF struct buf out;

		for (int i = 0, n = rand() % 7; i < n; i++)
			(void)strcat(before, &"a\n\0b\n\0c\n\0d\n"[rand() % 4 * 3]);
		for (int i = 0, n = rand() % 7; i < n; i++)
			(void)strcat(after, &"a\n\0b\n\0c\n\0d\n"[rand() % 4 * 3]);
		buf_init(&out, 4096);
		assert_true(diff_lines(view_of(before), view_of(after), &out));
		if (strcmp(before, after) != 0 && strlen(before) <= 8 && strlen(after) <= 8)
			check_rebuild(buf_view(&out), before, after);
	}
}

/* Texts without a common line need more edits than are looked for. */
static void very_different_texts_are_shown_whole(void **state)
{
	AUTO_BUF struct buf before, after, out;
	struct error err;

	buf_init(&before, DIFF_TEXT_MAX);
	buf_init(&after, DIFF_TEXT_MAX);
	buf_init(&out, 4 * DIFF_TEXT_MAX);
	for (int i = 0; i < 20000; i++) {
		CHECK_OK(buf_printf(&before, &err, "a%d\n", i), err);
		CHECK_OK(buf_printf(&after, &err, "b%d\n", i), err);
	}
	assert_true(diff_lines(buf_view(&before), buf_view(&after), &out));
	assert_true(view_starts(buf_view(&out), "@@ -1,20000 +1,20000 @@\n-a0\n-a1\n"));
}

static void full_buffer_ends_with_a_whole_line(void **state)
{
	char room[39], line[2000];
	struct buf out = buf_fixed(room, sizeof room);

	assert_false(diff_lines(view_of(""), view_of("one\ntwo\nthree\nfour\nfive\nsix\n"), &out));
	assert_string_equal(buf_text(&out), "@@ -0,0 +1,6 @@\n+one\n+two\n+three\n");
	memset(line, 'x', sizeof line);
	{
		AUTO_BUF struct buf more;

		buf_init(&more, 4096);
		assert_true(diff_lines(view_of(""), (struct view){ line, sizeof line }, &more));
		assert_true(more.len < DIFF_LINE_MAX + 80);
		for (size_t i = 0; i < sizeof line; i += 2)
			line[i] = '\t';
		assert_true(diff_lines(view_of(""), (struct view){ line, sizeof line }, &more));
	}
}

static void binary_bytes_are_no_text(void **state)
{
	assert_true(diff_is_text(VIEW("a\nü\n")));
	assert_true(diff_is_text(VIEW("")));
	assert_false(diff_is_text(VIEW("a\0b")));
	assert_false(diff_is_text(VIEW("\xff")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(diffs_are_unified),
		TEST(random_texts_are_rebuilt_from_their_diff),
		TEST(very_different_texts_are_shown_whole),
		TEST(full_buffer_ends_with_a_whole_line),
		TEST(binary_bytes_are_no_text),
	};

	return RUN_TESTS("base/diff", tests);
}
