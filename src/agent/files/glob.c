#include "agent/files/glob.h"

#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"

enum { NO_CHARACTER = 0x110000 }; /* plus a byte that belongs to none */

static uint32_t next_char(struct view *rest)
{
	static const uint8_t lead[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	size_t len = utf8_char_len(*rest);
	uint32_t c = (uint8_t)rest->ptr[0];

	if (len == 0) {
		len = 1;
		c += NO_CHARACTER;
	}
	if (len > 1)
		c &= lead[len];
	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((uint8_t)rest->ptr[i] & 0x3f);
	rest->ptr += len;
	rest->len -= len;
	return c;
}

static uint32_t lower(uint32_t c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static uint32_t upper(uint32_t c)
{
	return c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c;
}

/* --- the pattern ------------------------------------------------------------------- */

/* A character that is meant itself, its backslash taken off. */
static uint32_t next_plain(struct view *rest)
{
	uint32_t c = next_char(rest);

	return c == '\\' && rest->len != 0 ? next_char(rest) : c;
}

/* What is between the brackets, if they close; *rest is behind the opening one. */
static bool cut_set(struct view *rest, struct view *ret)
{
	struct view at = *rest;
	size_t first;

	if (at.len != 0 && (at.ptr[0] == '!' || at.ptr[0] == '^'))
		(void)next_char(&at);
	first = at.len;
	while (at.len != 0 && at.ptr[0] != '/') {
		if (at.ptr[0] == ']' && at.len != first) {
			*ret = (struct view){ rest->ptr, rest->len - at.len };
			*rest = (struct view){ at.ptr + 1, at.len - 1 };
			return true;
		}
		(void)next_plain(&at);
	}
	return false;
}

/* Two or more stars; *rest is behind the first. */
static enum glob_kind cut_stars(const struct glob *glob, struct view *rest)
{
	const struct glob_token *last = glob->count != 0 ? &glob->tokens[glob->count - 1] : NULL;
	bool fresh = last == NULL || last->kind == GLOB_DIRS ||
	             (last->kind == GLOB_CHAR && last->c == '/');

	if (rest->len == 0 || rest->ptr[0] != '*')
		return GLOB_STAR;
	while (rest->len != 0 && rest->ptr[0] == '*')
		(void)next_char(rest);
	if (!fresh || rest->len == 0 || rest->ptr[0] != '/')
		return GLOB_DEEP;
	(void)next_char(rest);
	return GLOB_DIRS;
}

static struct glob_token next_token(struct glob *glob, struct view *rest)
{
	struct glob_token token = { .kind = GLOB_CHAR };
	uint32_t c = next_char(rest);

	if (c == '*')
		token.kind = cut_stars(glob, rest);
	else if (c == '?')
		token.kind = GLOB_ANY;
	else if (c == '[' && cut_set(rest, &token.set))
		token.kind = GLOB_SET;
	else if (c == '\\' && rest->len != 0)
		token.c = next_char(rest);
	else
		token.c = c;
	if (glob->ignore_case)
		token.c = lower(token.c);
	if (token.kind >= GLOB_DEEP || token.c == '/')
		glob->whole = true;
	return token;
}

int glob_init(struct glob *glob, struct view pattern, bool ignore_case, struct error *err)
{
	struct view rest = pattern;

	*glob = (struct glob){ .ignore_case = ignore_case };
	if (pattern.len > WIRE_PATTERN_MAX)
		return error_set(err, ERR_LIMIT, "a pattern of %zu bytes: at most %d", pattern.len,
		                 WIRE_PATTERN_MAX);
	if (view_starts(rest, "./") || view_starts(rest, "/")) {
		size_t len = rest.ptr[0] == '.' ? 2 : 1;

		rest = (struct view){ rest.ptr + len, rest.len - len };
		glob->whole = true;
	}
	while (rest.len != 0) {
		glob->tokens[glob->count] = next_token(glob, &rest);
		glob->count++;
	}
	return 0;
}

/* --- the match --------------------------------------------------------------------- */

static bool in_range(uint32_t c, uint32_t from, uint32_t to, bool ignore_case)
{
	if (c >= from && c <= to)
		return true;
	return ignore_case &&
	       ((lower(c) >= from && lower(c) <= to) || (upper(c) >= from && upper(c) <= to));
}

static bool in_set(struct view set, uint32_t c, bool ignore_case)
{
	bool negated = set.ptr[0] == '!' || set.ptr[0] == '^';

	if (negated)
		(void)next_char(&set);
	while (set.len != 0) {
		uint32_t from = next_plain(&set), to = from;

		if (set.len >= 2 && set.ptr[0] == '-') {
			(void)next_char(&set);
			to = next_plain(&set);
		}
		if (in_range(c, from, to, ignore_case))
			return !negated;
	}
	return negated;
}

/* Enters a state, and those that follow it without a character. */
static void add(struct glob *glob, size_t state)
{
	while (glob->seen[state] != glob->step) {
		glob->seen[state] = glob->step;
		glob->next.items[glob->next.count++] = (uint16_t)state;
		if (state == glob->count || glob->tokens[state].kind < GLOB_STAR)
			return;
		state++;
	}
}

/* Stays in a state: within a directory's name, what follows "**" "/" is not reached. */
static void stay(struct glob *glob, size_t state)
{
	if (glob->seen[state] == glob->step)
		return;
	glob->seen[state] = glob->step;
	glob->next.items[glob->next.count++] = (uint16_t)state;
}

static void advance(struct glob *glob, size_t state, uint32_t c)
{
	const struct glob_token *token = &glob->tokens[state];

	if (state == glob->count)
		return;
	switch (token->kind) {
	case GLOB_CHAR:
		if (token->c == (glob->ignore_case ? lower(c) : c))
			add(glob, state + 1);
		return;
	case GLOB_ANY:
		if (c != '/')
			add(glob, state + 1);
		return;
	case GLOB_SET:
		if (c != '/' && in_set(token->set, c, glob->ignore_case))
			add(glob, state + 1);
		return;
	case GLOB_STAR:
		if (c != '/')
			add(glob, state);
		return;
	case GLOB_DEEP:
		add(glob, state);
		return;
	case GLOB_DIRS:
		stay(glob, state);
		if (c == '/')
			add(glob, state + 1);
		return;
	}
}

/* The next set of states is complete. */
static void turn(struct glob *glob)
{
	glob->now.count = glob->next.count;
	memcpy(glob->now.items, glob->next.items, glob->next.count * sizeof glob->next.items[0]);
	glob->next.count = 0;
	if (++glob->step == 0) { /* once in 2^32 characters */
		memset(glob->seen, 0, sizeof glob->seen);
		glob->step = 1;
	}
}

static struct view last_name(struct view path)
{
	for (size_t i = path.len; i != 0; i--)
		if (path.ptr[i - 1] == '/')
			return (struct view){ path.ptr + i, path.len - i };
	return path;
}

bool glob_match(struct glob *glob, struct view path)
{
	struct view rest = glob->whole ? path : last_name(path);

	glob->next.count = 0;
	turn(glob);
	add(glob, 0);
	turn(glob);
	while (rest.len != 0 && glob->now.count != 0) {
		uint32_t c = next_char(&rest);

		for (size_t i = 0; i < glob->now.count; i++)
			advance(glob, glob->now.items[i], c);
		turn(glob);
	}
	for (size_t i = 0; i < glob->now.count; i++)
		if (glob->now.items[i] == glob->count)
			return true;
	return false;
}
