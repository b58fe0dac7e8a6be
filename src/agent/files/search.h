/* search.h - does a line contain this? A text as it is, or a POSIX extended expression.
 *
 * A text is looked for in a whole line, an expression in its first 4 KiB. To an expression a
 * character is a byte, and what comes behind a NUL is not there. Ignoring case means A to Z
 * for a text, and what the C library's expressions take it to mean in the C locale.
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
	SEARCH_LINE_MAX = 64 * 1024,       /* of a line that is looked at */
	SEARCH_EXPRESSION_LINE_MAX = 4096, /* the same for expressions */
	SEARCH_EXPRESSION_MAX = 1024,      /* of an expression, repetitions written out */
	SEARCH_EXPRESSION_GROUPS_MAX = 64, /* within one another */
};

struct search {
	bool is_expression, ignore_case;
	/* What a line that matches has in it, folded if case does not matter: the pattern itself,
	 * or the longest text that an expression cannot do without. Empty: not known. */
	struct view text;
	regex_t expression;
	char pattern[WIRE_PATTERN_MAX];
	char copy[SEARCH_LINE_MAX]; /* of a line: folded, or terminated for an expression */
};

/* Flags: of enum WIRE_WALK_*. The pattern has at most WIRE_PATTERN_MAX bytes and need not stay. */
MUST_CHECK int search_init(struct search *search, struct view pattern, unsigned flags,
                           struct error *err);
void search_done(struct search *search);

/* False: none of these lines, SEARCH_LINE_MAX bytes at most, can match. Much faster than asking
 * each. */
bool search_maybe(struct search *search, struct view lines);

/* 1: yes, and where it starts; 0: no. A line is at most SEARCH_LINE_MAX bytes, without its
 * end. */
MUST_CHECK int search_line(struct search *search, struct view line, size_t *ret_at,
                           struct error *err);
