#include "base/text/base64.h"

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"

char *base64_encode(struct view bytes)
{
	static const char alphabet[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = (const unsigned char *)bytes.ptr;
	char *text = mem_new((bytes.len + 2) / 3 * 4 + 1);
	char *out = text;

	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t left = bytes.len - i;
		uint32_t group = (uint32_t)in[i] << 16;

		if (left > 1)
			group |= (uint32_t)in[i + 1] << 8;
		if (left > 2)
			group |= in[i + 2];
		*out++ = alphabet[group >> 18 & 63];
		*out++ = alphabet[group >> 12 & 63];
		*out++ = left > 1 ? alphabet[group >> 6 & 63] : '=';
		*out++ = left > 2 ? alphabet[group & 63] : '=';
	}
	return text;
}

/* The value of a base64 digit, 0 to 63, or -1. */
static int digit_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int base64_decode(struct view text, char **ret, size_t *ret_len, struct error *err)
{
	AUTO_FREE char *out = mem_new(text.len / 4 * 3 + 4);
	size_t len = 0, digits = 0, padding = 0;
	uint32_t group = 0;

	for (size_t i = 0; i < text.len; i++) {
		int value = digit_value(text.ptr[i]);

		if (text.ptr[i] == '\n' || text.ptr[i] == '\r')
			continue;
		if (text.ptr[i] == '=' && digits % 4 >= 2 && digits % 4 + padding < 4) {
			padding++;
			continue;
		}
		if (value < 0 || padding != 0)
			return error_set(err, ERR_SYNTAX, "not base64 at byte %zu", i);
		group = group << 6 | (uint32_t)value;
		if (++digits % 4 == 0) {
			out[len++] = (char)(group >> 16 & 0xff);
			out[len++] = (char)(group >> 8 & 0xff);
			out[len++] = (char)(group & 0xff);
		}
	}
	if (digits % 4 == 1 || (digits + padding) % 4 != 0)
		return error_set(err, ERR_SYNTAX,
		                 "base64 text is incomplete: its length is not a multiple of 4");
	if (digits % 4 >= 2)
		out[len++] = (char)(group >> (digits % 4 == 2 ? 4 : 10) & 0xff);
	if (digits % 4 == 3)
		out[len++] = (char)(group >> 2 & 0xff);
	out[len] = '\0';
	*ret = TAKE_PTR(out);
	*ret_len = len;
	return 0;
}
