/* uri_template.c - matches URIs with the part of RFC 6570 that is supported: {name} and {+name}. */
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text/utf8.h"
#include "mcp/internal.h"

/* The byte that "%41" stands for, or -1 if the escape is invalid. */
static int decode_escape(struct view rest)
{
	int high, low;

	if (rest.len < 3)
		return -1;
	high = num_hex_digit(rest.ptr[1]);
	low = num_hex_digit(rest.ptr[2]);
	return high < 0 || low < 0 ? -1 : high * 16 + low;
}

json_t *uri_percent_decode(struct view encoded)
{
	AUTO_FREE char *decoded = mem_new(encoded.len + 1);
	struct view text = { decoded, 0 };

	for (size_t i = 0; i < encoded.len; i++) {
		int byte = (unsigned char)encoded.ptr[i];

		if (byte == '%') {
			byte = decode_escape((struct view){ encoded.ptr + i, encoded.len - i });
			if (byte < 0)
				return NULL;
			i += 2;
		}
		decoded[text.len++] = (char)byte;
	}
	return utf8_is_valid(text) ? json_str_view(text) : NULL;
}

/* The number of bytes of `uri` that a variable matches: up to the next literal of the template,
 * which is `after`. The last literal must be at the end of the URI. Only {+name} matches '/'. 0:
 * no match. */
static size_t match_variable(const char *uri, const char *after, bool crosses_slashes)
{
	size_t most = crosses_slashes ? strlen(uri) : strcspn(uri, "/");
	size_t literal = strcspn(after, "{");
	size_t len = strlen(uri);

	if (literal == 0)
		return most;
	if (after[literal] == '\0') {
		if (len <= literal || len - literal > most ||
		    strcmp(uri + len - literal, after) != 0)
			return 0;
		return len - literal;
	}
	for (size_t i = 1; i <= most; i++)
		if (strncmp(uri + i, after, literal) == 0)
			return i;
	return 0;
}

json_t *uri_template_match(const char *uri_template, const char *uri)
{
	AUTO_JSON json_t *variables = json_obj();
	const char *t = uri_template;

	while (*t != '\0') {
		bool crosses_slashes = t[0] == '{' && t[1] == '+';
		const char *close = strchr(t, '}');
		AUTO_FREE char *name = NULL;
		json_t *value;
		size_t len;

		if (*t != '{' || close == NULL) {
			if (*t++ != *uri++)
				return NULL;
			continue;
		}
		t += crosses_slashes ? 2 : 1;
		name = mem_dup_len(t, (size_t)(close - t));
		t = close + 1;
		len = match_variable(uri, t, crosses_slashes);
		/* A variable that may be empty, as that of a path from a root, is {+name} at the
		 * end. */
		value = len != 0 || (crosses_slashes && *t == '\0')
		                ? uri_percent_decode((struct view){ uri, len })
		                : NULL;
		if (value == NULL)
			return NULL;
		json_set(variables, name, value);
		uri += len;
	}
	return *uri == '\0' ? TAKE_PTR(variables) : NULL;
}
