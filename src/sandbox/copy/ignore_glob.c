#include "sandbox/copy/ignore_glob.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

static void spend(uint64_t *steps, uint64_t n)
{
	*steps -= n < *steps ? n : *steps;
}

/* --- one name ---------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*has)(int c);
} classes[] = {
	{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank }, { "cntrl", iscntrl },
	{ "digit", isdigit }, { "graph", isgraph }, { "lower", islower }, { "print", isprint },
	{ "punct", ispunct }, { "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
};

/* "[:alpha:]" at pattern: how long it is, or 0; *ret: whether c is one of them. */
static size_t read_class(struct view pattern, unsigned char c, bool *ret)
{
	if (pattern.len < 2 || pattern.ptr[0] != '[' || pattern.ptr[1] != ':')
		return 0;
	for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
		size_t len = strlen(classes[i].name);

		if (pattern.len >= len + 4 && memcmp(pattern.ptr + 2, classes[i].name, len) == 0 &&
		    memcmp(pattern.ptr + 2 + len, ":]", 2) == 0) {
			*ret = c < 128 && classes[i].has(c) != 0;
			return len + 4;
		}
	}
	return 0;
}

/* One character of a set, perhaps behind a backslash. */
static bool read_char(struct view set, size_t *at, unsigned char *ret)
{
	if (*at < set.len && set.ptr[*at] == '\\')
		(*at)++;
	if (*at >= set.len)
		return false;
	*ret = (unsigned char)set.ptr[(*at)++];
	return true;
}

/* "[...]" at the front of pattern: how long it is, or 0 if it never ends: then it fits nothing. */
static size_t read_set(struct view pattern, unsigned char c, uint64_t *steps, bool *ret)
{
	size_t at = 1, first;
	bool inverted = false, found = false;

	if (at < pattern.len && (pattern.ptr[at] == '!' || pattern.ptr[at] == '^')) {
		inverted = true;
		at++;
	}
	for (first = at; at < pattern.len && (pattern.ptr[at] != ']' || at == first);) {
		struct view rest = { pattern.ptr + at, pattern.len - at };
		bool in_class = false;
		unsigned char low, high;
		size_t len = read_class(rest, c, &in_class);

		if (len != 0) {
			found |= in_class;
			at += len;
			continue;
		}
		if (!read_char(pattern, &at, &low))
			break;
		high = low;
		if (at + 1 < pattern.len && pattern.ptr[at] == '-' && pattern.ptr[at + 1] != ']') {
			at++;
			if (!read_char(pattern, &at, &high))
				break;
		}
		found |= low <= c && c <= high;
	}
	spend(steps, at);
	if (at >= pattern.len)
		return 0;
	*ret = found != inverted;
	return at + 1;
}

/* What stands at the front of pattern, which is not a star, and c: its length if it fits, or 0. */
static size_t fits_one(struct view pattern, unsigned char c, uint64_t *steps)
{
	bool in_set = false;
	size_t len;

	switch (pattern.ptr[0]) {
	case '?':
		return 1;
	case '[':
		len = read_set(pattern, c, steps, &in_set);
		return in_set ? len : 0;
	case '\\':
		return pattern.len >= 2 && (unsigned char)pattern.ptr[1] == c ? 2 : 0;
	default:
		return (unsigned char)pattern.ptr[0] == c ? 1 : 0;
	}
}

/* Only the last star has to be tried again: what an earlier one could take, it can too. */
static bool fits_name(struct view pattern, struct view name, uint64_t *steps)
{
	size_t p = 0, n = 0, star = SIZE_MAX, from = 0;

	while (*steps != 0 && (n < name.len || p < pattern.len)) {
		size_t len = 0;

		spend(steps, 1);
		if (p < pattern.len && pattern.ptr[p] == '*') {
			star = ++p;
			from = n;
			continue;
		}
		if (p < pattern.len && n < name.len)
			len = fits_one((struct view){ pattern.ptr + p, pattern.len - p },
			               (unsigned char)name.ptr[n], steps);
		if (len != 0) {
			p += len;
			n++;
		} else if (star != SIZE_MAX && from < name.len) {
			p = star;
			n = ++from;
		} else
			return false;
	}
	return *steps != 0;
}

/* --- names, and slashes between them -------------------------------------------------- */

/* Cuts `len` bytes off, and the slash of `slash` bytes behind them. */
static struct view cut_at(struct view *rest, size_t len, size_t slash)
{
	struct view name = { rest->ptr, len };

	if (len < rest->len)
		len += slash;
	rest->ptr += len;
	rest->len -= len;
	return name;
}

static struct view cut_name(struct view *rest)
{
	const char *slash = memchr(rest->ptr, '/', rest->len);

	return cut_at(rest, slash != NULL ? (size_t)(slash - rest->ptr) : rest->len, 1);
}

/* A slash in a set is one of its characters. */
static struct view cut_pattern(struct view *rest, uint64_t *steps)
{
	size_t at = 0;

	while (*steps != 0 && at < rest->len && rest->ptr[at] != '/') {
		struct view from = { rest->ptr + at, rest->len - at };
		size_t len = 1;
		bool unused;

		spend(steps, 1);
		if (from.len > 1 && from.ptr[0] == '\\' && from.ptr[1] == '/')
			return cut_at(rest, at, 2);
		if (from.ptr[0] == '[')
			len = read_set(from, 0, steps, &unused);
		else if (from.ptr[0] == '\\' && from.len > 1)
			len = 2;
		at += len != 0 ? len : 1;
	}
	return cut_at(rest, at, 1);
}

/* The same once more, with names for characters and "**" for the star. */
bool ignore_glob(const char *pattern, struct view path, uint64_t *steps)
{
	struct view p = view_of(pattern), n = path, star = { NULL, 0 }, from = { NULL, 0 };

	spend(steps, 1);
	if (strchr("*?[\\", pattern[0]) == NULL && (n.len == 0 || n.ptr[0] != pattern[0]))
		return false; /* most rules end here */
	while (*steps != 0 && (p.len != 0 || n.len != 0)) {
		struct view p_rest = p, n_rest = n, wanted = { "", 0 };

		if (p.len != 0)
			wanted = cut_pattern(&p_rest, steps);
		if (p.len != 0 && view_is(wanted, "**")) {
			if (p_rest.len == 0)
				return n.len != 0; /* all that is in it, but not itself */
			star = p = p_rest;
			from = n;
			continue;
		}
		if (p.len != 0 && n.len != 0 && fits_name(wanted, cut_name(&n_rest), steps)) {
			p = p_rest;
			n = n_rest;
		} else if (star.ptr != NULL && from.len != 0) {
			(void)cut_name(&from);
			p = star;
			n = from;
		} else
			return false;
		spend(steps, 1);
	}
	return *steps != 0;
}
