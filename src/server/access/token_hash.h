/* token_hash.h - the SHA-256 of a token, and its comparison in constant time: OpenSSL, wrapped. */
#pragma once
#include <stdbool.h>

#include "base/view.h"
#include "server/access/token_file.h"

/* The first call must come before confine_server(): OpenSSL reads its configuration then. */
void token_hash(struct view bytes, unsigned char out[TOKEN_HASH_SIZE]);
/* Takes the same time whether and wherever the two differ. */
bool token_hash_is_equal(const unsigned char a[TOKEN_HASH_SIZE],
                         const unsigned char b[TOKEN_HASH_SIZE]);
