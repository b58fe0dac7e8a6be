#include "agent/files/search.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"

enum { SHOWN = 128, REPEAT_CAP = 1000 };

static void copy_lower(char *out, struct view text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		out[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
}

/* --- the size of an expression ----------------------------------------------------- */

/* regcomp() of musl writes repetitions out: ((a{255}){255}){255} is sixteen million states and more
 * memory than the worker may use. check_expression_size() counts roughly as regcomp() does; for
 * expressions that regcomp() refuses the result does not matter. */
struct group {
	unsigned total; /* size of everything in it */
	unsigned last;  /* size of what a repetition behind it would repeat */
};

static void skip_byte(struct view *rest)
{
	rest->ptr++;
	rest->len--;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* How many copies {2}, {2,} or {2,5} makes. *rest starts behind the opening brace. */
static unsigned cut_repetition(struct view *rest)
{
	unsigned most = 1, number = 0;

	while (rest->len != 0 && (is_digit(rest->ptr[0]) || rest->ptr[0] == ',')) {
		number = is_digit(rest->ptr[0]) ? number * 10 + (unsigned)(rest->ptr[0] - '0') : 0;
		number = number > REPEAT_CAP ? REPEAT_CAP : number;
		most = number > most ? number : most;
		skip_byte(rest);
	}
	if (rest->len != 0 && rest->ptr[0] == '}')
		skip_byte(rest);
	return most;
}

/* Skips a set such as [^]a[:digit:]]. *rest starts behind the opening bracket. */
static void skip_set(struct view *rest)
{
	if (rest->len != 0 && rest->ptr[0] == '^')
		skip_byte(rest);
	if (rest->len != 0 && rest->ptr[0] == ']')
		skip_byte(rest);
	while (rest->len != 0 && rest->ptr[0] != ']') {
		if (view_starts(*rest, "[:") || view_starts(*rest, "[.") ||
		    view_starts(*rest, "[=")) {
			char kind = rest->ptr[1];

			rest->ptr += 2;
			rest->len -= 2;
			while (rest->len >= 2 && (rest->ptr[0] != kind || rest->ptr[1] != ']'))
				skip_byte(rest);
			if (rest->len >= 2)
				skip_byte(rest);
		}
		if (rest->len != 0)
			skip_byte(rest);
	}
	if (rest->len != 0)
		skip_byte(rest);
}

static void count_atom(struct group *group, unsigned size)
{
	group->total += size;
	group->last = size;
}

/* Counts the next element. False: too many nested groups. */
static bool count_element(struct group *groups, size_t *depth, struct view *rest)
{
	struct group *group = &groups[*depth];
	char c = rest->ptr[0];
	unsigned copies;

	skip_byte(rest);
	if (c == '(') {
		if (*depth == SEARCH_EXPRESSION_GROUPS_MAX)
			return false;
		groups[++*depth] = (struct group){ 0 };
	} else if (c == ')' && *depth != 0) {
		count_atom(&groups[--*depth], group->total + 1);
	} else if (c == '{') {
		copies = cut_repetition(rest);
		group->total += group->last * (copies - 1);
		group->last *= copies;
	} else if (c != '*' && c != '+' && c != '?') {
		if (c == '[')
			skip_set(rest);
		else if (c == '\\' && rest->len != 0)
			skip_byte(rest);
		count_atom(group, 1);
	}
	return true;
}

static int check_expression_size(struct view pattern, struct error *err)
{
	struct group groups[SEARCH_EXPRESSION_GROUPS_MAX + 1] = { 0 };
	struct view rest = pattern;
	size_t depth = 0;

	while (rest.len != 0) {
		if (!count_element(groups, &depth, &rest))
			return error_set(err, ERR_LIMIT,
			                 "the expression has more than %d nested groups: "
			                 "write it flatter",
			                 SEARCH_EXPRESSION_GROUPS_MAX);
		if (groups[depth].total > SEARCH_EXPRESSION_MAX)
			return error_set(err, ERR_LIMIT,
			                 "the expression is longer than %d characters with its "
			                 "repetitions written out: "
			                 "repeat less",
			                 SEARCH_EXPRESSION_MAX);
	}
	return 0;
}

/* --- the text that an expression requires ------------------------------------------ */

/* The longest sequence of plain characters outside of all groups that is not optional goes into
 * search->pattern. In doubt no text is found: a wrong one would hide matches. */
struct literal {
	char text[WIRE_PATTERN_MAX];
	size_t len;
};

static void end_literal(struct search *search, struct literal *literal)
{
	if (literal->len > search->text.len) {
		memcpy(search->pattern, literal->text, literal->len);
		search->text = (struct view){ search->pattern, literal->len };
	}
	literal->len = 0;
}

/* Takes a character that stands for itself off the front of *rest; 0 if it does not. */
static char cut_plain(struct view *rest)
{
	bool escaped = rest->ptr[0] == '\\' && rest->len > 1;
	char c = rest->ptr[escaped];

	/* \w, \b, \< and \` are special in some C libraries and plain in others. */
	if (escaped ? strchr(".[]()*+?{}|^$\\/-", c) == NULL : strchr(".[()*+?{|^$\\", c) != NULL)
		return '\0';
	rest->ptr += 1 + escaped;
	rest->len -= 1u + escaped;
	return c;
}

/* Skips the group that *rest starts with, or everything if it has no end. */
static void skip_group(struct view *rest)
{
	size_t depth = 0;

	do {
		char c = rest->ptr[0];

		skip_byte(rest);
		if (c == '\\' && rest->len != 0)
			skip_byte(rest);
		else if (c == '[')
			skip_set(rest);
		else if (c == '(')
			depth++;
		else if (c == ')')
			depth--;
	} while (depth != 0 && rest->len != 0);
}

/* Skips the special character at the front of *rest with all that belongs to it. */
static void skip_special(struct search *search, struct literal *literal, struct view *rest)
{
	char c = rest->ptr[0];

	/* The character before it may be optional; even that of "a+", in "a+*". */
	if (literal->len != 0 && (c == '*' || c == '+' || c == '?' || c == '{'))
		literal->len--;
	end_literal(search, literal);
	if (c == '(') {
		skip_group(rest);
		return;
	}
	skip_byte(rest);
	if (c == '[')
		skip_set(rest);
	else if (c == '{')
		(void)cut_repetition(rest);
	else if (c == '\\' && rest->len != 0)
		skip_byte(rest);
}

static void find_required_text(struct search *search, struct view pattern)
{
	struct literal literal = { .len = 0 };

	search->text = (struct view){ search->pattern, 0 };
	while (pattern.len != 0) {
		char c = cut_plain(&pattern);

		if (c != '\0') {
			literal.text[literal.len++] = c;
		} else if (pattern.ptr[0] == '|') { /* an alternative need not contain it */
			search->text.len = 0;
			return;
		} else {
			skip_special(search, &literal, &pattern);
		}
	}
	end_literal(search, &literal);
	if (search->ignore_case)
		copy_lower(search->pattern, search->text);
}

/* --- searching --------------------------------------------------------------------- */

static int compile_expression(struct search *search, struct view pattern, struct error *err)
{
	char text[WIRE_PATTERN_MAX + 1], reason[SHOWN], shown[SHOWN];
	int flags = REG_EXTENDED | (search->ignore_case ? REG_ICASE : 0), code;

	if (check_expression_size(pattern, err) < 0)
		return -1;
	memcpy(text, pattern.ptr, pattern.len);
	text[pattern.len] = '\0';
	code = regcomp(&search->expression, text, flags);
	if (code == 0)
		return 0;
	(void)regerror(code, &search->expression, reason, sizeof reason);
	return error_set(err, code == REG_ESPACE ? ERR_LIMIT : ERR_INVALID,
	                 "the expression '%s': %s", utf8_escape(pattern, shown, sizeof shown),
	                 reason);
}

int search_init(struct search *search, struct view pattern, unsigned flags, struct error *err)
{
	search->is_expression = false; /* search_done() must not free before regcomp() succeeded */
	search->ignore_case = (flags & WIRE_WALK_IGNORE_CASE) != 0;
	if (pattern.len == 0 || pattern.len > WIRE_PATTERN_MAX)
		return error_set(err, ERR_INVALID, "the pattern has %zu bytes: give 1 to %d",
		                 pattern.len, WIRE_PATTERN_MAX);
	if (memchr(pattern.ptr, '\n', pattern.len) != NULL)
		return error_set(err, ERR_INVALID,
		                 "the pattern contains a line break: "
		                 "lines are searched one by one, "
		                 "look for a part of one line");
	if ((flags & WIRE_WALK_REGEX) != 0) {
		if (compile_expression(search, pattern, err) < 0)
			return -1;
		search->is_expression = true;
		find_required_text(search, pattern);
		return 0;
	}
	if (search->ignore_case)
		copy_lower(search->pattern, pattern);
	else
		memcpy(search->pattern, pattern.ptr, pattern.len);
	search->text = (struct view){ search->pattern, pattern.len };
	return 0;
}

void search_done(struct search *search)
{
	if (search->is_expression)
		regfree(&search->expression);
	search->is_expression = false;
}

static int match_expression(struct search *search, struct view line, size_t *ret_at,
                            struct error *err)
{
	bool cut = line.len > SEARCH_EXPRESSION_LINE_MAX;
	size_t len = cut ? SEARCH_EXPRESSION_LINE_MAX : line.len;
	regmatch_t at[1];
	int code;

	if (len != 0)
		memcpy(search->copy, line.ptr, len);
	search->copy[len] = '\0';
	code = regexec(&search->expression, search->copy, 1, at, cut ? REG_NOTEOL : 0);
	if (code == REG_NOMATCH)
		return 0;
	if (code != 0)
		return error_set(err, ERR_LIMIT,
		                 "the expression needs more memory than there is: make it simpler");
	*ret_at = (size_t)at[0].rm_so;
	return 1;
}

/* Finds search->text in these bytes. */
static bool find_text(struct search *search, struct view bytes, size_t *ret_at)
{
	const char *found;

	assert(bytes.len <= SEARCH_LINE_MAX);
	if (bytes.len < search->text.len)
		return false;
	if (search->ignore_case) {
		copy_lower(search->copy, bytes);
		bytes.ptr = search->copy;
	}
	found = memmem(bytes.ptr, bytes.len, search->text.ptr, search->text.len);
	if (found != NULL)
		*ret_at = (size_t)(found - bytes.ptr);
	return found != NULL;
}

bool search_maybe(struct search *search, struct view lines)
{
	size_t at;

	return search->text.len == 0 || find_text(search, lines, &at);
}

int search_line(struct search *search, struct view line, size_t *ret_at, struct error *err)
{
	if (!search->is_expression)
		return find_text(search, line, ret_at);
	return search_maybe(search, line) ? match_expression(search, line, ret_at, err) : 0;
}
