#include <stdalign.h>

#include "base/arena.h"
#include "unit/test.h"

static void allocations_are_zeroed_aligned_and_separate(void **state)
{
	static const size_t sizes[] = { 1, 3, 16, 17, 100, 4095, 4096, 4097, 20000, 1, 8 };
	unsigned char *pieces[ARRAY_LEN(sizes)];
	struct arena arena = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		pieces[i] = arena_new(&arena, 1, sizes[i]);
		assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
		for (size_t j = 0; j < sizes[i]; j++)
			assert_int_equal(pieces[i][j], 0);
		memset(pieces[i], (int)i + 1, sizes[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		for (size_t j = 0; j < sizes[i]; j++)
			assert_int_equal(pieces[i][j], i + 1);
	arena_done(&arena);
}

static void small_allocations_share_blocks(void **state)
{
	struct arena arena = { 0 };
	const char *first = arena_new(&arena, 1, 10);
	const char *second = arena_new(&arena, 1, 10);

	assert_int_equal(second - first, 16);
	for (int i = 0; i < 10000; i++)
		memset(arena_new(&arena, 3, 7), 0xff, 21);
	arena_done(&arena);
}

static void array_has_room_for_all_elements(void **state)
{
	struct arena arena = { 0 };
	uint64_t *numbers = arena_new(&arena, 1000, sizeof *numbers);

	for (size_t i = 0; i < 1000; i++)
		numbers[i] = i;
	assert_true(numbers[999] == 999);
	assert_non_null(arena_new(&arena, 0, 8));
	arena_done(&arena);
}

static void arena_is_usable_after_done(void **state)
{
	struct arena arena = { 0 };

	arena_done(&arena);
	(void)arena_new(&arena, 1, 1);
	arena_done(&arena);
	assert_null(arena.blocks);
	memset(arena_new(&arena, 1, 100), 1, 100);
	arena_done(&arena);
}

static void allocate_overflowing_product(void)
{
	struct arena arena = { 0 };
	volatile size_t count = SIZE_MAX / 4;

	(void)arena_new(&arena, count, 8);
}

static void allocate_half_of_the_address_space(void)
{
	struct arena arena = { 0 };
	volatile size_t size = SIZE_MAX / 2 + 1;

	(void)arena_new(&arena, 1, size);
}

static void overflowing_size_aborts(void **state)
{
	char output[4096];

	assert_string_equal(must_abort(allocate_overflowing_product, output, sizeof output), "");
	assert_string_equal(must_abort(allocate_half_of_the_address_space, output, sizeof output),
	                    "");
}

static void text_is_copied(void **state)
{
	struct arena arena = { 0 };
	char text[] = "abc";
	char *copy = arena_text(&arena, text);

	text[0] = 'x';
	assert_string_equal(copy, "abc");
	assert_string_equal(arena_text(&arena, ""), "");
	arena_done(&arena);
}

static void count_free(void *object)
{
	++*(int *)object;
}

static void owned_objects_are_freed_once(void **state)
{
	struct arena arena = { 0 };
	int first = 0, second = 0;

	arena_own(&arena, &first, count_free);
	arena_own(&arena, &second, count_free);
	assert_int_equal(first + second, 0);
	arena_done(&arena);
	arena_done(&arena);
	assert_int_equal(first, 1);
	assert_int_equal(second, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(text_is_copied),
		TEST(allocations_are_zeroed_aligned_and_separate),
		TEST(small_allocations_share_blocks),
		TEST(array_has_room_for_all_elements),
		TEST(arena_is_usable_after_done),
		TEST(overflowing_size_aborts),
		TEST(owned_objects_are_freed_once),
	};

	return RUN_TESTS("base/arena", tests);
}
