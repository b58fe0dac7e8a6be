/* glob.h - patterns for names and paths, with "**".
 *
 *   *        any characters but '/'
 *   ?        one character but '/'
 *   [abc] [a-z] [[:digit:]] [!abc] [^abc]   one of these, or none of these; never '/'. A ']' that
 *            comes first is literal, and so is a '[' without a ']'
 *   **       any characters, slashes too; with a slash behind it ("**" "/x", "a/" "**" "/x") any
 *            number of whole directories, none included
 *   \x       the character x
 *
 * Dots are not special. Characters are UTF-8; any other byte is a character of its own.
 * GLOB_GIT means a line of .gitignore as git reads it: characters are bytes; "**" is special only
 * as a whole name, elsewhere it is '*'; a set may contain a slash, which then matches nothing; a
 * '[' without a ']' and a backslash at the end match nothing.
 *
 * The pattern is an automaton whose states are offsets into the pattern; all states that are
 * possible after a character are followed at once. So a match takes at most the product of the two
 * lengths, where backtracking would take exponential time for a hostile pattern.
 *
 *   zeroed -> glob_set -> glob_match ...    (the caller owns the struct, which points into
 *                                            the pattern; glob_set may be called again) */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"

enum { GLOB_PATTERN_MAX = 4096 };
enum glob_flags {
	GLOB_IGNORE_CASE = 1, /* of A to Z */
	GLOB_GIT = 2,
};

/* A set of states. */
struct glob_states {
	uint16_t items[GLOB_PATTERN_MAX + 1];
	size_t count;
};

struct glob {
	struct view pattern;
	unsigned flags;
	bool is_name; /* see glob_match_path() */
	/* during a match: */
	uint64_t steps_left;
	struct glob_states now, next;
	uint32_t seen[GLOB_PATTERN_MAX + 1]; /* the round in which each state was entered last */
	uint32_t round;
};

/* The pattern has at most GLOB_PATTERN_MAX bytes. */
void glob_set(struct glob *glob, struct view pattern, unsigned flags);

/* True if the pattern matches the whole text. *steps limits the time and is reduced by the steps
 * taken, of some nanoseconds each; at 0 the match stops and the result means nothing. */
bool glob_match(struct glob *glob, struct view text, uint64_t *steps);

/* True if the pattern matches a path: a pattern with a slash or "**" must match the whole path, any
 * other one its last name. A slash or "./" at the beginning of the pattern stands for the beginning
 * of the path. Not for GLOB_GIT. */
bool glob_match_path(struct glob *glob, struct view path);

/* Like glob_match_path() for several patterns, each on a line of its own: true if one of them
 * matches. Sets the glob. */
bool glob_match_lines(struct glob *glob, struct view patterns, unsigned flags, struct view path);
