#include "base/text/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"

/* Lead bytes, and the range of the byte that may follow them (Unicode, table 3-7). */
static const struct lead {
	unsigned char from, to, len, second_min, second_max;
} leads[] = {
	{ 0x00, 0x7f, 1, 0x00, 0x00 }, { 0xc2, 0xdf, 2, 0x80, 0xbf }, { 0xe0, 0xe0, 3, 0xa0, 0xbf },
	{ 0xe1, 0xec, 3, 0x80, 0xbf }, { 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf },
	{ 0xf0, 0xf0, 4, 0x90, 0xbf }, { 0xf1, 0xf3, 4, 0x80, 0xbf }, { 0xf4, 0xf4, 4, 0x80, 0x8f },
};

static const struct lead *find_lead(unsigned char byte)
{
	for (size_t i = 0; i < ARRAY_LEN(leads); i++)
		if (byte >= leads[i].from && byte <= leads[i].to)
			return &leads[i];
	return NULL;
}

size_t utf8_char_len(struct view v)
{
	const unsigned char *bytes = (const unsigned char *)v.ptr;
	const struct lead *lead;

	if (v.len == 0 || (lead = find_lead(bytes[0])) == NULL || lead->len > v.len)
		return 0;
	if (lead->len > 1 && (bytes[1] < lead->second_min || bytes[1] > lead->second_max))
		return 0;
	for (size_t i = 2; i < lead->len; i++)
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	return lead->len;
}

/* The number of ASCII bytes at the front, in steps of eight: most text is ASCII, and this is
 * fast. */
static size_t ascii_run(struct view v)
{
	size_t run = 0;
	uint64_t eight;

	for (; v.len - run >= sizeof eight; run += sizeof eight) {
		memcpy(&eight, v.ptr + run, sizeof eight);
		if ((eight & 0x8080808080808080u) != 0)
			break;
	}
	return run;
}

bool utf8_is_valid(struct view v)
{
	while (v.len != 0) {
		size_t run = ascii_run(v);
		size_t n = run != 0 ? run : utf8_char_len(v);

		if (n == 0)
			return false;
		v.ptr += n;
		v.len -= n;
	}
	return true;
}

/* Steps back over at most three continuation bytes to the last lead byte, and cuts before that
 * character if it is incomplete. */
size_t utf8_prefix(const char *text, size_t len, size_t max)
{
	size_t end = len < max ? len : max;
	size_t start = end;

	while (start > 0 && end - start < 3 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
		start--;
	if (start == 0 || (unsigned char)text[start - 1] < 0x80)
		return end;
	start--;
	if (utf8_char_len((struct view){ text + start, end - start }) == 0)
		return start;
	return end;
}

uint32_t utf8_code_point(const char *text, size_t n)
{
	static const unsigned char lead_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t point;

	assert(n != 0 && n < sizeof lead_bits);
	point = (unsigned char)text[0] & lead_bits[n];
	for (size_t i = 1; i < n; i++)
		point = point << 6 | ((unsigned char)text[i] & 0x3f);
	return point;
}

/* Characters that a terminal or a viewer acts on instead of showing them: C0 and C1 controls,
 * line and paragraph separators, bidirectional controls (which can make text look like another
 * text), and the zero width no-break space. */
static bool must_escape(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) ||
	       (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
	       point == 0xfeff;
}

/* Escapes the first character of v. The longest result is \uNNNN. */
static size_t escape_char(struct view v, char *out, size_t size, size_t *consumed)
{
	static const char named[] = "\n\t\r", letters[] = "ntr";
	size_t n = utf8_char_len(v);
	const char *name;
	uint32_t point;

	*consumed = n != 0 ? n : 1;
	if (n == 0)
		return (size_t)snprintf(out, size, "\\x%02x", (unsigned char)v.ptr[0]);
	point = utf8_code_point(v.ptr, n);
	if (point != 0 && point < 0x20 && (name = strchr(named, (int)point)) != NULL)
		return (size_t)snprintf(out, size, "\\%c", letters[name - named]);
	if (must_escape(point))
		return (size_t)snprintf(out, size, point < 0x80 ? "\\x%02x" : "\\u%04x", point);
	memcpy(out, v.ptr, n);
	return n;
}

/* `cut` is the last length after which "..." still fits. */
const char *utf8_escape(struct view v, char *out, size_t size)
{
	size_t used = 0, cut = 0;

	if (size < 8)
		return "";
	while (v.len != 0) {
		char piece[8];
		size_t consumed;
		size_t n = escape_char(v, piece, sizeof piece, &consumed);

		if (n >= size - used) {
			memcpy(out + cut, "...", 3);
			used = cut + 3;
			break;
		}
		memcpy(out + used, piece, n);
		used += n;
		if (used + sizeof "..." <= size)
			cut = used;
		v.ptr += consumed;
		v.len -= consumed;
	}
	out[used] = '\0';
	return out;
}
