/* token_write.c - makes tokens, and writes them as lines of the file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/num.h"
#include "base/random.h"
#include "base/text/utf8.h"
#include "mcp/caller.h"
#include "server/access/internal.h"
#include "server/access/token_file.h"
#include "server/access/token_hash.h"

enum { SECRET_BITS = 160, ID_BITS = 40 };
_Static_assert(sizeof TOKEN_PREFIX - 1 + SECRET_BITS / 5 == TOKEN_LEN, "a token has 160 bits");
_Static_assert(sizeof TOKEN_ID_PREFIX - 1 + ID_BITS / 5 == TOKEN_ID_LEN, "an id has 40 bits");

/* The file gets only the hash of the secret, so a copy of the file, in a backup for example, has no
 * token that a server accepts. */
void token_generate(struct token *token, char secret[TOKEN_LEN + 1])
{
	memcpy(token->id, TOKEN_ID_PREFIX, sizeof TOKEN_ID_PREFIX);
	random_base32(token->id + strlen(TOKEN_ID_PREFIX), ID_BITS);
	memcpy(secret, TOKEN_PREFIX, sizeof TOKEN_PREFIX);
	random_base32(secret + strlen(TOKEN_PREFIX), SECRET_BITS);
	token_hash(view_of(secret), token->hash);
}

const char *token_scopes_text(unsigned scopes, char separator, char out[TOKEN_SCOPES_SIZE])
{
	static const enum mcp_scope all[] = { MCP_SCOPE_RUN, MCP_SCOPE_FILES, MCP_SCOPE_ADMIN };
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if ((scopes & all[i]) != 0)
			used += (size_t)snprintf(out + used, TOKEN_SCOPES_SIZE - used, "%.*s%s",
			                         used != 0 ? 1 : 0, &separator,
			                         mcp_scope_name(all[i]));
	return out;
}

int token_write(const struct token *token, struct buf *ret, struct error *err)
{
	char hash[2 * TOKEN_HASH_SIZE + 1], scopes[TOKEN_SCOPES_SIZE];
	char created[TOKEN_TIME_SIZE], expires[TOKEN_TIME_SIZE] = "never";

	for (size_t i = 0; i < TOKEN_HASH_SIZE; i++)
		(void)snprintf(hash + 2 * i, 3, "%02x", token->hash[i]);
	if (token->expires != 0)
		(void)token_time_text(token->expires, expires);
	return buf_printf(ret, err, "%s %s %s %s %s %s%s%s\n", token->id, hash, token->user,
	                  token_scopes_text(token->scopes, ',', scopes),
	                  token_time_text(token->created, created), expires,
	                  token->note[0] != '\0' ? " " : "", token->note);
}

/* --- times --- */

static const char time_form[] = "0000-00-00T00:00:00Z";
enum { TIME_LEN = sizeof time_form - 1 };

const char *token_time_text(int64_t seconds, char out[TOKEN_TIME_SIZE])
{
	time_t time = (time_t)seconds;
	struct tm utc;

	if (gmtime_r(&time, &utc) == NULL ||
	    strftime(out, TOKEN_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) != TIME_LEN)
		(void)snprintf(out, TOKEN_TIME_SIZE, "%s", time_form);
	return out;
}

static int get_digits(const char *text, size_t count)
{
	int number = 0;

	for (size_t i = 0; i < count; i++)
		number = number * 10 + (text[i] - '0');
	return number;
}

/* A time that timegm() has to correct, such as February 30, does not come back as the same text. */
int token_parse_time(struct view text, int64_t *ret, struct error *err)
{
	char again[TOKEN_TIME_SIZE];
	struct tm utc = { 0 };
	int64_t seconds;
	size_t i = 0;

	while (i < TIME_LEN && i < text.len &&
	       (time_form[i] == '0' ? text.ptr[i] >= '0' && text.ptr[i] <= '9'
	                            : text.ptr[i] == time_form[i]))
		i++;
	if (i == TIME_LEN && text.len == TIME_LEN) {
		utc.tm_year = get_digits(text.ptr, 4) - 1900;
		utc.tm_mon = get_digits(text.ptr + 5, 2) - 1;
		utc.tm_mday = get_digits(text.ptr + 8, 2);
		utc.tm_hour = get_digits(text.ptr + 11, 2);
		utc.tm_min = get_digits(text.ptr + 14, 2);
		utc.tm_sec = get_digits(text.ptr + 17, 2);
		seconds = timegm(&utc);
		if (seconds > 0 && view_is(text, token_time_text(seconds, again))) {
			*ret = seconds;
			return 0;
		}
	}
	return error_set(err, ERR_SYNTAX, "'%s' is no time such as 2026-11-17T10:00:00Z",
	                 UTF8_ESCAPED(text, 80));
}

static const struct {
	char unit;
	int64_t seconds;
} units[] = { { 'd', 86400 }, { 'h', 3600 }, { 'm', 60 } };

enum { DURATION_MAX = 36500 }; /* of any unit */

static bool parse_duration(const char *text, int64_t *ret)
{
	size_t len = strlen(text);
	struct error ignored;
	char digits[8];
	uint64_t count;

	if (len < 2 || len > sizeof digits)
		return false;
	(void)snprintf(digits, sizeof digits, "%.*s", (int)(len - 1), text);
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (text[len - 1] == units[i].unit &&
		    num_parse_u64(digits, 1, DURATION_MAX, &count, &ignored) == 0) {
			*ret = (int64_t)count * units[i].seconds;
			return true;
		}
	return false;
}

int token_parse_expiry(const char *text, int64_t now, int64_t *ret, struct error *err)
{
	char time[TOKEN_TIME_SIZE];
	struct error ignored;
	int64_t seconds = 0;

	if (strcmp(text, "never") == 0) {
		*ret = 0;
		return 0;
	}
	if (parse_duration(text, &seconds)) {
		*ret = now + seconds;
		return 0;
	}
	(void)snprintf(time, sizeof time, strlen(text) == 10 ? "%.20sT00:00:00Z" : "%.23s", text);
	if (token_parse_time(view_of(time), &seconds, &ignored) < 0 || strlen(text) > TIME_LEN)
		return error_set(err, ERR_INVALID,
		                 "'%s' is no expiry; expected never, a duration such as 30d, 12h "
		                 "or 45m, a date such as 2027-01-31, or a time such as "
		                 "2027-01-31T12:00:00Z",
		                 UTF8_ESCAPED(view_of(text), 80));
	if (seconds <= now)
		return error_set(err, ERR_INVALID, "the expiry %s is in the past", time);
	*ret = seconds;
	return 0;
}
