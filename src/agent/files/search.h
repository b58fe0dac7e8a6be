/* search.h - whether a line contains a text, or matches a POSIX extended regular expression.
 *
 * A text is searched in a whole line, an expression in its first 4 KiB. To an expression a
 * character is a byte, and the line ends at a NUL. Ignoring case means A to Z for a text, and the
 * C locale for an expression. The C library's matcher takes time and memory in proportion to the
 * expression's size, so that size is limited.
 *
 *   search_init -> search_line ... -> search_done    (the struct is the caller's) */
#pragma once
#include <regex.h>
#include <stdbool.h>

#include "base/attr.h"
#include "base/view.h"
#include "wire/table.h"

struct error;

enum {
	SEARCH_LINE_MAX = 64 * 1024,       /* bytes of a line that are searched */
	SEARCH_EXPRESSION_LINE_MAX = 4096, /* the same for expressions */
	SEARCH_EXPRESSION_MAX = 1024,      /* size of an expression, repetitions written out */
	SEARCH_EXPRESSION_GROUPS_MAX = 64, /* nested groups */
};

struct search {
	bool is_expression, ignore_case;
	/* A text that every matching line contains, in lower case if case does not matter: the
	 * pattern itself, or the longest text that an expression requires. Empty: not known. */
	struct view text;
	regex_t expression;
	char pattern[WIRE_PATTERN_MAX];
	char copy[SEARCH_LINE_MAX]; /* of a line: in lower case, or terminated for regexec() */
};

/* flags are WIRE_WALK_REGEX and WIRE_WALK_IGNORE_CASE. The pattern is copied. */
MUST_CHECK int search_init(struct search *search, struct view pattern, unsigned flags,
                           struct error *err);
void search_done(struct search *search);

/* False if none of these lines, at most SEARCH_LINE_MAX bytes, can match. Much faster than
 * search_line() for each of them. */
bool search_maybe(struct search *search, struct view lines);

/* 1: the line matches, from byte *ret_at on; 0: it does not. A line has at most SEARCH_LINE_MAX
 * bytes, without its line feed. */
MUST_CHECK int search_line(struct search *search, struct view line, size_t *ret_at,
                           struct error *err);
