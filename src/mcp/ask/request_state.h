/* request_state.h - the requestState of an input_required result: what the server has to know when
 * the client calls again with its answers.
 *
 * The text is base64 of a JSON payload, a dot, and base64 of an HMAC-SHA256. The key is made anew
 * for each server process. The HMAC also covers the owner, the method and the arguments, which are
 * not part of the text: a state is valid only for the call that it was made for. Clients can read
 * the payload, which holds nothing that they have not sent, but cannot change it. */
#pragma once
#include <stdint.h>

#include "base/attr.h"
#include "json/json.h"

struct error;

enum {
	REQUEST_STATE_KEY_SIZE = 32,
	REQUEST_STATE_MS = 600 * 1000,  /* how long a state is valid */
	REQUEST_STATE_MAX = 256 * 1024, /* bytes of the text */
};

struct request_state_key {
	unsigned char bytes[REQUEST_STATE_KEY_SIZE];
};

/* The call that a state is made for. */
struct request_state_scope {
	const char *owner, *method;
	const json_t *params; /* name, uri and arguments count */
	uint64_t now_ms;
};

struct request_state {
	uint64_t until_ms;
	unsigned round;
	json_t *answers; /* an object; borrowed when encoding, owned after decoding */
};

void request_state_key_init(struct request_state_key *key);

/* The parts of params that make a call what it is, to which its state is bound. */
json_t *request_state_identity(const json_t *params) RETURNS_NONNULL;

/* The caller frees. */
char *request_state_encode(const struct request_state_key *key,
                           const struct request_state_scope *scope,
                           const struct request_state *state) RETURNS_NONNULL;
/* ERR_INVALID: the text was not made by this process, was made for another call, or is too old. The
 * message is the same for all of these. */
MUST_CHECK int request_state_decode(const struct request_state_key *key,
                                    const struct request_state_scope *scope, const char *text,
                                    struct request_state *ret, struct error *err);
