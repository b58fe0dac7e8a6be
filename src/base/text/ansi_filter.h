/* ansi_filter.h - lets through only those terminal control sequences that are harmless.
 *
 * For interactive programs in a sandbox, such as shells and editors. Colours, cursor movement,
 * erasing, scrolling, the alternate screen, and key and mouse modes stay. Sequences that set
 * titles, the clipboard or links are removed, and so are those that make the terminal print, or
 * send an answer that the program on the host side would read as typed input. ansi_strip.h
 * removes all sequences. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { ANSI_FILTER_HELD_MAX = 64, ANSI_FILTER_RESET_MAX = 160 };

/* The sequence that the last byte is part of, as in ansi_strip.h. */
enum ansi_filter_state {
	FILTER_TEXT,
	FILTER_C2,
	FILTER_ESCAPE,
	FILTER_CSI,
	FILTER_STRING,
	FILTER_STRING_C2,
};

/* Zeroed before the first byte. */
struct ansi_filter {
	enum ansi_filter_state state;
	char held[ANSI_FILTER_HELD_MAX]; /* an incomplete sequence */
	size_t held_len;                 /* above the maximum: the sequence will be removed */
	unsigned changed; /* bit i: modes[i] of ansi_filter.c differs from its default */
	bool has_region;  /* a scroll region is set */
};

/* Copies what may pass of `len` bytes to `out`, which has room for len + ANSI_FILTER_HELD_MAX
 * bytes. Returns the number of bytes written. */
size_t ansi_filter_bytes(struct ansi_filter *filter, const char *in, size_t len, char *out);
/* Writes the sequences that undo all modes the program has set, and starts over. Returns the
 * number of bytes written. */
size_t ansi_filter_reset(struct ansi_filter *filter, char out[ANSI_FILTER_RESET_MAX]);
