#include "base/text/encoding.h"

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text/utf8.h"

static int add_code_point(struct buf *ret, uint32_t c, struct error *err)
{
	char bytes[4];
	size_t n = 0;

	if (c < 0x80) {
		bytes[n++] = (char)c;
	} else if (c < 0x800) {
		bytes[n++] = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		bytes[n++] = (char)(0xe0 | c >> 12);
		bytes[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		bytes[n++] = (char)(0xf0 | c >> 18);
		bytes[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		bytes[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	}
	if (c >= 0x80)
		bytes[n++] = (char)(0x80 | (c & 0x3f));
	return buf_add(ret, (struct view){ bytes, n }, err);
}

/* Takes the code point at *at, and moves *at behind it. */
static int take_code_point(struct view text, size_t *at, uint32_t *ret, struct error *err)
{
	size_t n = utf8_char_len((struct view){ text.ptr + *at, text.len - *at });

	if (n == 0)
		return error_set(err, ERR_SYNTAX, "byte %zu is not UTF-8", *at);
	*ret = utf8_code_point(text.ptr + *at, n);
	*at += n;
	return 0;
}

/* --- Latin-1 ---------------------------------------------------------------------------- */

int latin1_decode(struct view bytes, struct buf *ret, struct error *err)
{
	for (size_t i = 0; i < bytes.len; i++)
		if (add_code_point(ret, (unsigned char)bytes.ptr[i], err) < 0)
			return -1;
	return 0;
}

int latin1_encode(struct view text, struct buf *ret, struct error *err)
{
	for (size_t at = 0; at < text.len;) {
		size_t start = at;
		uint32_t c = 0;
		char byte;

		if (take_code_point(text, &at, &c, err) < 0)
			return -1;
		if (c > 0xff)
			return error_set(err, ERR_SYNTAX,
			                 "'%.*s' (U+%04X) at byte %zu is no character of Latin-1",
			                 (int)(at - start), text.ptr + start, (unsigned)c, start);
		byte = (char)c;
		if (buf_add(ret, (struct view){ &byte, 1 }, err) < 0)
			return -1;
	}
	return 0;
}

/* --- UTF-16 ------------------------------------------------------------------------------ */

static bool is_surrogate(uint32_t unit)
{
	return unit >= 0xd800 && unit <= 0xdfff;
}

static uint32_t unit_at(struct view bytes, size_t at, bool is_big)
{
	unsigned char first = (unsigned char)bytes.ptr[at];
	unsigned char second = (unsigned char)bytes.ptr[at + 1];

	return is_big ? (uint32_t)first << 8 | second : (uint32_t)second << 8 | first;
}

int utf16_decode(struct view bytes, struct buf *ret, struct error *err)
{
	bool is_big = bytes.len >= 2 && unit_at(bytes, 0, true) == 0xfeff;
	size_t at = is_big || (bytes.len >= 2 && unit_at(bytes, 0, false) == 0xfeff) ? 2 : 0;

	if (bytes.len % 2 != 0)
		return error_set(err, ERR_SYNTAX, "%zu bytes are not a multiple of two", bytes.len);
	while (at < bytes.len) {
		uint32_t c = unit_at(bytes, at, is_big);

		if (is_surrogate(c)) {
			uint32_t low = bytes.len - at >= 4 ? unit_at(bytes, at + 2, is_big) : 0;

			if (c >= 0xdc00 || low < 0xdc00 || !is_surrogate(low))
				return error_set(err, ERR_SYNTAX,
				                 "byte %zu is half of a surrogate pair", at);
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
			at += 2;
		}
		at += 2;
		if (add_code_point(ret, c, err) < 0)
			return -1;
	}
	return 0;
}

static int add_unit(struct buf *ret, uint32_t unit, struct error *err)
{
	const char bytes[] = { (char)(unit & 0xff), (char)(unit >> 8) };

	return buf_add(ret, (struct view){ bytes, sizeof bytes }, err);
}

int utf16_encode(struct view text, struct buf *ret, struct error *err)
{
	for (size_t at = 0; at < text.len;) {
		uint32_t c = 0;

		if (take_code_point(text, &at, &c, err) < 0)
			return -1;
		if (c >= 0x10000) {
			if (add_unit(ret, 0xd800 + ((c - 0x10000) >> 10), err) < 0)
				return -1;
			c = 0xdc00 + ((c - 0x10000) & 0x3ff);
		}
		if (add_unit(ret, c, err) < 0)
			return -1;
	}
	return 0;
}
