/* token_file.h - the file of hashed tokens: which bearer tokens an HTTP server accepts.
 *
 * One line has one token, its fields separated by single spaces:
 *
 *   id  SHA-256 in hex  user  scopes  created  expires  note
 *   tk_7gq2mvxa 9f86...0a08 alice run,files 2026-11-17T10:00:00Z never Alice's laptop
 *
 * The note is optional and may contain spaces; "never" stands for no expiry. Empty lines and lines
 * that begin with '#' have no meaning. The reader is strict: one wrong line makes the whole file
 * invalid, and a last line without a line end, as an interrupted write leaves it, is wrong.
 *
 * A token has 160 random bits, so a plain hash of it cannot be reversed by guessing. The token
 * itself is shown once, when it is made, and stored nowhere.
 *
 *   token_list_parse -> token_list_find ... -> token_list_done */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/view.h"

struct error;

enum {
	TOKEN_FILE_MAX = 1024 * 1024, /* bytes */
	TOKENS_MAX = 2000,
	TOKEN_LINE_MAX = 512,
	TOKEN_ID_LEN = 11, /* "tk_" and 8 digits of base 32 */
	TOKEN_HASH_SIZE = 32,
	TOKEN_USER_MAX = 64,
	TOKEN_NOTE_MAX = 100,
	TOKEN_LEN = 35, /* "bj_" and 32 digits of base 32: 160 bits */
	TOKEN_TIME_SIZE = 24,
};

struct token {
	char id[TOKEN_ID_LEN + 1];
	unsigned char hash[TOKEN_HASH_SIZE];
	char user[TOKEN_USER_MAX + 1];
	unsigned scopes; /* enum mcp_scope */
	int64_t created; /* seconds since 1970 */
	int64_t expires; /* likewise; 0: never */
	char note[TOKEN_NOTE_MAX + 1];
};

struct token_list {
	struct token *at;
	size_t count;
};

/* The error names the line. */
MUST_CHECK int token_list_parse(struct view text, struct token_list *ret, struct error *err);
void token_list_done(struct token_list *list);

/* Finds the token that a client has sent, expired or not; NULL: there is none. Compares with every
 * token of the list, in constant time. */
const struct token *token_list_find(const struct token_list *list, struct view secret);
bool token_is_expired(const struct token *token, int64_t now);

/* Makes a token: id, hash and the secret itself, which the caller wipes. Everything else in *token
 * stays as it is. */
void token_generate(struct token *token, char secret[TOKEN_LEN + 1]);
/* Appends the token's line. */
MUST_CHECK int token_write(const struct token *token, struct buf *ret, struct error *err);

/* A user's name: 1 to 64 letters, digits and ". _ @ + -", a letter or digit first. */
bool token_is_user(struct view text);
bool token_is_note(struct view text);
/* "run,files": names of scopes, each once. */
MUST_CHECK int token_parse_scopes(struct view text, unsigned *ret, struct error *err);
/* "run,files" or "run files", by the separator. Returns out. */
enum { TOKEN_SCOPES_SIZE = 32 };
const char *token_scopes_text(unsigned scopes, char separator, char out[TOKEN_SCOPES_SIZE]);

/* "2026-11-17T10:00:00Z" in both directions; only this form. */
MUST_CHECK int token_parse_time(struct view text, int64_t *ret, struct error *err);
const char *token_time_text(int64_t seconds, char out[TOKEN_TIME_SIZE]);
/* An expiry that a person writes: "never" (0), a time, a date (its first second), or a duration
 * from now such as 30d, 12h or 45m. */
MUST_CHECK int token_parse_expiry(const char *text, int64_t now, int64_t *ret, struct error *err);
