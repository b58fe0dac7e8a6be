/* Output in memory: beginning and end of a stream, the log of both streams, displays. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "sandbox/interpreter/kernel_wire.h"
#include "sandbox/process/capture.h"
#include "sandbox/process/displays.h"
#include "sandbox/process/output_log.h"
#include "unit/test.h"

/* --- beginning and end ------------------------------------------------------------------------ */

static char byte_at(size_t i)
{
	return (char)('a' + i * 7 % 26);
}

static void check_capture(size_t head, size_t tail, size_t total, size_t piece)
{
	char *all = mem_new(total + 1);
	struct capture capture;
	struct view got;

	capture_init(&capture, head, tail);
	for (size_t i = 0; i < total; i++)
		all[i] = byte_at(i);
	for (size_t at = 0; at < total; at += piece) {
		size_t len = total - at < piece ? total - at : piece;

		assert_int_equal(capture_would_lose(&capture, len), at + len > head + tail);
		capture_add(&capture, (struct view){ all + at, len });
		if (at % 3 == 0)
			(void)capture_tail(&capture); /* rotating the ring changes nothing */
	}
	assert_int_equal(capture.total, total);
	got = capture_head(&capture);
	assert_int_equal(got.len, total < head ? total : head);
	assert_memory_equal(got.ptr, all, got.len);
	got = capture_tail(&capture);
	assert_int_equal(got.len, total <= head ? 0 : total - head < tail ? total - head : tail);
	assert_memory_equal(got.ptr, all + total - got.len, got.len);
	assert_int_equal(capture_left_out(&capture), total > head + tail ? total - head - tail : 0);
	capture_done(&capture);
	free(all);
}

static void head_and_tail_are_exact(void **state)
{
	static const size_t totals[] = { 0, 1, 9, 10, 11, 15, 16, 17, 18, 30, 1000, 5000 };
	static const size_t pieces[] = { 1, 2, 3, 5, 7, 16, 17, 4096, 10000 };

	for (size_t i = 0; i < ARRAY_LEN(totals); i++)
		for (size_t j = 0; j < ARRAY_LEN(pieces); j++) {
			check_capture(10, 6, totals[i], pieces[j]);
			check_capture(10, 0, totals[i], pieces[j]);
			check_capture(5000, 5000, 3 * totals[i], pieces[j]);
		}
}

static const char *last_line(const char *text, size_t size)
{
	static char line[64];
	struct capture capture;

	capture_init(&capture, 16, 16);
	capture_add(&capture, view_of(text));
	assert_ptr_equal(capture_last_line(&capture, line, size), line);
	capture_done(&capture);
	return line;
}

static void last_line_is_found(void **state)
{
	assert_string_equal(last_line("", 64), "");
	assert_string_equal(last_line("\n\n", 64), "");
	assert_string_equal(last_line("one\ntwo", 64), "two");
	assert_string_equal(last_line("one\ntwo\n \n", 64), "two");
	assert_string_equal(last_line("10%\r50%\r", 64), "50%");
	assert_string_equal(last_line("\033[1mbold\033[0m\n", 64), "bold");
	assert_string_equal(last_line("a long line that has its end in the tail only\nlast", 64),
	                    "last");
	assert_string_equal(last_line("a\tb\xff", 64), "a\\tb\\xff");
	assert_string_equal(last_line("0123456789abc", 8), "0123...");
}

/* --- the log ---------------------------------------------------------------------------------- */

static void check_log(const struct output_log *log, uint64_t since, size_t max, const char *out,
                      const char *errors, uint64_t want_next, uint64_t want_lost)
{
	char one[256], two[256];
	struct buf a = buf_fixed(one, sizeof one), b = buf_fixed(two, sizeof two);
	uint64_t next = 1234, lost = 1234;

	one[0] = two[0] = '\0';
	output_log_read(log, since, max, &a, &b, &next, &lost);
	assert_string_equal(buf_text(&a), out);
	assert_string_equal(buf_text(&b), errors);
	assert_int_equal(next, want_next);
	assert_int_equal(lost, want_lost);
}

