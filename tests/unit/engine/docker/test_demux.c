/* test_demux.c - the stream of an attached container, in pieces of any size. */
#include "engine/docker/demux.h"
#include "unit/test.h"

static const char stream[] = "\1\0\0\0\0\0\0\5hello"
                             "\2\0\0\0\0\0\0\3err"
                             "\1\0\0\0\0\0\0\0"
                             "\3\0\0\0\0\0\0\2no"
                             "\1\0\0\0\0\0\0\6 world";

/* Feeds the stream in pieces of `step` bytes and collects each kind. */
static void collect(size_t step, char out[DEMUX_KIND_COUNT][32])
{
	struct demux demux = { 0 };
	struct error err;

	memset(out, 0, DEMUX_KIND_COUNT * sizeof out[0]);
	for (size_t at = 0; at < sizeof stream - 1; at += step) {
		size_t n = sizeof stream - 1 - at < step ? sizeof stream - 1 - at : step;
		struct view rest = { stream + at, n };
		struct demux_piece piece;
		int r;

		while ((r = demux_next(&demux, &rest, &piece, &err)) > 0) {
			assert_true(piece.bytes.len != 0);
			strncat(out[piece.kind], piece.bytes.ptr, piece.bytes.len);
		}
		assert_int_equal(r, 0);
		assert_int_equal(rest.len, 0);
	}
	CHECK_OK(demux_check_end(&demux, &err), err);
}

static void streams_are_told_apart_in_pieces_of_any_size(void **state)
{
	char out[DEMUX_KIND_COUNT][32];

	for (size_t step = 1; step < sizeof stream; step++) {
		collect(step, out);
		assert_string_equal(out[DEMUX_STDIN], "");
		assert_string_equal(out[DEMUX_STDOUT], "hello world");
		assert_string_equal(out[DEMUX_STDERR], "err");
		assert_string_equal(out[DEMUX_DAEMON], "no");
	}
}

static void foreign_header_is_refused(void **state)
{
	static const char *const heads[] = { "\4\0\0\0\0\0\0\1", "\1\1\0\0\0\0\0\1",
		                             "\1\0\1\0\0\0\0\1", "\1\0\0\1\0\0\0\1", "HTTP/1.1" };
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		struct demux demux = { 0 };
		struct view rest = { heads[i], 8 };
		struct demux_piece piece;

		assert_int_equal(demux_next(&demux, &rest, &piece, &err), -1);
		assert_int_equal(err.kind, ERR_SYNTAX);
	}
	CHECK_ERROR(demux_next(&(struct demux){ 0 }, &(struct view){ "HTTP/1.1", 8 },
	                       &(struct demux_piece){ 0 }, &err),
	            err, ERR_SYNTAX,
	            "Docker sent output of a container with an unknown header: 48 54 54 50");
}

static void end_within_a_piece_is_an_error(void **state)
{
	struct error err;

	for (size_t len = 0; len <= 13; len++) {
		struct demux demux = { 0 };
		struct view rest = { stream, len };
		struct demux_piece piece;

		while (demux_next(&demux, &rest, &piece, &err) > 0)
			;
		if (len == 0 || len == 13)
			CHECK_OK(demux_check_end(&demux, &err), err);
		else
			CHECK_ERROR(demux_check_end(&demux, &err), err, ERR_SYNTAX,
			            "the connection to the container ended in the middle of a "
			            "piece of output");
	}
}

/* A piece of 4 GiB takes no memory, and what has arrived is passed on. */
static void large_length_is_only_counted(void **state)
{
	struct demux demux = { 0 };
	struct view rest = VIEW("\1\0\0\0\xff\xff\xff\xff"
	                        "abc");
	struct demux_piece piece;
	struct error err;

	assert_int_equal(demux_next(&demux, &rest, &piece, &err), 1);
	CHECK_VIEW(piece.bytes, "abc");
	assert_int_equal(demux.left, 0xffffffffU - 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(streams_are_told_apart_in_pieces_of_any_size),
		TEST(foreign_header_is_refused),
		TEST(end_within_a_piece_is_an_error),
		TEST(large_length_is_only_counted),
	};

	return RUN_TESTS("demux", tests);
}
