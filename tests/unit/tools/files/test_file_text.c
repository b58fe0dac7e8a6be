#include "base/buf.h"
#include "tools/files/file_text.h"
#include "unit/test.h"

static void file_picture_knows_the_first_bytes(void **state)
{
	static const struct {
		struct view head;
		const char *want;
	} rows[] = {
		{ VIEW_INIT("\x89PNG\r\n\x1a\nrest"), "image/png" },
		{ VIEW_INIT("\xff\xd8\xff\xe0"), "image/jpeg" },
		{ VIEW_INIT("GIF87a"), "image/gif" },
		{ VIEW_INIT("GIF89a..."), "image/gif" },
		{ VIEW_INIT("RIFF\0\0\0\0WEBPVP8 "), "image/webp" },
		{ VIEW_INIT("RIFF\0\0\0\0WAVE"), NULL },
		{ VIEW_INIT("RIFF\0\0\0\0WEB"), NULL },
		{ VIEW_INIT("\x89PNG\r\n\x1a"), NULL },
		{ VIEW_INIT(""), NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *got = file_picture(rows[i].head);

		if (rows[i].want == NULL)
			assert_null(got);
		else
			assert_string_equal(got, rows[i].want);
	}
}

static void file_mime_type_looks_at_name_and_bytes(void **state)
{
	assert_string_equal(file_mime_type("/a/b.MD", VIEW("x")), "text/markdown");
	assert_string_equal(file_mime_type("a.json", VIEW("{}")), "application/json");
	assert_string_equal(file_mime_type("a.json", VIEW("\x00")), "application/octet-stream");
	assert_string_equal(file_mime_type("a", VIEW("x")), "text/plain");
	assert_string_equal(file_mime_type("a.txt", VIEW("GIF89a")), "image/gif");
	assert_string_equal(file_mime_type("a.pdf", VIEW("%PDF-1.7\n\xff\x00")), "application/pdf");
}

static void file_is_text_accepts_utf8_without_nul(void **state)
{
	static const struct {
		struct view bytes;
		bool is_cut, is_text;
		size_t len;
	} rows[] = {
		{ VIEW_INIT(""), false, true, 0 },
		{ VIEW_INIT("h\xc3\xa9"), false, true, 3 },
		{ VIEW_INIT("h\xc3"), false, false, 2 },
		{ VIEW_INIT("h\xc3"), true, true, 1 },
		{ VIEW_INIT("h\xff"), true, true, 1 }, /* may be the start of a character */
		{ VIEW_INIT("\xff"
		            "hh"),
		  true, false, 3 },
		{ VIEW_INIT("a\0b"), false, false, 3 },
		{ VIEW_INIT("\x1b[0m"), false, true, 4 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct view bytes = rows[i].bytes;

		assert_int_equal(file_is_text(&bytes, rows[i].is_cut), rows[i].is_text);
		assert_int_equal(bytes.len, rows[i].len);
	}
}

static void file_lines_show_fits_whole_lines(void **state)
{
	static const struct {
		const char *text;
		bool is_open, numbers;
		size_t room;
		const char *want;
		struct file_lines lines;
	} rows[] = {
		{ "a\nb\n", false, false, 100, "a\nb\n", { 2, false, false } },
		{ "a\nb", false, true, 100, "     7\ta\n     8\tb", { 2, false, false } },
		{ "a\r\n\r\n", false, true, 100, "     7\ta\r\n     8\t\r\n", { 2, false, false } },
		{ "", false, true, 100, "", { 0, false, false } },
		{ "aa\nbb\ncc\n", false, false, 6, "aa\nbb\n", { 2, true, false } },
		{ "aa\nbb\ncc\n", false, false, 8, "aa\nbb\n", { 2, true, false } },
		{ "aa\nbb\n", false, true, 15, "     7\taa\n", { 1, true, false } },
		/* The last line goes on behind the text. */
		{ "aa\nbb", true, false, 5, "aa\n", { 1, true, false } },
		{ "aabb", true, false, 4, "aabb", { 1, true, true } },
		{ "aabb", true, true, 9, "     7\taa", { 1, true, true } },
		{ "aabb\nc\n", false, false, 3, "aab", { 1, true, true } },
		{ "a\xc3\xa9\n", false, false, 2, "a", { 1, true, true } },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct file_lines got;
		AUTO_BUF struct buf out;

		buf_init(&out, rows[i].room);
		file_lines_show(view_of(rows[i].text), rows[i].is_open, 7, rows[i].numbers, &out,
		                &got);
		assert_string_equal(buf_text(&out), rows[i].want);
		assert_int_equal(got.count, rows[i].lines.count);
		assert_int_equal(got.is_full, rows[i].lines.is_full);
		assert_int_equal(got.is_cut, rows[i].lines.is_cut);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(file_picture_knows_the_first_bytes),
		TEST(file_mime_type_looks_at_name_and_bytes),
		TEST(file_is_text_accepts_utf8_without_nul),
		TEST(file_lines_show_fits_whole_lines),
	};

	return RUN_TESTS("tools/file_text", tests);
}
