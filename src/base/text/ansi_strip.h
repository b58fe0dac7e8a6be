/* plain.h - a program's output for somebody's terminal: text stays, commands to the terminal go.
 *
 * Such commands can put words into the clipboard, answer as if typed, or hide what was printed.
 * Line ends, tabs and carriage returns stay; colours go with the rest. */
#pragma once
#include <stddef.h>

enum ansi_strip_state {
	STRIP_TEXT,
	STRIP_C2,
	STRIP_ESCAPE,
	STRIP_CSI,
	STRIP_STRING,
	STRIP_STRING_C2
};

/* All zero: nothing read yet. */
struct ansi_strip {
	enum ansi_strip_state state;
};

/* Of `len` bytes, the text goes to `out`, which has room for len + 1: a byte of the last call may
 * be added. Returns how many. */
size_t ansi_strip_bytes(struct ansi_strip *plain, const char *in, size_t len, char *out);
