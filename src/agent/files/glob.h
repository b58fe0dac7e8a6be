/* glob.h - names and paths that look like a pattern.
 *
 *   *        any characters but '/'
 *   ?        one character but '/'
 *   [abc] [a-z] [!abc] [^abc]   one of these, or none of these; never '/'. A ']' that comes
 *            first is meant itself, and so is a '[' without an end
 *   **       any characters, slashes too; with a slash behind it ("**" "/x", "a/" "**" "/x") any
 *            number of whole directories, none included
 *   \x       x itself
 *
 * A pattern with a slash or "**" in it is held against the whole path, any other against
 * the last name of it. A slash or "./" in front means where the walk starts, as no slash
 * does. Dots are nothing special. Characters are UTF-8; a byte that is not is a character
 * of its own. Ignoring case means A to Z.
 *
 * The pattern is a small automaton whose states are walked all at once: the time is at most the
 * product of the two lengths, whatever the pattern.
 *
 *   glob_init -> glob_match ...    (the struct is the caller's; it points into the pattern) */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"
#include "wire/table.h"

struct error;

enum glob_kind { GLOB_CHAR, GLOB_ANY, GLOB_SET, GLOB_STAR, GLOB_DEEP, GLOB_DIRS };

struct glob_token {
	enum glob_kind kind;
	uint32_t c;      /* CHAR */
	struct view set; /* SET: between the brackets */
};

struct glob_states { /* that may be the one we are in; each once */
	uint16_t items[WIRE_PATTERN_MAX + 1];
	size_t count;
};

struct glob {
	bool ignore_case;
	bool whole; /* against the whole path */
	size_t count;
	struct glob_token tokens[WIRE_PATTERN_MAX];
	/* of the match under way */
	struct glob_states now, next;
	uint32_t seen[WIRE_PATTERN_MAX + 1]; /* the step that a state was entered in last */
	uint32_t step;
};

/* The pattern has at most WIRE_PATTERN_MAX bytes. */
MUST_CHECK int glob_init(struct glob *glob, struct view pattern, bool ignore_case,
                         struct error *err);
bool glob_match(struct glob *glob, struct view path);
