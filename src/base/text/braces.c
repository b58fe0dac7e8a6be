#include "base/text/braces.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"

/* Bounds the recursion, and the time: each level looks at the whole pattern for each brace. */
enum { BRACES_MAX = 16 };

/* The braces that hold alternatives, as offsets into a pattern. */
struct group {
	size_t open, close;
};

/* Returns the length of what begins at `at`: an escaped character, a set or a single byte. */
static size_t element_len(struct view pattern, size_t at)
{
	size_t end = at + 1;

	if (pattern.ptr[at] == '\\' && end < pattern.len)
		return 2;
	if (pattern.ptr[at] != '[')
		return 1;
	if (end < pattern.len && (pattern.ptr[end] == '!' || pattern.ptr[end] == '^'))
		end++;
	/* A ']' that comes first is part of the set. */
	for (end++; end < pattern.len; end++)
		if (pattern.ptr[end] == ']')
			return end + 1 - at;
	return 1; /* a '[' without a ']' is literal */
}

/* Returns the offset of the first comma from `at` on that belongs to the braces around it, or that
 * of the brace that closes them; the pattern's length if there is neither. */
static size_t alternative_end(struct view pattern, size_t at)
{
	size_t depth = 0;

	for (; at < pattern.len; at += element_len(pattern, at)) {
		char c = pattern.ptr[at];

		if (depth == 0 && (c == ',' || c == '}'))
			break;
		depth += c == '{';
		depth -= c == '}';
	}
	return at;
}

/* Finds the first braces with alternatives. */
static bool find_group(struct view pattern, struct group *ret)
{
	for (size_t at = 0; at < pattern.len; at += element_len(pattern, at)) {
		size_t end;

		if (pattern.ptr[at] != '{')
			continue;
		end = alternative_end(pattern, at + 1);
		if (end == pattern.len || pattern.ptr[end] == '}')
			continue;
		while (end < pattern.len && pattern.ptr[end] == ',')
			end = alternative_end(pattern, end + 1);
		if (end == pattern.len)
			continue;
		*ret = (struct group){ at, end };
		return true;
	}
	return false;
}

static int expand_first(struct view pattern, struct buf *out, struct error *err);

/* Adds the pattern with the text from `from` to `to` in the place of the group, written out. */
static int add_alternative(struct view pattern, struct group group, size_t from, size_t to,
                           struct buf *out, struct error *err)
{
	const struct view parts[] = { { pattern.ptr, group.open },
		                      { pattern.ptr + from, to - from },
		                      { pattern.ptr + group.close + 1,
		                        pattern.len - group.close - 1 } };
	AUTO_BUF struct buf text;

	buf_init(&text, pattern.len);
	for (size_t i = 0; i < 3; i++)
		if (buf_add(&text, parts[i], err) < 0)
			return -1;
	return expand_first(buf_view(&text), out, err);
}

/* Replaces the first group of the pattern by each of its alternatives. */
static int expand_first(struct view pattern, struct buf *out, struct error *err)
{
	struct group group;
	size_t from, to;

	if (!find_group(pattern, &group)) {
		if (out->len != 0 && buf_add(out, view_of("\n"), err) < 0)
			return -1;
		return buf_add(out, pattern, err);
	}
	for (from = group.open + 1; from <= group.close; from = to + 1) {
		to = alternative_end(pattern, from);
		if (add_alternative(pattern, group, from, to, out, err) < 0)
			return -1;
	}
	return 0;
}

int braces_expand(struct view pattern, struct buf *out, struct error *err)
{
	size_t braces = 0;

	for (size_t i = 0; i < pattern.len; i++)
		braces += pattern.ptr[i] == '{';
	if (braces > BRACES_MAX)
		return error_set(err, ERR_LIMIT, "a pattern with %zu braces: at most %d", braces,
		                 BRACES_MAX);
	return expand_first(pattern, out, err);
}
