/* digest.h - hashes by which indexes name their files.
 *
 *   digest_start -> digest_bytes ... -> digest_is (once)
 *
 * The struct is the caller's. */
#pragma once
#include <stdbool.h>

#include "base/view.h"

enum digest_kind { DIGEST_NONE, DIGEST_SHA256, DIGEST_SHA512 };
enum { DIGEST_HEX_MAX = 128 };

/* A hash that an index gives; DIGEST_NONE: it gives none that the mirror verifies. */
struct digest {
	enum digest_kind kind;
	char hex[DIGEST_HEX_MAX + 1]; /* in lower case */
};

struct digest_state {
	enum digest_kind kind;
	void *context;
};

const char *digest_name(enum digest_kind kind); /* "sha256" */
/* "sha256=HEX" as in pages of Python's indexes. */
struct digest digest_from_fragment(struct view text);
/* "sha512-BASE64 ..." as in documents of npm. */
struct digest digest_from_integrity(const char *text);

void digest_start(struct digest_state *state, enum digest_kind kind);
void digest_bytes(struct digest_state *state, struct view bytes);
/* Ends the calculation. */
bool digest_is(struct digest_state *state, const struct digest *wanted);
/* The SHA-256 of a text, in hexadecimal digits. */
void digest_text(const char *text, char ret[DIGEST_HEX_MAX + 1]);
