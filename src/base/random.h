/* random.h - random bytes of the kernel, and secrets and names made of them.
 *
 * There is no weaker source to fall back to: a token, an id or a password that can be guessed must
 * not be used, so the process aborts if the kernel has no random bytes. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* The digits of base 32 (RFC 4648) in lower case: they need no escaping in paths, SQL, JSON and
 * shells, also on file systems that ignore case. */
#define RANDOM_BASE32_DIGITS "abcdefghijklmnopqrstuvwxyz234567"

/* getrandom(2) returns up to 256 bytes as a whole, and is not interrupted by a signal then. */
static inline void random_bytes(void *out, size_t len)
{
	for (size_t done = 0; done < len; done += 256) {
		size_t n = len - done < 256 ? len - done : 256;

		if (getrandom((char *)out + done, n, 0) != (ssize_t)n)
			abort();
	}
}

static inline uint64_t random_number(void)
{
	uint64_t number;

	random_bytes(&number, sizeof number);
	return number;
}

enum { RANDOM_BASE32_BITS = 5, RANDOM_HEX_BITS = 4 };

/* Writes `bits` random bits as digits of 5 bits and a terminator. The low bits of the last digit
 * that are not needed are 0, as in RFC 4648. */
static inline void random_base32(char *out, size_t bits)
{
	size_t count = (bits + RANDOM_BASE32_BITS - 1) / RANDOM_BASE32_BITS;
	unsigned unused = (unsigned)(count * RANDOM_BASE32_BITS - bits);

	random_bytes(out, count);
	for (size_t i = 0; i < count; i++) {
		unsigned mask = i + 1 < count ? 31U : 31U & ~0U << unused;

		out[i] = RANDOM_BASE32_DIGITS[(unsigned char)out[i] & mask];
	}
	out[count] = '\0';
}

/* Writes `bits` random bits, a multiple of 4, as hexadecimal digits and a terminator. */
static inline void random_hex(char *out, size_t bits)
{
	size_t count = bits / RANDOM_HEX_BITS;

	random_bytes(out, count);
	for (size_t i = 0; i < count; i++)
		out[i] = "0123456789abcdef"[(unsigned char)out[i] & 15U];
	out[count] = '\0';
}
