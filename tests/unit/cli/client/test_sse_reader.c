#include "cli/client/sse_reader.h"

#include "base/error.h"
#include "unit/test.h"

enum { MAX = 64 };

static void events_become_lines(void **state)
{
	static const struct {
		const char *text, *lines, *last_id;
		unsigned retry_ms;
	} cases[] = {
		{ "", "", "", 0 },
		{ "data: {\"a\":1}\n\n", "{\"a\":1}\n", "", 0 },
		{ "id: 3-0\nretry: 1000\ndata: \n\n", "", "3-0", 1000 },
		{ "id: 3-1\nevent: message\ndata: {}\n\nid: 3-2\ndata:[]\n\n", "{}\n[]\n", "3-2",
		  0 },
		{ "data: {\"a\":\ndata: 1}\n\n", "{\"a\": 1}\n", "", 0 },
		{ "data: {}\r\n\r\ndata: []\r\rdata: 1\n\r\n", "{}\n[]\n1\n", "", 0 },
		{ ": keep-alive\n\nunknown\nname: x\n\n", "", "", 0 },
		{ "data: {}\n", "", "", 0 },
		{ "retry: 99999999999999999999\n\n", "", "", SSE_RETRY_MAX_MS },
		{ "retry: 5x\nretry\n\n", "", "", 0 },
		{ "id: a\nid\n\n", "", "a", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t piece = 1; piece < 9; piece++) {
			struct view rest = view_of(cases[i].text);
			AUTO_BUF struct buf lines;
			struct sse_reader reader;
			struct error err;

			buf_init(&lines, 1024);
			sse_reader_init(&reader, MAX);
			while (rest.len != 0) {
				size_t len = piece < rest.len ? piece : rest.len;

				CHECK_OK(sse_reader_feed(&reader, (struct view){ rest.ptr, len },
				                         &lines, &err),
				         err);
				rest = (struct view){ rest.ptr + len, rest.len - len };
			}
			assert_string_equal(buf_text(&lines), cases[i].lines);
			assert_string_equal(reader.last_id, cases[i].last_id);
			assert_int_equal(reader.retry_ms, cases[i].retry_ms);
			sse_reader_done(&reader);
		}
	}
}

static void long_lines_and_events_are_refused(void **state)
{
	static const char *const texts[] = {
		"data: 0123456789012345678901234567890123456789012345678901234567890123456789",
		"data: 0123456789012345678901234567890123456789\n"
		"data: 0123456789012345678901234567890123456789\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		AUTO_BUF struct buf lines;
		struct sse_reader reader;
		struct error err;

		buf_init(&lines, 1024);
		sse_reader_init(&reader, MAX);
		assert_int_equal(sse_reader_feed(&reader, view_of(texts[i]), &lines, &err), -1);
		assert_non_null(strstr(err.msg, "event of the server: "));
		sse_reader_done(&reader);
	}
}

static void restart_drops_an_incomplete_event(void **state)
{
	AUTO_BUF struct buf lines;
	struct sse_reader reader;
	struct error err;

	buf_init(&lines, 1024);
	sse_reader_init(&reader, MAX);
	CHECK_OK(sse_reader_feed(&reader, view_of("id: 7\ndata: cut\nda"), &lines, &err), err);
	sse_reader_restart(&reader);
	CHECK_OK(sse_reader_feed(&reader, view_of("data: whole\n\n"), &lines, &err), err);
	assert_string_equal(buf_text(&lines), "whole\n");
	assert_string_equal(reader.last_id, "7");
	sse_reader_done(&reader);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(events_become_lines),
		cmocka_unit_test(long_lines_and_events_are_refused),
		cmocka_unit_test(restart_drops_an_incomplete_event),
	};

	return RUN_TESTS("sse_reader", all);
}
