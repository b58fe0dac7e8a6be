#include "base/view.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct view view_of(const char *text)
{
	return (struct view){ .ptr = text, .len = strlen(text) };
}

bool view_is(struct view v, const char *text)
{
	size_t len = strlen(text);

	return v.len == len && (len == 0 || memcmp(v.ptr, text, len) == 0);
}

bool view_starts(struct view v, const char *prefix)
{
	size_t len = strlen(prefix);

	return v.len >= len && (len == 0 || memcmp(v.ptr, prefix, len) == 0);
}

bool view_ends(struct view v, const char *suffix)
{
	size_t len = strlen(suffix);

	return v.len >= len && (len == 0 || memcmp(v.ptr + v.len - len, suffix, len) == 0);
}

bool view_is_nocase(struct view v, const char *text)
{
	return v.len == strlen(text) && view_starts_nocase(v, text);
}

bool view_starts_nocase(struct view v, const char *prefix)
{
	size_t len = strlen(prefix);

	return v.len >= len && (len == 0 || strncasecmp(v.ptr, prefix, len) == 0);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool view_has_only(struct view v, const char *also)
{
	for (size_t i = 0; i < v.len; i++)
		if (!isalnum((unsigned char)v.ptr[i]) &&
		    (v.ptr[i] == '\0' || strchr(also, v.ptr[i]) == NULL))
			return false;
	return true;
}

struct view view_trim(struct view v)
{
	while (v.len != 0 && is_blank(v.ptr[0])) {
		v.ptr++;
		v.len--;
	}
	while (v.len != 0 && is_blank(v.ptr[v.len - 1]))
		v.len--;
	return v;
}

bool view_next_line(struct view *rest, struct view *ret)
{
	if (rest->len == 0)
		return false;
	*ret = view_cut(rest, '\n');
	return true;
}

struct view view_cut(struct view *rest, char separator)
{
	const char *end = rest->len != 0 ? memchr(rest->ptr, separator, rest->len) : NULL;
	struct view part = { rest->ptr, end != NULL ? (size_t)(end - rest->ptr) : rest->len };
	size_t used = part.len + (end != NULL);

	rest->ptr += used;
	rest->len -= used;
	return part;
}

bool view_list_has(struct view list, char separator, const char *word)
{
	while (list.len != 0)
		if (view_is(view_trim(view_cut(&list, separator)), word))
			return true;
	return false;
}
