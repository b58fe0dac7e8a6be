#include "base/buf.h"
#include "transport/line_reader.h"
#include "unit/test.h"

/* Appends each line and "|" to the buffer, and for a line that is too long "!", its first and last
 * byte, and "|". */
static void on_line(void *ctx, struct view line)
{
	struct error err;

	CHECK_OK(buf_add(ctx, line, &err), err);
	CHECK_OK(buf_add(ctx, view_of("|"), &err), err);
}

static void on_too_long(void *ctx, struct view first, struct view last)
{
	struct error err;

	assert_true(first.len != 0 && last.len != 0);
	CHECK_OK(buf_printf(ctx, &err, "!%c%c|", first.ptr[0], last.ptr[last.len - 1]), err);
}

static const struct line_reader_events events = { on_line, on_too_long };

static const struct {
	struct view bytes;
	const char *want;
} cases[] = {
	{ VIEW_INIT("a\nb\n"), "a|b|" },
	{ VIEW_INIT("a\r\nb\r\n"), "a|b|" },
	{ VIEW_INIT("a"), "a|" },
	{ VIEW_INIT(""), "" },
	{ VIEW_INIT("\n\r\n \n\t\na\n"), "a|" },
	{ VIEW_INIT("\xef\xbb\xbf{}\n"), "{}|" },
	{ VIEW_INIT("  a b  \n"), "a b|" },
	{ VIEW_INIT("12345678\n"), "12345678|" },
	{ VIEW_INIT("123456789\nok\n"), "!19|ok|" },
	{ VIEW_INIT("123456789"), "!19|" },
	{ VIEW_INIT("123456789012345678901234567890\n1\n"), "!10|1|" },
	{ VIEW_INIT("123456789\n123456789\n"), "!19|!19|" },
};

static void lines_do_not_depend_on_the_pieces(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t piece = 1; piece <= cases[i].bytes.len + 1; piece++) {
			AUTO_BUF struct buf seen;
			struct line_reader reader;

			buf_init(&seen, 1000);
			line_reader_init(&reader, 8, &events, &seen);
			for (size_t at = 0; at < cases[i].bytes.len; at += piece) {
				size_t left = cases[i].bytes.len - at;

				line_reader_feed(&reader,
				                 (struct view){ cases[i].bytes.ptr + at,
				                                left < piece ? left : piece });
			}
			line_reader_end(&reader);
			assert_string_equal(buf_text(&seen), cases[i].want);
			line_reader_done(&reader);
		}
	}
}

static void endless_line_takes_at_most_the_maximum(void **state)
{
	static char chunk[64 * 1024];
	AUTO_BUF struct buf seen;
	struct line_reader reader;

	memset(chunk, 'x', sizeof chunk);
	buf_init(&seen, 1000);
	line_reader_init(&reader, 1024 * 1024, &events, &seen);
	for (int i = 0; i < 1000; i++) {
		line_reader_feed(&reader, (struct view){ chunk, sizeof chunk });
		assert_true(reader.partial.cap <= 1024 * 1024 + 8);
	}
	assert_int_equal(reader.partial.cap, 0);
	line_reader_feed(&reader, VIEW("y\nnext\n"));
	assert_string_equal(buf_text(&seen), "!xy|next|");
	line_reader_done(&reader);
}

struct pausing {
	struct line_reader reader;
	struct buf seen;
};

static void on_pausing_line(void *ctx, struct view line)
{
	struct pausing *p = ctx;

	on_line(&p->seen, line);
	line_reader_pause(&p->reader);
}

static const struct line_reader_events pausing_events = { on_pausing_line, on_too_long };

static void paused_reader_holds_the_rest(void **state)
{
	struct pausing p;

	buf_init(&p.seen, 1000);
	line_reader_init(&p.reader, 8, &pausing_events, &p);
	line_reader_feed(&p.reader, VIEW("a\nb\nc"));
	assert_string_equal(buf_text(&p.seen), "a|");
	line_reader_resume(&p.reader);
	assert_string_equal(buf_text(&p.seen), "a|b|");
	line_reader_resume(&p.reader);
	assert_false(p.reader.paused);
	line_reader_feed(&p.reader, VIEW("d\n"));
	assert_string_equal(buf_text(&p.seen), "a|b|cd|");
	line_reader_done(&p.reader);
	buf_done(&p.seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_do_not_depend_on_the_pieces),
		TEST(endless_line_takes_at_most_the_maximum),
		TEST(paused_reader_holds_the_rest),
	};

	return RUN_TESTS("transport/line", tests);
}