static void log_has_both_streams_in_order(void **state)
{
	struct output_log log;

	output_log_init(&log, 10);
	output_log_add(&log, false, VIEW("not kept"));
	check_log(&log, 0, 100, "", "", 8, 8);
	output_log_open(&log);
	check_log(&log, 8, 100, "", "", 8, 0);
	output_log_add(&log, false, VIEW("abc"));
	output_log_add(&log, true, VIEW("DE"));
	output_log_add(&log, false, VIEW("fgh"));
	check_log(&log, 8, 100, "abcfgh", "DE", 16, 0);
	check_log(&log, 8, 4, "abc", "D", 12, 0);
	check_log(&log, 12, 100, "fgh", "E", 16, 0);
	check_log(&log, 8, 0, "", "", 8, 0);
	output_log_add(&log, true, VIEW("IJKL")); /* 12: two are lost */
	check_log(&log, 8, 100, "cfgh", "DEIJKL", 20, 2);
	output_log_add(&log, false, VIEW("0123456789ABCDEF"));
	check_log(&log, 20, 100, "6789ABCDEF", "", 36, 6);
	output_log_done(&log);
}

static void log_of_alternating_streams_is_bounded(void **state)
{
	struct output_log log;
	char out[9000], errors[9000];
	struct buf a = buf_fixed(out, sizeof out), b = buf_fixed(errors, sizeof errors);
	uint64_t next, lost;

	output_log_init(&log, 100000);
	output_log_open(&log);
	for (int i = 0; i < 20000; i++)
		output_log_add(&log, i % 2, VIEW("x"));
	output_log_read(&log, 0, 100000, &a, &b, &next, &lost);
	assert_int_equal(next, 20000);
	assert_int_equal(lost, 20000 - 4096);
	assert_int_equal(a.len, 2048);
	assert_int_equal(b.len, 2048);
	output_log_done(&log);
}

/* --- displays --------------------------------------------------------------------------------- */

static void add_display(struct displays *displays, const char *mime, struct view text,
                        const char *path)
{
	struct kernel_message message = { .type = KERNEL_SHOWN };

	message.shown.mime = view_of(mime);
	message.shown.text = text;
	message.shown.path = view_of(path);
	displays_add(displays, &message);
}

static void displays_are_bounded(void **state)
{
	static struct displays displays;
	size_t len = 65536 + 10;
	char *big = mem_new(len);

	memset(big, 'x', len);
	add_display(&displays, "text/html", VIEW("<b>"), "");
	add_display(&displays, "image/png", VIEW(""), "/workspace/.belljar/a.png");
	add_display(&displays, "image/png", VIEW(""), "relative.png");
	add_display(&displays, "image/png", VIEW(""), "/with\nnewline");
	add_display(&displays, "bad mime", VIEW("x"), "");
	assert_int_equal(displays.count, 2);
	assert_string_equal(displays.items[0].text, "<b>");
	assert_string_equal(displays.items[1].path, "/workspace/.belljar/a.png");
	add_display(&displays, "text/plain", (struct view){ big, len }, "");
	assert_int_equal(displays.count, 3);
	assert_true(displays.items[2].text_len <= 65536);
	assert_non_null(strstr(displays.items[2].text, "\n[... left out ...]\n"));
	add_display(&displays, "text/plain", VIEW("a\xff\0b"), "");
	assert_string_equal(displays.items[3].text, "a??b");
	add_display(&displays, "text/html", (struct view){ big, len },
	            ""); /* a part of a table is of no use */
	assert_int_equal(displays.count, 5);
	assert_non_null(strstr(displays.items[4].text, "[1 more things were shown"));
	for (int i = 0; i < 1000; i++)
		add_display(&displays, "text/plain", VIEW("flood"), "");
	assert_int_equal(displays.count, 5);
	assert_non_null(strstr(displays.items[4].text, "[1001 more things were shown"));
	displays_done(&displays);
	for (int i = 0; i < 1000; i++)
		add_display(&displays, "text/plain", VIEW("x"), "");
	assert_int_equal(displays.count, PROCESS_DISPLAYS_MAX);
	assert_non_null(strstr(displays.items[PROCESS_DISPLAYS_MAX - 1].text, "[969 more"));
	displays_done(&displays);
	for (int i = 0; i < 10; i++)
		add_display(&displays, "application/json", (struct view){ big, 65536 }, "");
	assert_int_equal(displays.count, 5);
	displays_done(&displays);
	free(big);
}

