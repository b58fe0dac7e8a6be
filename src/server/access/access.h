/* access.h - decides who makes an HTTP request, by its token.
 *
 * The owner of the calls of a token is "user:" and the token's user. All tokens of one user share
 * that user's sandboxes; a token differs from another only in its scopes and its expiry.
 *
 *   access_new -> access_authenticate for each request; access_replace when the file changes
 *              -> access_free
 *
 * Another way to authenticate, such as OAuth, takes the place of access_authenticate() in
 * struct mcp_http_config. */
#pragma once
#include <stdint.h>

#include "base/cleanup.h"

struct access;
struct http_request;
struct mcp_http_identity;
struct token_list;

/* Takes over the tokens. */
struct access *access_new(struct token_list *tokens);
struct access *access_free(struct access *access);
DEFINE_CLEANUP(access)

/* mcp_http_config.authenticate; ctx is the struct access. */
void access_authenticate(void *ctx, struct http_request *request, struct mcp_http_identity *ret);

/* Called with the credential (mcp_http_identity.credential) and the owner of a token that is not
 * valid any more: what the token has opened must be closed. */
typedef void access_lost_fn(void *ctx, uint64_t credential, const char *owner);

/* Takes over the tokens that are valid from now on. A token whose user or scopes have
 * changed, or that has expired, counts as lost. */
void access_replace(struct access *access, struct token_list *tokens, access_lost_fn *lost,
                    void *ctx);
/* Reports tokens that have expired since the last call, or since access_new(). */
void access_expire(struct access *access, int64_t now, access_lost_fn *lost, void *ctx);
