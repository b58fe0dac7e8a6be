#include "base/random.h"
#include "unit/test.h"

enum { ROUNDS = 64 };

/* getrandom(2) returns at most 256 bytes without the risk of an interruption, so a longer buffer is
 * filled in several calls. A byte that stays 0 in all rounds was not written. */
static void every_byte_of_a_long_buffer_is_written(void **state)
{
	unsigned char bytes[600], seen[600] = { 0 };

	for (int i = 0; i < ROUNDS; i++) {
		memset(bytes, 0, sizeof bytes);
		random_bytes(bytes, sizeof bytes);
		for (size_t k = 0; k < sizeof bytes; k++)
			seen[k] |= bytes[k];
	}
	for (size_t k = 0; k < sizeof seen; k++)
		assert_int_not_equal(seen[k], 0);
}

static void texts_have_the_digits_for_their_bits(void **state)
{
	char base32[27 + 1], hex[32 + 1];

	for (int i = 0; i < ROUNDS; i++) {
		memset(base32, 'X', sizeof base32);
		memset(hex, 'X', sizeof hex);
		random_base32(base32, 128);
		random_hex(hex, 128);
		assert_int_equal(strlen(base32), 26);
		assert_int_equal(strspn(base32, RANDOM_BASE32_DIGITS), 26);
		/* 128 bits are 25 digits and three bits more. */
		assert_non_null(strchr("aeimquy4", base32[25]));
		assert_int_equal(base32[27], 'X');
		assert_int_equal(strlen(hex), 32);
		assert_int_equal(strspn(hex, "0123456789abcdef"), 32);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_byte_of_a_long_buffer_is_written),
		TEST(texts_have_the_digits_for_their_bits),
	};

	return RUN_TESTS("base/random", tests);
}
