/* Keys, history, completion and drawing of the line editor. */
#include <string.h>

#include "base/cleanup.h"
#include "cli/client/line_editor.h"
#include "unit/test.h"

static size_t complete(void *ctx, const char *line, const char *words[LINE_EDITOR_WORDS_MAX])
{
	static const char *const all[] = { "read_file", "read_line", "write_file", "path=" };
	const char *space = strrchr(line, ' '), *typed = space != NULL ? space + 1 : line;
	size_t count = 0;

	(void)ctx;
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (strncmp(all[i], typed, strlen(typed)) == 0)
			words[count++] = all[i];
	return count;
}

static enum line_event type_keys(struct line_editor *editor, const char *keys)
{
	enum line_event event = LINE_CHANGED;

	for (; *keys != '\0'; keys++)
		event = line_editor_byte(editor, *keys);
	return event;
}

static void keys_edit_the_line(void **state)
{
	static const struct {
		const char *keys, *line;
		size_t cursor;
	} cases[] = {
		{ "abc", "abc", 3 },
		{ "abc\x02X", "abXc", 3 },
		{ "abc\x01X", "Xabc", 1 },
		{ "abc\x01\x05X", "abcX", 4 },
		{ "abc\x7f", "ab", 2 },
		{ "abc\x01\x7f", "abc", 0 },
		{ "abc\x01\x04", "bc", 0 },
		{ "abc\x1b[D\x1b[3~", "ab", 2 },
		{ "abc\x1b[H\x1b[C\x1b[C\x0b", "ab", 2 },
		{ "one two  \x17", "one ", 4 },
		{ "one two\x15", "", 0 },
		{ "h\xc3\xa9\x7f", "h", 1 },
		{ "h\xc3\xa9\x02X", "hX\xc3\xa9", 2 },
		{ "a\x1b[99;99Zb", "ab", 2 },
		{ "a\x1bxb", "ab", 2 },
		{ "a\x1b[1;2;3;4;5;6mb", "ab", 2 },
		{ "wr\t", "write_file ", 11 },
		{ "call re\t", "call read_", 10 },
		{ "x p\t", "x path=", 7 },
		{ "zz\t", "zz", 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct line_editor editor;

		line_editor_init(&editor, complete, NULL);
		line_editor_begin(&editor);
		(void)type_keys(&editor, cases[i].keys);
		assert_string_equal(buf_text(&editor.line), cases[i].line);
		assert_int_equal(editor.cursor, cases[i].cursor);
		line_editor_done(&editor);
	}
}

static void events_tell_what_to_do(void **state)
{
	struct line_editor editor;

	(void)state;
	line_editor_init(&editor, complete, NULL);
	line_editor_begin(&editor);
	assert_int_equal(type_keys(&editor, "\x04"), LINE_END);
	assert_int_equal(type_keys(&editor, "ab\x03"), LINE_CANCELLED);
	assert_string_equal(buf_text(&editor.line), "");
	assert_int_equal(type_keys(&editor, "re\t"), LINE_CHANGED);
	assert_int_equal(type_keys(&editor, "\t"), LINE_CHOICES);
	assert_int_equal(editor.choice_count, 2);
	assert_int_equal(type_keys(&editor, "\x0c"), LINE_CLEAR);
	assert_int_equal(type_keys(&editor, "\r"), LINE_DONE);
	assert_string_equal(buf_text(&editor.line), "read_");
	line_editor_done(&editor);
}

static void history_returns_to_the_draft(void **state)
{
	struct line_editor editor;

	(void)state;
	line_editor_init(&editor, NULL, NULL);
	line_editor_remember(&editor, "one");
	line_editor_remember(&editor, "two");
	line_editor_remember(&editor, "two");
	line_editor_remember(&editor, "");
	assert_int_equal(editor.history_count, 2);
	line_editor_begin(&editor);
	(void)type_keys(&editor, "dra\x1b[A");
	assert_string_equal(buf_text(&editor.line), "two");
	(void)type_keys(&editor, "\x1b[A\x1b[A\x1b[A");
	assert_string_equal(buf_text(&editor.line), "one");
	(void)type_keys(&editor, "\x0e\x0e\x0e");
	assert_string_equal(buf_text(&editor.line), "dra");
	for (int i = 0; i < 2 * LINE_EDITOR_HISTORY_MAX; i++)
		line_editor_remember(&editor, i % 2 == 0 ? "a" : "b");
	assert_int_equal(editor.history_count, LINE_EDITOR_HISTORY_MAX);
	line_editor_done(&editor);
}

static void line_is_drawn_on_one_row(void **state)
{
	static const struct {
		const char *keys, *drawn;
	} cases[] = {
		{ "", "\r> \x1b[K" },
		{ "ab", "\r> ab\x1b[K" },
		{ "ab\x01", "\r> ab\x1b[K\x1b[2D" },
		{ "0123456789abcdefghij", "\r> 456789"
		                          "abcdefghij\x1b[K" },
		{ "0123456789abcdefghij\x01", "\r> 0123456789abcdefg\x1b[K\x1b[17D" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct line_editor editor;
		AUTO_BUF struct buf drawn;

		buf_init(&drawn, 1000);
		line_editor_init(&editor, NULL, NULL);
		line_editor_begin(&editor);
		(void)type_keys(&editor, cases[i].keys);
		line_editor_draw(&editor, "> ", 20, &drawn);
		assert_string_equal(buf_text(&drawn), cases[i].drawn);
		line_editor_done(&editor);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_edit_the_line),
		cmocka_unit_test(events_tell_what_to_do),
		cmocka_unit_test(history_returns_to_the_draft),
		cmocka_unit_test(line_is_drawn_on_one_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
