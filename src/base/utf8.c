#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* Lead bytes, and the range their first continuation byte must lie in. */
static const struct lead {
	unsigned char from, to, len, second_min, second_max;
} leads[] = {
	{ 0x00, 0x7f, 1, 0x00, 0x00 }, { 0xc2, 0xdf, 2, 0x80, 0xbf }, { 0xe0, 0xe0, 3, 0xa0, 0xbf },
	{ 0xe1, 0xec, 3, 0x80, 0xbf }, { 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf },
	{ 0xf0, 0xf0, 4, 0x90, 0xbf }, { 0xf1, 0xf3, 4, 0x80, 0xbf }, { 0xf4, 0xf4, 4, 0x80, 0x8f },
};

static const struct lead *lead_of(unsigned char byte)
{
	for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++)
		if (byte >= leads[i].from && byte <= leads[i].to)
			return &leads[i];
	return NULL;
}

size_t utf8_char(struct view v)
{
	const unsigned char *bytes = (const unsigned char *)v.ptr;
	const struct lead *lead;

	if (v.len == 0 || (lead = lead_of(bytes[0])) == NULL || lead->len > v.len)
		return 0;
	if (lead->len > 1 && (bytes[1] < lead->second_min || bytes[1] > lead->second_max))
		return 0;
	for (size_t i = 2; i < lead->len; i++)
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	return lead->len;
}

bool utf8_valid(struct view v)
{
	while (v.len != 0) {
		size_t n = utf8_char(v);

		if (n == 0)
			return false;
		v.ptr += n;
		v.len -= n;
	}
	return true;
}

/* Steps back over at most three continuation bytes to the last lead byte; the cut is
 * behind that character if it is whole, before it if not. */
size_t utf8_prefix(const char *text, size_t len, size_t max)
{
	size_t end = len < max ? len : max;
	size_t start = end;

	while (start > 0 && end - start < 3 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
		start--;
	if (start == 0 || (unsigned char)text[start - 1] < 0x80)
		return end;
	start--;
	if (utf8_char((struct view){ text + start, end - start }) == 0)
		return start;
	return end;
}

static size_t show_one(struct view v, char *out, size_t size, size_t *consumed)
{
	size_t n = utf8_char(v);
	unsigned char byte = (unsigned char)v.ptr[0];

	*consumed = n != 0 ? n : 1;
	if (byte == '\n' || byte == '\t' || byte == '\r')
		return (size_t)snprintf(out, size, "\\%c",
		                        byte == '\n'   ? 'n'
		                        : byte == '\t' ? 't'
		                                       : 'r');
	/* C1 controls are two bytes in UTF-8; terminals obey them too. */
	if (n == 0 || byte < 0x20 || byte == 0x7f) {
		*consumed = 1;
		return (size_t)snprintf(out, size, "\\x%02x", byte);
	}
	if (n == 2 && byte == 0xc2 && (unsigned char)v.ptr[1] < 0xa0)
		return (size_t)snprintf(out, size, "\\u%04x", (unsigned char)v.ptr[1]);
	(void)snprintf(out, size, "%.*s", (int)n, v.ptr);
	return n;
}

const char *utf8_show(struct view v, char *out, size_t size)
{
	size_t used = 0;

	if (size < 8)
		return "";
	while (v.len != 0) {
		char piece[8];
		size_t consumed;
		size_t n = show_one(v, piece, sizeof piece, &consumed);

		if (used + n + sizeof "..." > size) {
			memcpy(out + used, "...", 3);
			used += 3;
			break;
		}
		memcpy(out + used, piece, n);
		used += n;
		v.ptr += consumed;
		v.len -= consumed;
	}
	out[used] = '\0';
	return out;
}
