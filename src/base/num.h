/* num.h - parses decimal numbers, and compares numbers. In num_parse_*() the whole text must be a
 * number from min to max; anything else is ERR_INVALID with a message that names the range and the
 * text. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct error;

static inline uint64_t num_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t num_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The value of a hexadecimal digit; -1: `c` is none. */
static inline int num_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20); /* to a small letter */
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads a length as protocols write it: 1 to 18 digits and nothing else, no sign, no blank. */
bool num_read_length(struct view digits, uint64_t *ret);

MUST_CHECK int num_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret,
                             struct error *err);
/* A number of bytes, which may end in K, M or G (powers of 1024). */
MUST_CHECK int num_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret,
                              struct error *err);
