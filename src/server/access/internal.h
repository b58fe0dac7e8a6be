/* internal.h - the texts that reading and writing tokens share. */
#pragma once

#define TOKEN_PREFIX    "bj_"
#define TOKEN_ID_PREFIX "tk_"
/* Base 32 of RFC 4648 in lower case. */
#define TOKEN_DIGITS    "abcdefghijklmnopqrstuvwxyz234567"
#define TOKEN_USER_RULE "1 to 64 letters, digits and . _ @ + -, a letter or digit first"
#define TOKEN_NOTE_RULE "1 to 100 bytes of printable text"
