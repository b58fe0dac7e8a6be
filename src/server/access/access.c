#include "server/access/access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/mem.h"
#include "server/access/token_file.h"
#include "server/access/token_hash.h"
#include "transport/http/http.h"
#include "transport/mcp_http/mcp_http.h"

#define OWNER_PREFIX "user:"
enum { OWNER_SIZE = sizeof OWNER_PREFIX + TOKEN_USER_MAX };

struct access {
	struct token_list tokens;
	int64_t expired_until;  /* tokens that expired before this time have been reported */
	char owner[OWNER_SIZE]; /* of the last answer of access_authenticate() */
};

struct access *access_new(struct token_list *tokens)
{
	struct access *access = mem_new(sizeof *access);

	access->tokens = *tokens;
	access->expired_until = time(NULL);
	*tokens = (struct token_list){ 0 };
	return access;
}

struct access *access_free(struct access *access)
{
	if (access != NULL)
		token_list_done(&access->tokens);
	free(access);
	return NULL;
}

static const char *format_owner(const struct token *token, char out[OWNER_SIZE])
{
	(void)snprintf(out, OWNER_SIZE, OWNER_PREFIX "%s", token->user);
	return out;
}

/* A number for each token: the beginning of its hash, which has nothing of the secret. */
static uint64_t get_credential(const struct token *token)
{
	uint64_t credential;

	memcpy(&credential, token->hash, sizeof credential);
	return credential;
}

/* --- requests --- */

/* The challenge of RFC 6750. Without any token there is no error to name. The scopes are those of
 * `belljar token add`: a client that has an authorization server would ask for them. */
#define CHALLENGE "Bearer realm=\"belljar\", scope=\"run files\""
#define INVALID(text_)                                                                             \
	{                                                                                          \
		.refusal = 401, .error = "invalid_token", .description = text_,                    \
		.challenge = CHALLENGE ", error=\"invalid_token\", error_description=\"" text_     \
		                       "\""                                                        \
	}

static const struct mcp_http_identity no_token = {
	.refusal = 401,
	.error = "unauthorized",
	.challenge = CHALLENGE,
	.description = "This server needs a token: send it as 'Authorization: Bearer TOKEN'. "
	               "'belljar token add USER' on the server makes one.",
};
static const struct mcp_http_identity malformed = INVALID(
        "The Authorization header is not 'Bearer' and one token.");
static const struct mcp_http_identity unknown = INVALID(
        "The token is unknown or has been revoked.");
static const struct mcp_http_identity expired = INVALID("The token has expired.");

/* Splits "Bearer TOKEN"; the name of the scheme is not case-sensitive. */
static bool find_bearer(const char *field, struct view *ret)
{
	static const char scheme[] = "bearer";
	size_t len = sizeof scheme - 1;

	if (strncasecmp(field, scheme, len) != 0 || field[len] != ' ')
		return false;
	field += len + strspn(field + len, " ");
	*ret = view_of(field);
	return ret->len != 0 && field[strcspn(field, " \t,")] == '\0';
}

void access_authenticate(void *ctx, struct http_request *request, struct mcp_http_identity *ret)
{
	struct access *access = ctx;
	const char *field = http_get(request, "authorization");
	const struct token *token;
	struct view secret;

	if (field == NULL) {
		*ret = no_token;
		return;
	}
	if (!find_bearer(field, &secret)) {
		*ret = malformed;
		return;
	}
	token = token_list_find(&access->tokens, secret);
	if (token == NULL) {
		*ret = unknown;
		return;
	}
	/* Only a client that has the whole secret learns that its token has expired. */
	if (token_is_expired(token, time(NULL))) {
		*ret = expired;
		return;
	}
	*ret = (struct mcp_http_identity){
		.caller = { .owner = format_owner(token, access->owner), .scopes = token->scopes },
		.credential = get_credential(token),
	};
}

/* --- changes --- */

/* A line with another user or other scopes is another token: sessions that were opened with the old
 * line have its owner and its scopes, and must not keep them. */
static bool is_kept(const struct token_list *list, const struct token *token, int64_t now)
{
	for (size_t i = 0; i < list->count; i++)
		if (token_hash_is_equal(list->at[i].hash, token->hash))
			return list->at[i].scopes == token->scopes &&
			       strcmp(list->at[i].user, token->user) == 0 &&
			       !token_is_expired(&list->at[i], now);
	return false;
}

void access_replace(struct access *access, struct token_list *tokens, access_lost_fn *lost,
                    void *ctx)
{
	struct token_list old = access->tokens;
	char owner[OWNER_SIZE];

	access->tokens = *tokens;
	*tokens = (struct token_list){ 0 };
	for (size_t i = 0; i < old.count; i++)
		if (!is_kept(&access->tokens, &old.at[i], time(NULL)))
			lost(ctx, get_credential(&old.at[i]), format_owner(&old.at[i], owner));
	token_list_done(&old);
}

/* A session or an event stream outlives the request that opened it, so access_authenticate() alone
 * would let it work on after the expiry. */
void access_expire(struct access *access, int64_t now, access_lost_fn *lost, void *ctx)
{
	char owner[OWNER_SIZE];

	for (size_t i = 0; i < access->tokens.count; i++) {
		const struct token *token = &access->tokens.at[i];

		if (token_is_expired(token, now) && !token_is_expired(token, access->expired_until))
			lost(ctx, get_credential(token), format_owner(token, owner));
	}
	access->expired_until = now;
}
