/* ansi_strip.h - removes terminal control sequences from the output of sandboxed programs.
 *
 * Escape sequences (ECMA-48) can change the clipboard, make the terminal answer as if the user had
 * typed, or hide text that was printed before. The filter removes all of them, colours included;
 * text, line ends, tabs and carriage returns stay. ansi_filter.h is for programs that need the
 * terminal, such as editors. */
#pragma once
#include <stddef.h>

/* The sequence that the last byte is part of: a sequence may be split between two calls. */
enum ansi_strip_state {
	STRIP_TEXT,
	STRIP_C2,        /* 0xc2: the first byte of U+0080 to U+00BF in UTF-8 */
	STRIP_ESCAPE,    /* ESC */
	STRIP_CSI,       /* ESC [ */
	STRIP_STRING,    /* ESC ] and the like: text up to BEL or ESC \ */
	STRIP_STRING_C2, /* 0xc2 within such a text */
};

/* Zeroed before the first byte. */
struct ansi_strip {
	enum ansi_strip_state state;
};

/* Copies the text among `len` bytes to `out`, which has room for len + 1 bytes: one byte may be
 * left over from the previous call. Returns the number of bytes written. */
size_t ansi_strip_bytes(struct ansi_strip *strip, const char *in, size_t len, char *out);
