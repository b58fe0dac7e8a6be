#include "egress/mirror/digest.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/base64.h"

static const struct {
	const char *name;
	size_t bytes;
} kinds[] = { [DIGEST_NONE] = { "none", 0 },
	      [DIGEST_SHA256] = { "sha256", 32 },
	      [DIGEST_SHA512] = { "sha512", 64 } };

const char *digest_name(enum digest_kind kind)
{
	return kinds[kind].name;
}

static void write_hex(const unsigned char *bytes, size_t count, char *ret)
{
	for (size_t i = 0; i < count; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

/* The digits become a part of a file's name in the cache, so every other byte is refused: a slash
 * from a hostile index would lead out of the directory. */
struct digest digest_from_fragment(struct view text)
{
	struct digest found = { 0 };
	const size_t prefix = strlen("sha256="), len = 2 * kinds[DIGEST_SHA256].bytes;

	if (!view_starts(text, "sha256=") || text.len != prefix + len)
		return found;
	for (size_t i = 0; i < len; i++) {
		char digit = text.ptr[prefix + i];

		if (digit >= 'A' && digit <= 'F')
			digit = (char)(digit - 'A' + 'a');
		if (strchr("0123456789abcdef", digit) == NULL || digit == '\0')
			return (struct digest){ 0 };
		found.hex[i] = digit;
	}
	found.kind = DIGEST_SHA256;
	return found;
}

struct digest digest_from_integrity(const char *text)
{
	struct digest found = { 0 };
	const char *at = strstr(text, "sha512-");
	AUTO_FREE char *bytes = NULL;
	struct error ignored;
	struct view encoded;
	size_t len;

	if (at == NULL)
		return found;
	encoded = (struct view){ at + strlen("sha512-"), strcspn(at + strlen("sha512-"), " ?") };
	if (encoded.len > DIGEST_HEX_MAX || base64_decode(encoded, &bytes, &len, &ignored) < 0 ||
	    len != kinds[DIGEST_SHA512].bytes)
		return found;
	write_hex((const unsigned char *)bytes, len, found.hex);
	found.kind = DIGEST_SHA512;
	return found;
}

void digest_start(struct digest_state *state, enum digest_kind kind)
{
	*state = (struct digest_state){ .kind = kind };
	if (kind == DIGEST_NONE)
		return;
	state->context = EVP_MD_CTX_new();
	if (state->context == NULL ||
	    EVP_DigestInit_ex(state->context, kind == DIGEST_SHA256 ? EVP_sha256() : EVP_sha512(),
	                      NULL) != 1)
		abort(); /* out of memory */
}

void digest_bytes(struct digest_state *state, struct view bytes)
{
	if (state->context != NULL && EVP_DigestUpdate(state->context, bytes.ptr, bytes.len) != 1)
		abort(); /* fails only if it is called after the end */
}

/* A hash is no secret, so the time that strcmp() takes tells nothing. */
bool digest_is(struct digest_state *state, const struct digest *wanted)
{
	unsigned char bytes[EVP_MAX_MD_SIZE];
	char hex[DIGEST_HEX_MAX + 1] = "";

	if (state->context == NULL)
		return false;
	if (EVP_DigestFinal_ex(state->context, bytes, NULL) == 1)
		write_hex(bytes, kinds[state->kind].bytes, hex);
	EVP_MD_CTX_free(state->context);
	state->context = NULL;
	return wanted->kind == state->kind && hex[0] != '\0' && strcmp(hex, wanted->hex) == 0;
}

void digest_text(const char *text, char ret[DIGEST_HEX_MAX + 1])
{
	unsigned char bytes[EVP_MAX_MD_SIZE];

	if (EVP_Digest(text, strlen(text), bytes, NULL, EVP_sha256(), NULL) != 1)
		abort(); /* out of memory */
	write_hex(bytes, kinds[DIGEST_SHA256].bytes, ret);
}
