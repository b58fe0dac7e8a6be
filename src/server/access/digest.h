/* digest.h - SHA-256, and comparing of secrets: OpenSSL, wrapped. */
#pragma once
#include <stdbool.h>

#include "base/view.h"

enum { DIGEST_SIZE = 32 };

/* The first call must come before confine_server(): OpenSSL reads its configuration then. */
void digest_sha256(struct view bytes, unsigned char out[DIGEST_SIZE]);
/* Takes the same time whether and wherever the two differ. */
bool digest_is_equal(const unsigned char a[DIGEST_SIZE], const unsigned char b[DIGEST_SIZE]);
