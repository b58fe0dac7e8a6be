#include "base/text/glob.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/attr.h"
#include "base/text/utf8.h"

/* Added to a byte that is not part of a well-formed character: above all code points. */
enum { NO_CHARACTER = 0x110000 };

enum token_kind {
	TOKEN_CHAR,
	TOKEN_ANY,     /* ? */
	TOKEN_SET,     /* [abc] */
	TOKEN_NOTHING, /* matches no character */
	/* The tokens from here on may match the empty text. */
	TOKEN_STAR, /* * */
	TOKEN_DEEP, /* any characters */
	TOKEN_DIRS, /* any number of directories, each with its slash */
};

struct token {
	enum token_kind kind;
	uint32_t c;      /* CHAR */
	struct view set; /* SET: between the brackets */
	size_t next;     /* offset of the next token */
};

/* Cuts off the first character and returns its code point. */
static uint32_t next_char(const struct glob *glob, struct view *rest)
{
	static const uint8_t lead[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	bool is_bytes = (glob->flags & GLOB_GIT) != 0;
	size_t len = is_bytes ? 1 : utf8_char_len(*rest);
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

/* Cuts off a literal character with the backslash before it. */
static uint32_t next_literal(const struct glob *glob, struct view *rest)
{
	uint32_t c = next_char(glob, rest);

	return c == '\\' && rest->len != 0 ? next_char(glob, rest) : c;
}

static uint32_t lower_case(uint32_t c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static uint32_t upper_case(uint32_t c)
{
	return c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c;
}

static bool is_same_char(const struct glob *glob, uint32_t a, uint32_t b)
{
	return a == b || ((glob->flags & GLOB_IGNORE_CASE) != 0 && lower_case(a) == lower_case(b));
}

static const struct {
	const char *name; /* its text in a set */
	int (*has)(int c);
} classes[] = {
	{ "[:alnum:]", isalnum }, { "[:alpha:]", isalpha }, { "[:blank:]", isblank },
	{ "[:cntrl:]", iscntrl }, { "[:digit:]", isdigit }, { "[:graph:]", isgraph },
	{ "[:lower:]", islower }, { "[:print:]", isprint }, { "[:punct:]", ispunct },
	{ "[:space:]", isspace }, { "[:upper:]", isupper }, { "[:xdigit:]", isxdigit },
};

/* Cuts the class off the front of *rest; NULL if there is none. */
static int (*cut_class(struct view *rest))(int c)
{
	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		if (view_starts(*rest, classes[i].name)) {
			rest->ptr += strlen(classes[i].name);
			rest->len -= strlen(classes[i].name);
			return classes[i].has;
		}
	return NULL;
}

/* Cuts off a set after its opening bracket. Returns false if it has no closing one. */
static bool cut_set(const struct glob *glob, struct view *rest, struct view *ret)
{
	bool may_have_slash = (glob->flags & GLOB_GIT) != 0;
	struct view at = *rest;
	size_t first;

	if (at.len != 0 && (at.ptr[0] == '!' || at.ptr[0] == '^'))
		(void)next_char(glob, &at);
	first = at.len;
	while (at.len != 0 && (at.ptr[0] != '/' || may_have_slash)) {
		if (at.ptr[0] == ']' && at.len != first) {
			*ret = (struct view){ rest->ptr, rest->len - at.len };
			*rest = (struct view){ at.ptr + 1, at.len - 1 };
			return true;
		}
		if (cut_class(&at) == NULL)
			(void)next_literal(glob, &at);
	}
	return false;
}

static bool is_in_range(const struct glob *glob, uint32_t c, uint32_t from, uint32_t to)
{
	if (c >= from && c <= to)
		return true;
	return (glob->flags & GLOB_IGNORE_CASE) != 0 &&
	       ((lower_case(c) >= from && lower_case(c) <= to) ||
	        (upper_case(c) >= from && upper_case(c) <= to));
}

static bool is_in_set(const struct glob *glob, struct view set, uint32_t c)
{
	bool negated;

	assert(set.ptr != NULL && set.len != 0); /* cut_set() never returns an empty set */
	negated = set.ptr[0] == '!' || set.ptr[0] == '^';
	if (negated)
		(void)next_char(glob, &set);
	while (set.len != 0) {
		int (*has)(int c) = cut_class(&set);
		uint32_t from, to;

		if (has != NULL) {
			if (c < 128 && has((int)c) != 0)
				return !negated;
			continue;
		}
		from = to = next_literal(glob, &set);
		if (set.len >= 2 && set.ptr[0] == '-') {
			(void)next_char(glob, &set);
			to = next_literal(glob, &set);
		}
		if (is_in_range(glob, c, from, to))
			return !negated;
	}
	return negated;
}

/* Cuts off the stars that follow a first one. `starts_name`: the first star begins a name. */
static enum token_kind cut_stars(const struct glob *glob, bool starts_name, struct view *rest)
{
	bool is_git = (glob->flags & GLOB_GIT) != 0;
	size_t count = 1;

	for (; rest->len != 0 && rest->ptr[0] == '*'; count++)
		(void)next_char(glob, rest);
	if (count == 1 || (is_git && (count != 2 || !starts_name)))
		return TOKEN_STAR;
	if (starts_name && view_starts(*rest, "/")) {
		(void)next_char(glob, rest);
		return TOKEN_DIRS;
	}
	/* To git "**" "\\/" needs a directory in front of the slash, unlike "**" "/". */
	return is_git && rest->len != 0 && !view_starts(*rest, "\\/") ? TOKEN_STAR : TOKEN_DEEP;
}

static struct token token_at(const struct glob *glob, size_t at)
{
	struct view rest = { glob->pattern.ptr + at, glob->pattern.len - at };
	bool is_git = (glob->flags & GLOB_GIT) != 0;
	struct token token = { .kind = TOKEN_CHAR };

	token.c = next_char(glob, &rest);
	if (token.c == '*')
		token.kind = cut_stars(glob, at == 0 || glob->pattern.ptr[at - 1] == '/', &rest);
	else if (token.c == '?')
		token.kind = TOKEN_ANY;
	else if (token.c == '[' && cut_set(glob, &rest, &token.set))
		token.kind = TOKEN_SET;
	else if (token.c == '\\' && rest.len != 0)
		token.c = next_char(glob, &rest);
	else if (is_git && (token.c == '[' || token.c == '\\'))
		token.kind = TOKEN_NOTHING;
	token.next = glob->pattern.len - rest.len;
	return token;
}

/* True if no token matches a slash: glob_match_path() then compares the last name of a path
 * only. */
static bool is_name_only(const struct glob *glob)
{
	for (size_t at = 0; at < glob->pattern.len;) {
		struct token token = token_at(glob, at);

		if (token.kind >= TOKEN_DEEP || (token.kind == TOKEN_CHAR && token.c == '/'))
			return false;
		at = token.next;
	}
	return true;
}

void glob_set(struct glob *glob, struct view pattern, unsigned flags)
{
	size_t start = 0;

	assert(pattern.len <= GLOB_PATTERN_MAX);
	glob->flags = flags;
	if ((flags & GLOB_GIT) == 0)
		start = view_starts(pattern, "./") ? 2 : view_starts(pattern, "/");
	glob->pattern = (struct view){ pattern.ptr + start, pattern.len - start };
	glob->is_name = (flags & GLOB_GIT) == 0 && start == 0 && is_name_only(glob);
}

static void spend_steps(struct glob *glob, uint64_t steps)
{
	glob->steps_left -= steps < glob->steps_left ? steps : glob->steps_left;
}

/* Returns false if the state was entered in this round already. */
static bool add_state(struct glob *glob, size_t state)
{
	if (glob->seen[state] == glob->round)
		return false;
	glob->seen[state] = glob->round;
	glob->next.items[glob->next.count++] = (uint16_t)state;
	return true;
}

/* Enters a state, and those that can be reached from it with the empty text. */
static void enter_state(struct glob *glob, size_t state)
{
	while (add_state(glob, state) && state != glob->pattern.len) {
		struct token token = token_at(glob, state);

		if (token.kind < TOKEN_STAR)
			return;
		state = token.next;
	}
}

/* Follows one state with one character. */
static void follow_state(struct glob *glob, size_t state, uint32_t c)
{
	struct token token;

	if (state == glob->pattern.len)
		return;
	token = token_at(glob, state);
	spend_steps(glob, 1 + token.set.len);
	switch (token.kind) {
	case TOKEN_CHAR:
		if (is_same_char(glob, token.c, c))
			enter_state(glob, token.next);
		return;
	case TOKEN_ANY:
		if (c != '/')
			enter_state(glob, token.next);
		return;
	case TOKEN_SET:
		if (c != '/' && is_in_set(glob, token.set, c))
			enter_state(glob, token.next);
		return;
	case TOKEN_NOTHING:
		/* token_at() has searched the rest of the pattern for the end of the set. */
		spend_steps(glob, glob->pattern.len - state);
		return;
	case TOKEN_STAR:
		if (c != '/')
			enter_state(glob, state);
		return;
	case TOKEN_DEEP:
		enter_state(glob, state);
		return;
	case TOKEN_DIRS:
		/* Within a directory's name, the token behind "**" "/" is not reached. */
		(void)add_state(glob, state);
		if (c == '/')
			enter_state(glob, token.next);
		return;
	}
}

/* The next set of states is complete and becomes the current one. */
static void end_round(struct glob *glob)
{
	glob->now.count = glob->next.count;
	memcpy(glob->now.items, glob->next.items, glob->next.count * sizeof glob->next.items[0]);
	glob->next.count = 0;
	if (++glob->round == 0) { /* once in 2^32 rounds */
		memset(glob->seen, 0, sizeof glob->seen);
		glob->round = 1;
	}
}

static bool is_at_end(const struct glob *glob)
{
	for (size_t i = 0; i < glob->now.count; i++)
		if (glob->now.items[i] == glob->pattern.len)
			return true;
	return false;
}

/* True for characters that are never special outside of a set. */
static bool is_literal(char c)
{
	return isalnum((unsigned char)c) != 0 || c == '.' || c == '_' || c == '-';
}

/* Compares the literal characters that the pattern begins and ends with. Most rules of a
 * .gitignore fail here, which is much faster than following states. A closed set ends in ']', so
 * the literal characters at the end are in none. "**" "/" matches no characters at all: no slash
 * at the end. */
static bool may_match(const struct glob *glob, struct view text)
{
	struct view pattern = glob->pattern;

	if ((glob->flags & GLOB_IGNORE_CASE) != 0)
		return true;
	for (size_t i = 0; i < pattern.len && (is_literal(pattern.ptr[i]) || pattern.ptr[i] == '/');
	     i++)
		if (i >= text.len || text.ptr[i] != pattern.ptr[i])
			return false;
	for (size_t i = 1; i <= pattern.len && is_literal(pattern.ptr[pattern.len - i]); i++)
		if (i > text.len || text.ptr[text.len - i] != pattern.ptr[pattern.len - i])
			return false;
	return true;
}

bool glob_match(struct glob *glob, struct view text, uint64_t *steps)
{
	bool found;

	glob->steps_left = *steps;
	spend_steps(glob, 1);
	if (!may_match(glob, text)) {
		*steps = glob->steps_left;
		return false;
	}
	glob->next.count = 0;
	end_round(glob);
	enter_state(glob, 0);
	end_round(glob);
	while (text.len != 0 && glob->now.count != 0 && glob->steps_left != 0) {
		uint32_t c = next_char(glob, &text);

		for (size_t i = 0; i < glob->now.count; i++)
			follow_state(glob, glob->now.items[i], c);
		end_round(glob);
	}
	found = text.len == 0 && glob->steps_left != 0 && is_at_end(glob);
	*steps = glob->steps_left;
	return found;
}

bool glob_match_path(struct glob *glob, struct view path)
{
	uint64_t steps = UINT64_MAX;
	const char *slash = NULL;

	if (glob->is_name && path.len != 0)
		slash = memrchr(path.ptr, '/', path.len);
	if (slash != NULL)
		path = (struct view){ slash + 1, path.len - (size_t)(slash + 1 - path.ptr) };
	return glob_match(glob, path, &steps);
}

bool glob_match_lines(struct glob *glob, struct view patterns, unsigned flags, struct view path)
{
	struct view pattern;

	while (view_next_line(&patterns, &pattern)) {
		glob_set(glob, pattern, flags);
		if (glob_match_path(glob, path))
			return true;
	}
	return false;
}
