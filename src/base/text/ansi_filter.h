/* screen.h - the output of programs that draw: what they need of a terminal stays, what could be
 * turned against whoever sits there goes.
 *
 * Colours, moving, erasing, scrolling, the second screen, keys and mouse as editors want them
 * stay. What sets titles, clipboards and links goes, and what makes the terminal answer as if the
 * answer had been typed, or print. Where plain.h is for text, this is for shells. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { ANSI_FILTER_HELD_MAX = 64, ANSI_FILTER_RESET_MAX = 160 };

enum ansi_filter_state {
	FILTER_TEXT,
	FILTER_C2,
	FILTER_ESCAPE,
	FILTER_CSI,
	FILTER_STRING,
	FILTER_STRING_C2,
};

/* All zero: nothing read yet. */
struct ansi_filter {
	enum ansi_filter_state state;
	char held[ANSI_FILTER_HELD_MAX]; /* a command, until it is whole */
	size_t held_len;                 /* past the maximum: it is not let through */
	unsigned changed;                /* modes that are not as they were: a bit for each */
	bool has_region;                 /* only a part of the screen scrolls */
};

/* Of `len` bytes, what may pass goes to `out`, which has room for len + ANSI_FILTER_HELD_MAX. Returns
 * how many. */
size_t ansi_filter_bytes(struct ansi_filter *screen, const char *in, size_t len, char *out);
/* What puts the terminal back, whatever was drawn. Returns how many bytes. */
size_t ansi_filter_reset(struct ansi_filter *screen, char out[ANSI_FILTER_RESET_MAX]);
