/* utf8.h - checks, cuts and escapes text from clients, files and programs. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/view.h"

/* The length of the well-formed character at the front of v, or 0 if there is none. Overlong
 * forms, surrogates and anything above U+10FFFF are not well formed. */
size_t utf8_char_len(struct view v);
/* The code point of a well-formed character; n is its length, from utf8_char_len(). */
uint32_t utf8_code_point(const char *text, size_t n);
bool utf8_is_valid(struct view v);

/* The length of the longest prefix of at most `max` bytes that does not end inside a character. */
size_t utf8_prefix(const char *text, size_t len, size_t max);

/* Writes v into out as one printable line: control characters, bidirectional and invisible marks,
 * and bytes that are not UTF-8 become \n, \xNN or \uNNNN. A text that does not fit is cut and
 * ends in "...". Returns out; sizes below 8 give "". */
const char *utf8_escape(struct view v, char *out, size_t size);
/* The same for one use as an argument, in memory that lasts until the end of the enclosing block.
 * `size_` is a constant. */
#define UTF8_ESCAPED(view_, size_) utf8_escape(view_, (char[size_]){ 0 }, size_)
