#include "mcp/ask/request_state.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/text/base64.h"

enum { MAC_SIZE = 32 };

static const struct json_limits payload_limits = { .depth = 64, .values = 100000 };

void request_state_key_init(struct request_state_key *key)
{
	random_bytes(key->bytes, sizeof key->bytes);
}

json_t *request_state_identity(const json_t *params)
{
	static const char *const members[] = { "name", "uri", "arguments" };
	json_t *identity = json_obj();

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		json_t *value = json_object_get(params, members[i]);

		if (value != NULL)
			json_set(identity, members[i], json_incref(value));
	}
	return identity;
}

/* The HMAC is over owner, method, arguments and payload, so the state of one call is of no use in
 * another, or for another owner. JSON separates the parts: without it a client could move bytes
 * from one part to the next. */
static void make_mac(const struct request_state_key *key, const struct request_state_scope *scope,
                     struct view payload, unsigned char ret[MAC_SIZE])
{
	AUTO_JSON json_t *parts = json_list(), *identity = request_state_identity(scope->params);
	AUTO_FREE char *params = NULL;
	AUTO_FREE char *text = NULL;
	unsigned size = MAC_SIZE;
	size_t len;

	/* Clients may change the order of members when they send a request again. */
	params = json_write_sorted(identity, &len);
	json_push(parts, json_str(scope->owner));
	json_push(parts, json_str(scope->method));
	json_push(parts, json_str_view((struct view){ params, len }));
	json_push(parts, json_str_view(payload));
	text = json_write(parts, &len);
	/* The confined server cannot open OpenSSL's configuration file. */
	(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	if (HMAC(EVP_sha256(), key->bytes, sizeof key->bytes, (const unsigned char *)text, len, ret,
	         &size) == NULL ||
	    size != MAC_SIZE)
		abort(); /* only running out of memory */
}

char *request_state_encode(const struct request_state_key *key,
                           const struct request_state_scope *scope,
                           const struct request_state *state)
{
	AUTO_JSON json_t *payload = json_obj();
	unsigned char mac[MAC_SIZE];
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *encoded = NULL;
	AUTO_FREE char *encoded_mac = NULL;
	size_t len;

	json_set(payload, "until", json_int((json_int_t)state->until_ms));
	json_set(payload, "round", json_int(state->round));
	json_set(payload, "answers", json_incref(state->answers));
	text = json_write(payload, &len);
	encoded = base64_encode((struct view){ text, len });
	make_mac(key, scope, view_of(encoded), mac);
	encoded_mac = base64_encode((struct view){ (const char *)mac, sizeof mac });
	return mem_format("%s.%s", encoded, encoded_mac);
}

static int refuse_state(struct error *err)
{
	return error_set(err, ERR_INVALID,
	                 "'requestState' is not valid for this call, or is older than %d seconds; "
	                 "call again without it",
	                 REQUEST_STATE_MS / 1000);
}

/* Compares in constant time: a client could otherwise find a valid HMAC byte by byte. */
static bool has_mac(const struct request_state_key *key, const struct request_state_scope *scope,
                    struct view payload, struct view mac)
{
	unsigned char wanted[MAC_SIZE];
	AUTO_FREE char *encoded = NULL;

	make_mac(key, scope, payload, wanted);
	encoded = base64_encode((struct view){ (const char *)wanted, sizeof wanted });
	return mac.len == strlen(encoded) && CRYPTO_memcmp(mac.ptr, encoded, mac.len) == 0;
}

static bool read_payload(struct view encoded, struct request_state *ret)
{
	AUTO_JSON json_t *payload = NULL;
	AUTO_FREE char *text = NULL;
	json_int_t until, round;
	struct error ignored;
	json_t *answers;
	size_t len;

	if (base64_decode(encoded, &text, &len, &ignored) < 0 ||
	    json_read((struct view){ text, len }, &payload_limits, &payload, NULL, &ignored) < 0)
		return false;
	answers = json_member(payload, "answers", JSON_OBJECT);
	if (answers == NULL || !json_as_int(json_object_get(payload, "until"), &until) ||
	    !json_as_int(json_object_get(payload, "round"), &round) || until < 0 || round < 0 ||
	    round > UINT16_MAX)
		return false;
	*ret = (struct request_state){ .until_ms = (uint64_t)until,
		                       .round = (unsigned)round,
		                       .answers = json_incref(answers) };
	return true;
}

int request_state_decode(const struct request_state_key *key,
                         const struct request_state_scope *scope, const char *text,
                         struct request_state *ret, struct error *err)
{
	const char *dot = strchr(text, '.');
	struct request_state state;
	struct view payload;

	if (dot == NULL || strlen(text) > REQUEST_STATE_MAX)
		return refuse_state(err);
	payload = (struct view){ text, (size_t)(dot - text) };
	if (!has_mac(key, scope, payload, view_of(dot + 1)) || !read_payload(payload, &state))
		return refuse_state(err);
	if (state.until_ms < scope->now_ms) {
		json_decref(state.answers);
		return refuse_state(err);
	}
	*ret = state;
	return 0;
}