static void add_named(struct displays *displays, const char *text, const char *id)
{
	struct kernel_message message = { .type = KERNEL_SHOWN };

	message.shown.mime = view_of("text/plain");
	message.shown.text = view_of(text);
	message.shown.id = view_of(id);
	displays_add(displays, &message);
}

static void clear_displays(struct displays *displays, const char *id)
{
	struct kernel_message message = { .type = KERNEL_CLEARED };

	message.cleared.id = view_of(id);
	displays_add(displays, &message);
}

static void update_takes_the_place_of_its_display(void **state)
{
	static struct displays displays;

	add_named(&displays, "one", "a");
	add_named(&displays, "two", "");
	displays.items[0].number = 7;
	displays.items[1].number = 8;
	clear_displays(&displays, "a");
	add_named(&displays, "ONE", "a");
	assert_int_equal(displays.count, 2);
	assert_string_equal(displays.items[0].text, "ONE");
	assert_int_equal(displays.items[0].number, 7);
	assert_string_equal(displays.items[1].text, "two");
	assert_int_equal(displays.items[1].number, 8);
	clear_displays(&displays, "a");
	add_named(&displays, "other", "");
	add_named(&displays, "late", "a");
	assert_string_equal(displays.items[0].text, "two");
	assert_string_equal(displays.items[2].text, "late");
	assert_int_equal(displays.items[2].number, 0);
	displays_done(&displays);
}

static void displays_are_cleared(void **state)
{
	static struct displays displays;

	add_named(&displays, "one", "");
	add_named(&displays, "two", "a");
	add_named(&displays, "three", "b");
	clear_displays(&displays, "c");
	assert_int_equal(displays.count, 3);
	clear_displays(&displays, "a");
	assert_int_equal(displays.count, 2);
	assert_string_equal(displays.items[1].text, "three");
	assert_int_equal(displays.bytes, 8);
	for (int i = 0; i < 1000; i++)
		add_named(&displays, "x", "x");
	assert_int_equal(displays.count, PROCESS_DISPLAYS_MAX);
	clear_displays(&displays, "x");
	assert_int_equal(displays.count, 3); /* the note about those that were left out stays */
	assert_int_equal(displays.bytes, 8);
	clear_displays(&displays, "");
	assert_int_equal(displays.count, 0);
	assert_int_equal(displays.left_out, 0);
	add_named(&displays, "new", "");
	assert_int_equal(displays.count, 1);
	displays_done(&displays);
}

static void cut_text_has_complete_characters(void **state)
{
	char text[300];

	for (size_t at = 0; at < 4; at++) {
		char *cut;

		memset(text, 'x', sizeof text);
		for (size_t i = at; i + 2 < sizeof text; i += 2)
			memcpy(text + i, "\xc3\xa4", 2);
		cut = displays_copy_text((struct view){ text, sizeof text - 1 }, 100);
		assert_true(strlen(cut) <= 100);
		assert_true(utf8_is_valid(view_of(cut)));
		assert_non_null(strstr(cut, "[... left out ...]"));
		free(cut);
	}
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(head_and_tail_are_exact),       TEST(last_line_is_found),
		TEST(log_has_both_streams_in_order), TEST(log_of_alternating_streams_is_bounded),
		TEST(displays_are_bounded),          TEST(update_takes_the_place_of_its_display),
		TEST(displays_are_cleared),          TEST(cut_text_has_complete_characters),
	};

	return RUN_TESTS("capture", all);
}
