#include "base/base64.h"

#include <stdint.h>

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
