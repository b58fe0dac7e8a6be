#include "base/num.h"
#include "unit/test.h"

static void numbers_in_range_are_parsed(void **state)
{
	static const struct {
		const char *text;
		uint64_t min, max, want;
	} cases[] = {
		{ "0", 0, 0, 0 },
		{ "7", 7, 7, 7 },
		{ "007", 0, 10, 7 },
		{ "18446744073709551615", 0, UINT64_MAX, UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t got = 99;
		struct error err;

		CHECK_OK(num_parse_u64(cases[i].text, cases[i].min, cases[i].max, &got, &err), err);
		assert_true(got == cases[i].want);
		CHECK_OK(num_parse_size(cases[i].text, cases[i].min, cases[i].max, &got, &err),
		         err);
		assert_true(got == cases[i].want);
	}
}

static void other_texts_are_no_numbers(void **state)
{
	static const char *const texts[] = {
		"",
		"4",
		"21",
		"-5",
		"+5",
		" 5",
		"5 ",
		"5x",
		"0x10",
		"1e",
		"5.0",
		"5\n",
		"abc",
		"٥",
		"99999999999999999999",
		"18446744073709551616",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		uint64_t got = 99;
		struct error err;

		if (num_parse_u64(texts[i], 5, 20, &got, &err) != -1)
			fail_msg("'%s' was taken for %u", texts[i], (unsigned)got);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_true(got == 99);
	}
}

static void error_names_range_and_text(void **state)
{
	uint64_t got;
	struct error err;

	CHECK_ERROR(num_parse_u64("21", 5, 20, &got, &err), err, ERR_INVALID,
	            "expected a whole number from 5 to 20, got '21'");
	CHECK_ERROR(num_parse_u64("\x1b[2J", 5, 20, &got, &err), err, ERR_INVALID,
	            "expected a whole number from 5 to 20, got '\\x1b[2J'");
	CHECK_ERROR(num_parse_size("1T", 1, 2048, &got, &err), err, ERR_INVALID,
	            "expected a size in bytes (K, M or G may follow) from 1 to 2048, got '1T'");
}

static void sizes_with_unit_are_parsed(void **state)
{
	static const struct {
		const char *text;
		uint64_t want;
	} cases[] = {
		{ "1", 1 },
		{ "2K", 2048 },
		{ "3M", 3145728 },
		{ "4G", 4294967296 },
		{ "17179869183G", UINT64_C(17179869183) << 30 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t got = 99;
		struct error err;

		CHECK_OK(num_parse_size(cases[i].text, 0, UINT64_MAX, &got, &err), err);
		assert_true(got == cases[i].want);
	}
}

static void other_texts_are_no_sizes(void **state)
{
	static const char *const texts[] = {
		"",
		"K",
		"1k",
		"1KB",
		"1 K",
		"1K ",
		"1KK",
		"-1K",
		"1T",
		"0x1K",
		"17179869184G",
		"18446744073709551616",
		"18014398509481984K",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		uint64_t got = 99;
		struct error err;

		if (num_parse_size(texts[i], 0, UINT64_MAX, &got, &err) != -1)
			fail_msg("'%s' was taken", texts[i]);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_true(got == 99);
	}
}

static void range_of_a_size_is_in_bytes(void **state)
{
	uint64_t got = 99;
	struct error err;

	CHECK_OK(num_parse_size("1K", 1024, 1024, &got, &err), err);
	assert_true(got == 1024);
	assert_int_equal(num_parse_size("1K", 1025, 9999, &got, &err), -1);
	assert_int_equal(num_parse_size("1K", 0, 1023, &got, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numbers_in_range_are_parsed), TEST(other_texts_are_no_numbers),
		TEST(error_names_range_and_text),  TEST(sizes_with_unit_are_parsed),
		TEST(other_texts_are_no_sizes),    TEST(range_of_a_size_is_in_bytes),
	};

	return RUN_TESTS("base/num", tests);
}
