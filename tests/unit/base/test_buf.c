#include "base/buf.h"
#include "unit/test.h"

static void empty_buffer_is_an_empty_string(void **state)
{
	AUTO_BUF struct buf buf;

	buf_init(&buf, 10);
	assert_string_equal(buf_text(&buf), "");
	assert_int_equal(buf_view(&buf).len, 0);
	buf_clear(&buf);
	assert_string_equal(buf_text(&buf), "");
}

static void appended_text_is_terminated(void **state)
{
	AUTO_BUF struct buf buf;
	struct error err;

	buf_init(&buf, 100);
	CHECK_OK(buf_add(&buf, view_of("one"), &err), err);
	CHECK_OK(buf_add(&buf, view_of(""), &err), err);
	CHECK_OK(buf_add(&buf, (struct view){ 0 }, &err), err);
	CHECK_OK(buf_printf(&buf, &err, "-%s-%d", "two", 3), err);
	CHECK_OK(buf_printf(&buf, &err, "%s", ""), err);
	assert_string_equal(buf_text(&buf), "one-two-3");
	assert_int_equal(buf.len, 9);
	CHECK_VIEW(buf_view(&buf), "one-two-3");
}

static void buffer_holds_nul_bytes(void **state)
{
	AUTO_BUF struct buf buf;
	struct error err;

	buf_init(&buf, 10);
	CHECK_OK(buf_add(&buf, VIEW("a\0b\0"), &err), err);
	assert_int_equal(buf.len, 4);
	assert_memory_equal(buf.ptr, "a\0b\0", 5); /* and the terminator */
}

static void append_past_the_maximum_fails_without_effect(void **state)
{
	static const struct {
		size_t max;
		const char *first, *second, *why; /* why NULL: fits */
	} cases[] = {
		{ 5, "12345", "", NULL },
		{ 5, "1234", "5", NULL },
		{ 5, "1234", "56", "more than 5 bytes" },
		{ 5, "12345", "6", "more than 5 bytes" },
		{ 5, "", "123456", "more than 5 bytes" },
		{ 1, "", "1", NULL },
		{ 1, "", "12", "more than 1 bytes" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf added, printed;
		struct error err;

		buf_init(&added, cases[i].max);
		buf_init(&printed, cases[i].max);
		CHECK_OK(buf_add(&added, view_of(cases[i].first), &err), err);
		CHECK_OK(buf_printf(&printed, &err, "%s", cases[i].first), err);
		if (cases[i].why == NULL) {
			CHECK_OK(buf_add(&added, view_of(cases[i].second), &err), err);
			CHECK_OK(buf_printf(&printed, &err, "%s", cases[i].second), err);
			continue;
		}
		CHECK_ERROR(buf_add(&added, view_of(cases[i].second), &err), err, ERR_LIMIT,
		            cases[i].why);
		CHECK_ERROR(buf_printf(&printed, &err, "%s", cases[i].second), err, ERR_LIMIT,
		            cases[i].why);
		assert_string_equal(buf_text(&added), cases[i].first);
		assert_string_equal(buf_text(&printed), cases[i].first);
	}
}

static void buffer_never_allocates_more_than_its_maximum(void **state)
{
	static const size_t steps[] = { 1, 7, 255, 256, 257, 1000 };

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		AUTO_BUF struct buf buf;
		struct error err;
		char piece[1000];

		memset(piece, 'x', sizeof piece);
		buf_init(&buf, 3000);
		while (buf.len + steps[i] <= buf.max) {
			CHECK_OK(buf_add(&buf, (struct view){ piece, steps[i] }, &err), err);
			assert_true(buf.cap <= buf.max + 1);
			assert_int_equal(strlen(buf_text(&buf)), buf.len);
		}
		CHECK_ERROR(buf_add(&buf, (struct view){ piece, steps[i] }, &err), err, ERR_LIMIT,
		            "more than 3000 bytes");
	}
}

static void init_without_maximum(void)
{
	struct buf buf;

	buf_init(&buf, 0);
}

static void init_without_maximum_aborts(void **state)
{
	char output[4096];

	assert_non_null(
	        strstr(must_abort(init_without_maximum, output, sizeof output), "max != 0"));
}

static void clear_keeps_small_and_frees_large_memory(void **state)
{
	AUTO_BUF struct buf buf;
	struct error err;

	buf_init(&buf, 1000000);
	CHECK_OK(buf_printf(&buf, &err, "%1000d", 1), err);
	buf_clear(&buf);
	assert_int_equal(buf.len, 0);
	assert_true(buf.cap >= 1000);
	assert_string_equal(buf_text(&buf), "");
	CHECK_OK(buf_printf(&buf, &err, "%100000d", 1), err);
	buf_clear(&buf);
	assert_int_equal(buf.len, 0);
	assert_int_equal(buf.cap, 0);
	assert_int_equal(buf.max, 1000000);
	CHECK_OK(buf_add(&buf, view_of("again"), &err), err);
	assert_string_equal(buf_text(&buf), "again");
}

static void buffer_is_usable_after_done(void **state)
{
	AUTO_BUF struct buf buf;
	struct error err;

	buf_init(&buf, 3);
	CHECK_OK(buf_add(&buf, view_of("abc"), &err), err);
	buf_done(&buf);
	assert_string_equal(buf_text(&buf), "");
	CHECK_OK(buf_add(&buf, view_of("xyz"), &err), err);
	CHECK_ERROR(buf_add(&buf, view_of("!"), &err), err, ERR_LIMIT, "more than 3 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(empty_buffer_is_an_empty_string),
		TEST(appended_text_is_terminated),
		TEST(buffer_holds_nul_bytes),
		TEST(append_past_the_maximum_fails_without_effect),
		TEST(buffer_never_allocates_more_than_its_maximum),
		TEST(init_without_maximum_aborts),
		TEST(clear_keeps_small_and_frees_large_memory),
		TEST(buffer_is_usable_after_done),
	};

	return RUN_TESTS("base/buf", tests);
}
