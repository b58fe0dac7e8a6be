/* utf8.h - strangers' text: is it UTF-8, where may it be cut, how is it shown safely. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/view.h"

/* Bytes of the well-formed character at the front of v, or 0 if there is none
 * (overlong forms, surrogates and anything past U+10FFFF are not well formed). */
size_t utf8_char_len(struct view v);
bool utf8_is_valid(struct view v);

/* The longest prefix of at most `max` bytes that does not end within a character. */
size_t utf8_prefix(const char *text, size_t len, size_t max);

/* Writes v into out as one printable line: controls, marks that reorder text and bytes
 * that are not UTF-8 become \n, \xNN or \uNNNN, and what does not fit ends in "...".
 * Returns out. */
const char *utf8_escape(struct view v, char *out, size_t size);
