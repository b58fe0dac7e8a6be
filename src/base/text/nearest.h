/* nearest.h - finds the known name closest to a mistyped one, for "did you mean" in errors. */
#pragma once
#include <stddef.h>

struct nearest {
	const char *name; /* the closest so far; NULL if none is close enough */
	size_t distance;  /* half edits between it and the typed name */
};

/* Compares one known name; call it for each of them with the same struct, zeroed at first. Keeps
 * the first of the closest names that is at most a third of the typed name's length (at least one
 * edit) away and keeps at least one of its characters. A typed text of three or more characters
 * with which a known name begins ("claude" for "claude-code") counts as one edit away, and one that
 * shortens it otherwise ("run_cmd" for "run_command") as one and a half. */
void nearest_consider(struct nearest *best, const char *typed, const char *known);
