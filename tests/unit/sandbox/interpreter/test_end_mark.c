/* The mark behind the output of an execution. */
#include "sandbox/interpreter/end_mark.h"
#include "unit/test.h"

/* A mark that contains its own beginning, so that a false start may be a real one. */
static const char mark_bytes[KERNEL_MARK_LEN + 1] = "abababcabababdabababcxyz";

static void check_mark(const char *before, const char *after, size_t piece)
{
	char all[256], got[256] = "", rest[256] = "";
	size_t len = (size_t)snprintf(all, sizeof all, "%s%s%s", before, mark_bytes, after);
	struct end_mark mark;

	end_mark_init(&mark, mark_bytes);
	for (size_t at = 0; at < len; at += piece) {
		struct view bytes = { all + at, len - at < piece ? len - at : piece };
		struct view out[2];

		end_mark_search(&mark, &bytes, out);
		(void)snprintf(got + strlen(got), sizeof got - strlen(got), "%.*s%.*s",
		               (int)out[0].len, out[0].ptr, (int)out[1].len, out[1].ptr);
		(void)snprintf(rest + strlen(rest), sizeof rest - strlen(rest), "%.*s",
		               (int)bytes.len, bytes.ptr);
	}
	assert_true(mark.is_found);
	assert_string_equal(got, before);
	assert_string_equal(rest, after);
}

static void mark_is_found_wherever_the_stream_is_cut(void **state)
{
	static const char *const before[] = { "",
		                              "x",
		                              "ab",
		                              "abababcab",
		                              "abababcabababcabababd",
		                              "abababcabababdabababcxy",
		                              "hello\nworld\n",
		                              "ababababababababababababababababababc" };

	for (size_t i = 0; i < ARRAY_LEN(before); i++)
		for (size_t piece = 1; piece < 100; piece++) {
			check_mark(before[i], "", piece);
			check_mark(before[i], "behind abababc", piece);
		}
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(mark_is_found_wherever_the_stream_is_cut),
	};

	return RUN_TESTS("end mark", all);
}
