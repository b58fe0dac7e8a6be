#include "base/buf.h"
#include "transport/http/body.h"
#include "transport/http/head.h"
#include "unit/test.h"

static const struct body_case {
	struct view bytes;
	const char *want; /* the body, or NULL if it is malformed */
} chunked[] = {
	{ VIEW_INIT("0\r\n\r\n"), "" },
	{ VIEW_INIT("5\r\nhello\r\n0\r\n\r\n"), "hello" },
	{ VIEW_INIT("5\r\nhello\r\n6\r\n world\r\n000\r\n\r\n"), "hello world" },
	{ VIEW_INIT("a\r\n0123456789\r\n0\r\n\r\n"), "0123456789" },
	{ VIEW_INIT("A\r\n0123456789\r\n0\r\n\r\n"), "0123456789" },
	{ VIEW_INIT("00000005\r\nhello\r\n0\r\n\r\n"), "hello" },
	{ VIEW_INIT("2\r\n\r\n\r\n0\r\n\r\n"), "\r\n" },
	{ VIEW_INIT("5;a=b;c=\"d e\"\r\nhello\r\n0;last\r\n\r\n"), "hello" },
	{ VIEW_INIT("5\r\nhello\r\n0\r\nX: y\r\nEmpty:\r\n\r\n"), "hello" },
	{ VIEW_INIT("\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT(" 5\r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("5 \r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("5\t\r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("5 ;a\r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("+5\r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("-5\r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("0x5\r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("5h\r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("g\r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT(";a\r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("5\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("5\rhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("5\r\r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("5;a\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("5;a\r5\r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("5;\0\r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("5\r\nhello0\r\n\r\n"), NULL },
	{ VIEW_INIT("5\r\nhello\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("5\r\nhello\r0\r\n\r\n"), NULL },
	{ VIEW_INIT("5\r\nhelloXX0\r\n\r\n"), NULL },
	{ VIEW_INIT("5\r\nhello!\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("000000005\r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("fffffffff\r\nhello"), NULL },
	{ VIEW_INIT("10000000000000005\r\nhello\r\n0\r\n\r\n"), NULL },
	{ VIEW_INIT("0\r\n\n"), NULL },
	{ VIEW_INIT("0\n\r\n"), NULL },
	{ VIEW_INIT("0\r\nX\r\n\r\n"), NULL },
	{ VIEW_INIT("0\r\n: y\r\n\r\n"), NULL },
	{ VIEW_INIT("0\r\nX : y\r\n\r\n"), NULL },
	{ VIEW_INIT("0\r\n X: y\r\n\r\n"), NULL },
	{ VIEW_INIT("0\r\nX: y\n\r\n"), NULL },
	{ VIEW_INIT("0\r\nX: \0\r\n\r\n"), NULL },
	{ VIEW_INIT("0\r\n\rX"), NULL },
};

/* Reads a body in pieces. Returns the result of the last call; *rest is what follows. */
static enum body_result read_in_pieces(const struct head *head, struct view bytes, size_t piece,
                                       struct buf *ret, struct view *rest)
{
	struct body_reader reader;
	enum body_result result = BODY_MORE;
	struct error err;

	body_init(&reader, head);
	*rest = bytes;
	while (result != BODY_DONE && result != BODY_BAD) {
		struct view part = { rest->ptr, piece < rest->len ? piece : rest->len };
		size_t before = part.len;
		struct view data;

		result = body_next(&reader, &part, &data);
		if (result == BODY_DATA)
			CHECK_OK(buf_add(ret, data, &err), err);
		rest->ptr += before - part.len;
		rest->len -= before - part.len;
		if (result == BODY_MORE && rest->len == 0)
			break;
	}
	return result;
}

static void chunks_do_not_depend_on_the_pieces(void **state)
{
	static const struct head head = { .is_chunked = true };

	for (size_t i = 0; i < ARRAY_LEN(chunked); i++)
		for (size_t piece = 1; piece <= chunked[i].bytes.len; piece++) {
			AUTO_BUF struct buf got;
			enum body_result result;
			struct view rest;

			buf_init(&got, 1000);
			result = read_in_pieces(&head, chunked[i].bytes, piece, &got, &rest);
			if (result != (chunked[i].want != NULL ? BODY_DONE : BODY_BAD))
				fail_msg("case %zu in pieces of %zu: %d", i, piece, (int)result);
			if (chunked[i].want == NULL)
				continue;
			assert_string_equal(buf_text(&got), chunked[i].want);
			assert_int_equal(rest.len, 0);
		}
}

static void bytes_after_the_body_are_left(void **state)
{
	static const struct {
		struct head head;
		const char *bytes;
	} bodies[] = {
		{ { .is_chunked = true }, "5\r\nhello\r\n0\r\n\r\nGET /next" },
		{ { .length = 5 }, "helloGET /next" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		AUTO_BUF struct buf got;
		struct view rest;

		buf_init(&got, 1000);
		assert_int_equal(
		        read_in_pieces(&bodies[i].head, view_of(bodies[i].bytes), 100, &got, &rest),
		        BODY_DONE);
		assert_string_equal(buf_text(&got), "hello");
		CHECK_VIEW(rest, "GET /next");
	}
}

static void incomplete_bodies_need_more(void **state)
{
	static const struct {
		struct head head;
		const char *bytes;
	} bodies[] = {
		{ { .is_chunked = true }, "" },
		{ { .is_chunked = true }, "5\r\nhel" },
		{ { .is_chunked = true }, "0\r\n" },
		{ { .is_chunked = true }, "0\r\nX: y\r\n" },
		{ { .is_chunked = true }, "ffffffff\r\nx" },
		{ { .length = 5 }, "hell" },
		{ { .length = 1 }, "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		AUTO_BUF struct buf got;
		struct view rest;

		buf_init(&got, 1000);
		assert_int_equal(
		        read_in_pieces(&bodies[i].head, view_of(bodies[i].bytes), 1, &got, &rest),
		        BODY_MORE);
	}
}

static void request_without_a_length_has_no_body(void **state)
{
	static const struct head head = { 0 };
	AUTO_BUF struct buf got;
	struct view rest;

	buf_init(&got, 10);
	assert_int_equal(read_in_pieces(&head, view_of("GET /"), 5, &got, &rest), BODY_DONE);
	CHECK_VIEW(rest, "GET /");
}

/* Extensions and trailers together are limited, in one line and in many. */
static void endless_extensions_and_trailers_are_rejected(void **state)
{
	static const struct {
		const char *start, *again;
	} bodies[] = {
		{ "5;", "x" },      { "", "1;ext\r\nx\r\n" }, { "0\r\n", "a" },
		{ "0\r\na:", "b" }, { "0\r\n", "a: b\r\n" },
	};
	static const struct head head = { .is_chunked = true };

	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		struct body_reader reader;
		enum body_result result = BODY_MORE;
		struct view bytes = view_of(bodies[i].start), data;
		size_t sent = 0;

		body_init(&reader, &head);
		while (result != BODY_BAD) {
			if (bytes.len == 0)
				bytes = view_of(bodies[i].again);
			sent += bytes.len;
			result = body_next(&reader, &bytes, &data);
			sent -= bytes.len;
			assert_true(sent < 100 * 1024);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(chunks_do_not_depend_on_the_pieces),
		TEST(bytes_after_the_body_are_left),
		TEST(incomplete_bodies_need_more),
		TEST(request_without_a_length_has_no_body),
		TEST(endless_extensions_and_trailers_are_rejected),
	};

	return RUN_TESTS("http body", tests);
}
