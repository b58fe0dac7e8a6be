/* chars.h - classes of characters in HTTP messages (RFC 9110 and 3986), as one table. */
#pragma once
#include <stdbool.h>

enum char_class {
	CHAR_TOKEN = 1,  /* in names of methods and fields */
	CHAR_TARGET = 2, /* in a path or a query; '%' too, which must begin an encoded byte */
	CHAR_VALUE = 4,  /* in the value of a field: all but control characters */
	CHAR_HOST = 8,   /* in the name of a host */
	CHAR_HEX = 16,
	CHAR_DIGIT = 32,
};

extern const unsigned char char_classes[256];

static inline bool char_is(char c, enum char_class class)
{
	return (char_classes[(unsigned char)c] & class) != 0;
}

static inline unsigned char_hex_value(char c)
{
	return c <= '9' ? (unsigned)c - '0' : ((unsigned)c | 0x20) - 'a' + 10;
}
