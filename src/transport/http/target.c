/* target.c - the path and the query of a request: decoding (see head.h and http.h). */
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/text/utf8.h"
#include "transport/http/chars.h"
#include "transport/http/head.h"
#include "transport/http/http.h"

/* Reads two hexadecimal digits. Returns the byte, or -1. */
static int decode_byte(const char *digits, size_t len)
{
	if (len < 2 || !char_is(digits[0], CHAR_HEX) || !char_is(digits[1], CHAR_HEX))
		return -1;
	return (int)(char_hex_value(digits[0]) << 4 | char_hex_value(digits[1]));
}

/* "/a/../b" would pass a comparison of the first segment and lead to another path. Clients resolve
 * such segments before they send a request. */
static bool has_dot_segment(const char *path)
{
	while (path != NULL) {
		const char *segment = path + 1;
		size_t len = strcspn(segment, "/");

		if ((len == 1 && segment[0] == '.') || (len == 2 && memcmp(segment, "..", 2) == 0))
			return true;
		path = segment[len] == '/' ? segment + len : NULL;
	}
	return false;
}

/* An encoded '/' or '\\' is refused: "%2e%2e%2f" would become a segment after the check of segments
 * in a program that decodes once more. */
int target_decode_path(char *path)
{
	size_t len = strlen(path), out = 0;

	for (size_t i = 0; i < len; i++) {
		int byte = (unsigned char)path[i];

		if (path[i] == '%') {
			byte = decode_byte(path + i + 1, len - i - 1);
			if (byte < 0x20 || byte == 0x7f || byte == '/' || byte == '\\')
				return -1;
			i += 2;
		}
		path[out++] = (char)byte;
	}
	path[out] = '\0';
	return has_dot_segment(path) || !utf8_is_valid((struct view){ path, out }) ? -1 : 0;
}

/* Decodes a name or a value of a query: '+' is a space. */
static int decode_part(struct view part, struct buf *ret)
{
	for (size_t i = 0; i < part.len; i++) {
		char c = part.ptr[i] == '+' ? ' ' : part.ptr[i];

		if (c == '%') {
			int byte = decode_byte(part.ptr + i + 1, part.len - i - 1);

			if (byte <= 0)
				return -1;
			c = (char)byte;
			i += 2;
		}
		if (!buf_put(ret, (struct view){ &c, 1 }))
			return -1;
	}
	return 0;
}

static bool is_name(struct view part, const char *name)
{
	size_t at = 0, i;

	for (i = 0; i < part.len; i++) {
		int byte = part.ptr[i] == '+' ? ' ' : (unsigned char)part.ptr[i];

		if (byte == '%') {
			byte = decode_byte(part.ptr + i + 1, part.len - i - 1);
			i += 2;
		}
		if (byte <= 0 || (unsigned char)name[at] != byte)
			return false;
		at++;
	}
	return name[at] == '\0';
}

int http_query_get(const char *query, const char *name, struct buf *ret)
{
	struct view rest = view_of(query);
	bool is_found = false;

	while (rest.len != 0) {
		struct view value = view_cut(&rest, '&');

		if (!is_name(view_cut(&value, '='), name))
			continue;
		/* A parameter that stands twice may mean the other one to another program. */
		if (is_found || decode_part(value, ret) < 0)
			return -1;
		is_found = true;
	}
	return is_found ? 1 : 0;
}
