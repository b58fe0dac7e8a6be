#include "base/cleanup.h"
#include "base/mem.h"
#include "unit/test.h"

/* By default ASan ends the process on an impossible size instead of returning NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static bool is_zero(const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

static void new_memory_is_zeroed(void **state)
{
	for (int round = 0; round < 8; round++) {
		AUTO_FREE unsigned char *one = mem_new(300);
		AUTO_FREE unsigned char *many = mem_array(30, 10);

		assert_true(is_zero(one, 300));
		assert_true(is_zero(many, 300));
		memset(one, 0xff, 300); /* so that reused memory is not zero */
		memset(many, 0xff, 300);
	}
}

static void size_zero_gives_a_pointer(void **state)
{
	AUTO_FREE void *none = mem_new(0);
	AUTO_FREE void *no_rows = mem_array(0, 8);
	AUTO_FREE void *no_columns = mem_array(8, 0);
	AUTO_FREE void *shrunk = mem_resize(mem_new(8), 0);

	assert_non_null(none);
	assert_non_null(no_rows);
	assert_non_null(no_columns);
	assert_non_null(shrunk);
}

static void resize_keeps_the_contents(void **state)
{
	AUTO_FREE char *text = mem_resize(NULL, 4);

	memcpy(text, "abc", 4);
	text = mem_resize(text, 100000);
	assert_string_equal(text, "abc");
}

static void dup_copies_and_terminates(void **state)
{
	char source[] = "hello";
	AUTO_FREE char *whole = mem_dup(source);
	AUTO_FREE char *part = mem_dup_len(source, 3);
	AUTO_FREE char *empty = mem_dup_len(NULL, 0);

	source[0] = 'X';
	assert_string_equal(whole, "hello");
	assert_string_equal(part, "hel");
	assert_string_equal(empty, "");
}

static void format_makes_text_of_any_length(void **state)
{
	AUTO_FREE char *text = mem_format("%s-%d-%2000d", "a", 5, 7);

	assert_int_equal(strlen(text), 4 + 2000);
	assert_memory_equal(text, "a-5- ", 5);
	assert_int_equal(text[2003], '7');
}

static void allocate_overflowing_array(void)
{
	volatile size_t count = SIZE_MAX / 2;

	free(mem_array(count, 4));
}

static void resize_to_half_of_the_address_space(void)
{
	volatile size_t size = SIZE_MAX / 2;

	free(mem_resize(NULL, size));
}

static void out_of_memory_aborts_with_a_message(void **state)
{
	char output[8192];

	assert_non_null(strstr(must_abort(allocate_overflowing_array, output, sizeof output),
	                       "belljar: out of memory (4 bytes)\n"));
	assert_non_null(
	        strstr(must_abort(resize_to_half_of_the_address_space, output, sizeof output),
	               "belljar: out of memory (9223372036854775807 bytes)\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(new_memory_is_zeroed),
		TEST(size_zero_gives_a_pointer),
		TEST(resize_keeps_the_contents),
		TEST(dup_copies_and_terminates),
		TEST(format_makes_text_of_any_length),
		TEST(out_of_memory_aborts_with_a_message),
	};

	return RUN_TESTS("base/mem", tests);
}
