/* The parts of file_work.h that need no sandbox. */
#include "base/buf.h"
#include "tools/files/file_work.h"
#include "unit/test.h"

static void file_uri_encodes_the_path(void **state)
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

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_BUF struct buf uri;
		struct error err;

		buf_init(&uri, 200);
		CHECK_OK(file_uri("ID", rows[i][0], &uri, &err), err);
		assert_string_equal(buf_text(&uri), rows[i][1]);
	}
}

static void file_time_is_in_utc(void **state)
{
	char out[FILE_TIME_SIZE];

	assert_string_equal(file_time(0, out), "1970-01-01 00:00");
	assert_string_equal(file_time(1794828300999, out), "2026-11-16 11:25");
	assert_string_equal(file_time(UINT64_MAX, out), "-");
	assert_string_equal(file_time((uint64_t)INT64_MAX, out), "292278994-08-17 07:12");
}

static void file_memory_of_all_calls_is_bounded(void **state)
{
	size_t mine = 0, yours = 0;
	struct error err;

	CHECK_OK(file_memory_reserve(&mine, 60 << 20, &err), err);
	CHECK_ERROR(file_memory_reserve(&yours, 5 << 20, &err), err, ERR_LIMIT,
	            "too many large files at once: calls under way hold 62914560 bytes of at most "
	            "67108864, and this one needs 5242880; try again when they are done");
	CHECK_OK(file_memory_reserve(&mine, 64 << 20, &err), err); /* instead of the 60 */
	CHECK_OK(file_memory_reserve(&mine, 59 << 20, &err), err);
	CHECK_OK(file_memory_reserve(&yours, 5 << 20, &err), err);
	file_memory_release(&mine);
	file_memory_release(&mine);
	CHECK_OK(file_memory_reserve(&yours, 64 << 20, &err), err);
	file_memory_release(&yours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(file_uri_encodes_the_path),
		TEST(file_time_is_in_utc),
		TEST(file_memory_of_all_calls_is_bounded),
	};

	return RUN_TESTS("tools/file_work", tests);
}
