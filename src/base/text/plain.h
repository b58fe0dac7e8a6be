/* plain.h - a program's output for somebody's terminal: text stays, commands to the terminal go.
 *
 * Such commands can put words into the clipboard, answer as if typed, or hide what was printed.
 * Line ends, tabs and carriage returns stay; colours go with the rest. */
#pragma once
#include <stddef.h>

enum plain_state { PLAIN_TEXT, PLAIN_C2, PLAIN_ESCAPE, PLAIN_CSI, PLAIN_STRING, PLAIN_STRING_C2 };

/* All zero: nothing read yet. */
struct plain {
	enum plain_state state;
};

/* Of `len` bytes, the text goes to `out`, which has room for len + 1: a byte of the last call may
 * be added. Returns how many. */
size_t plain_filter(struct plain *plain, const char *in, size_t len, char *out);
