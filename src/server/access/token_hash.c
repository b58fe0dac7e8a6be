#include "server/access/token_hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>

void token_hash(struct view bytes, unsigned char out[TOKEN_HASH_SIZE])
{
	/* EVP_Digest() fails only if memory runs out or the library was built without SHA-256. */
	if (EVP_Digest(bytes.ptr, bytes.len, out, NULL, EVP_sha256(), NULL) != 1)
		abort();
}

bool token_hash_is_equal(const unsigned char a[TOKEN_HASH_SIZE],
                         const unsigned char b[TOKEN_HASH_SIZE])
{
	return CRYPTO_memcmp(a, b, TOKEN_HASH_SIZE) == 0;
}
