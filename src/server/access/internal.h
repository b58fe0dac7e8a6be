/* internal.h - the texts that reading and writing tokens share. */
#pragma once

#define TOKEN_PREFIX    "bj_"
#define TOKEN_ID_PREFIX "tk_"
#define TOKEN_USER_RULE "1 to 64 letters, digits and . _ @ + -, a letter or digit first"
#define TOKEN_NOTE_RULE "1 to 100 bytes of printable text"
