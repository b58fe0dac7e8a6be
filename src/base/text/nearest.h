/* nearest.h - "did you mean": the known name closest to a mistyped one. */
#pragma once
#include <stddef.h>

struct nearest {
	const char *name; /* the best so far; NULL while none is close enough */
	size_t distance;
};

/* Offer each known name in turn, starting from a zeroed struct; keeps the closest within
 * a third of the typed name's length (at least one edit), the first among equals. A name
 * that begins with what was typed counts as one edit away, from three characters on. */
void nearest_consider(struct nearest *best, const char *typed, const char *known);
