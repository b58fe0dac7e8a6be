/* glob.h - patterns for names and paths, with "**".
 *
 *   *        any characters but '/'
 *   ?        one character but '/'
 *   [abc] [a-z] [[:digit:]] [!abc] [^abc]   one of these, or none of these; never '/'. A ']' that
 *            comes first is meant itself, and so is a '[' without an end
 *   **       any characters, slashes too; with a slash behind it ("**" "/x", "a/" "**" "/x") any
 *            number of whole directories, none included
 *   \x       x itself
 *
 * Dots are nothing special. Characters are UTF-8; a byte that is not is a character of its own.
 * GLOB_GIT means a line of .gitignore as git reads it: characters are bytes; "**" is special only
 * as a whole name, elsewhere it is '*'; a set may contain a slash, which then matches nothing; a
 * '[' without an end and a backslash at the end match nothing.
 *
 * The pattern is an automaton whose states are offsets into the pattern; all states that are
 * possible after a character are followed at once. So a match takes at most the product of the two
 * lengths, where backtracking would take exponential time for a hostile pattern.
 *
 *   zeroed -> glob_set -> glob_match ...    (the struct is the caller's; it points into the
 *                                            pattern; glob_set may be called again) */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"

enum { GLOB_PATTERN_MAX = 4096 };
enum glob_flags {
	GLOB_IGNORE_CASE = 1, /* of A to Z */
	GLOB_GIT = 2,
};

/* States that are possible now; each once. */
struct glob_states {
	uint16_t items[GLOB_PATTERN_MAX + 1];
	size_t count;
};

struct glob {
	struct view pattern;
	unsigned flags;
	bool is_name; /* see glob_match_path() */
	/* of the match under way */
	uint64_t steps_left;
	struct glob_states now, next;
	uint32_t seen[GLOB_PATTERN_MAX + 1]; /* the round in which a state was entered last */
	uint32_t round;
};

/* The pattern has at most GLOB_PATTERN_MAX bytes. */
void glob_set(struct glob *glob, struct view pattern, unsigned flags);

/* Whether the pattern matches the whole text. What it costs is subtracted from *steps, each step
 * some nanoseconds; at 0 the match is given up and the result means nothing. */
bool glob_match(struct glob *glob, struct view text, uint64_t *steps);

/* Whether the pattern, not of GLOB_GIT, matches a path: a pattern with a slash or "**" in it the
 * whole path, any other one the last name of it. A slash or "./" in front of the pattern stands
 * for the start of the path. */
bool glob_match_path(struct glob *glob, struct view path);
