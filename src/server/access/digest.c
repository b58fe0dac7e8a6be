#include "server/access/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>

void digest_sha256(struct view bytes, unsigned char out[DIGEST_SIZE])
{
	/* EVP_Digest() fails only if memory runs out or the library was built without SHA-256. */
	if (EVP_Digest(bytes.ptr, bytes.len, out, NULL, EVP_sha256(), NULL) != 1)
		abort();
}

bool digest_is_equal(const unsigned char a[DIGEST_SIZE], const unsigned char b[DIGEST_SIZE])
{
	return CRYPTO_memcmp(a, b, DIGEST_SIZE) == 0;
}
