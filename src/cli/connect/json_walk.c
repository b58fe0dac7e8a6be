#include "cli/connect/json_walk.h"

#include <string.h>

#include "base/error.h"
#include "json/json.h"

static const struct json_limits key_limits = { .depth = 1, .values = 1 };

static size_t skip_blanks(struct view text, size_t at)
{
	while (at < text.len && strchr(" \t\r\n", text.ptr[at]) != NULL)
		at++;
	return at;
}

static size_t skip_string(struct view text, size_t at)
{
	for (at++; at < text.len && text.ptr[at] != '"'; at++)
		if (text.ptr[at] == '\\')
			at++;
	return at + 1;
}

static size_t skip_value(struct view text, size_t at)
{
	size_t depth = 0;

	while (at < text.len) {
		char c = text.ptr[at];

		if (c == '"') {
			at = skip_string(text, at);
			if (depth == 0)
				return at;
			continue;
		}
		if (depth == 0 && strchr(",]} \t\r\n", c) != NULL)
			return at; /* the end of a number, true, false or null */
		if (c == '{' || c == '[')
			depth++;
		if ((c == '}' || c == ']') && --depth == 0)
			return at + 1;
		at++;
	}
	return at;
}

/* Compares after parsing, because a key may be written with escapes. */
static bool key_is(struct view text, size_t at, size_t end, const char *key)
{
	AUTO_JSON json_t *name = NULL;
	struct error err;

	return json_read((struct view){ text.ptr + at, end - at }, &key_limits, &name, NULL,
	                 &err) == 0 &&
	       strcmp(json_string_value(name), key) == 0;
}

size_t json_walk_start(struct view text)
{
	return skip_blanks(text, 0);
}

struct json_place json_walk(struct view text, size_t open, const char *key)
{
	struct json_place object = { .open = open };
	size_t at = open + 1;

	for (;;) {
		size_t before = at, key_at = skip_blanks(text, at), key_end, value;

		if (text.ptr[key_at] == '}') {
			object.close = key_at;
			return object;
		}
		key_end = skip_string(text, key_at);
		value = skip_blanks(text, skip_blanks(text, key_end) + 1);
		at = skip_value(text, value);
		if (object.first_key == 0)
			object.first_key = key_at;
		object.last_end = at;
		if (!object.found && key_is(text, key_at, key_end, key)) {
			object.found = true;
			object.before_key = before;
			object.key = key_at;
			object.value = value;
			object.behind = at;
		}
		at = skip_blanks(text, at);
		if (text.ptr[at] == ',')
			at++;
	}
}
