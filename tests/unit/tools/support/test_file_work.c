/* The parts of file_work.h that need no sandbox. */
#include "base/buf.h"
#include "tools/support/file_work.h"
#include "unit/test.h"

static void names_files_as_resources(void **state)
{
	static const char *const rows[][2] = {
		{ "a.txt", "sandbox://ID/workspace/a.txt" },
		{ "./a/b", "sandbox://ID/workspace/a/b" },
		{ "/etc/passwd", "sandbox://ID/etc/passwd" },
		{ "//tmp/x", "sandbox://ID/tmp/x" },
		{ "a b?#%", "sandbox://ID/workspace/a%20b%3F%23%25" },
		{ "h\xc3\xa9", "sandbox://ID/workspace/h%C3%A9" },
		{ "a/../b/", "sandbox://ID/workspace/b" },
		{ "n\nl", "sandbox://ID/workspace/n%0Al" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_BUF struct buf uri;
		struct error err;

		buf_init(&uri, 200);
		CHECK_OK(file_work_uri("ID", rows[i][0], &uri, &err), err);
		assert_string_equal(buf_text(&uri), rows[i][1]);
	}
}

static void shows_times_in_utc(void **state)
{
	char out[FILE_TIME_SIZE];

	(void)state;
	assert_string_equal(file_time(0, out), "1970-01-01 00:00");
	assert_string_equal(file_time(1794828300999, out), "2026-11-16 11:25");
	assert_string_equal(file_time(UINT64_MAX, out), "-");
	assert_string_equal(file_time((uint64_t)INT64_MAX, out), "292278994-08-17 07:12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_files_as_resources),
		TEST(shows_times_in_utc),
	};

	return RUN_TESTS("tools/file_work", tests);
}
