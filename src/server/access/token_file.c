#include "server/access/token_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/text/utf8.h"
#include "mcp/caller.h"
#include "server/access/internal.h"
#include "server/access/token_hash.h"

/* The name is a field of the token file and a part of owners and of log lines: a space, a line end
 * or a control character in it could forge another field or line. */
bool token_is_user(struct view text)
{
	return text.len != 0 && text.len <= TOKEN_USER_MAX && isalnum((unsigned char)text.ptr[0]) &&
	       view_has_only(text, "._@+-");
}

/* The note is printed as it is, so it must be what utf8_escape() does not change. */
bool token_is_note(struct view text)
{
	return text.len != 0 && text.len <= TOKEN_NOTE_MAX &&
	       view_is(text, UTF8_ESCAPED(text, TOKEN_NOTE_MAX * 6 + 1)) && text.ptr[0] != ' ' &&
	       text.ptr[text.len - 1] != ' ';
}

static bool is_id(struct view text)
{
	if (text.len != TOKEN_ID_LEN || !view_starts(text, TOKEN_ID_PREFIX))
		return false;
	for (size_t i = strlen(TOKEN_ID_PREFIX); i < text.len; i++)
		if (text.ptr[i] == '\0' || strchr(RANDOM_BASE32_DIGITS, text.ptr[i]) == NULL)
			return false;
	return true;
}

static int parse_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hash(struct view text, unsigned char out[TOKEN_HASH_SIZE])
{
	if (text.len != 2 * (size_t)TOKEN_HASH_SIZE)
		return false;
	for (size_t i = 0; i < TOKEN_HASH_SIZE; i++) {
		int high = parse_hex_digit(text.ptr[2 * i]);
		int low = parse_hex_digit(text.ptr[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

static int set_bad_scope(struct view word, struct error *err)
{
	return error_set(err, ERR_INVALID,
	                 "'%s' is no scope; expected run, files or admin with commas between",
	                 UTF8_ESCAPED(word, 80));
}

int token_parse_scopes(struct view text, unsigned *ret, struct error *err)
{
	unsigned scopes = 0;

	if (text.len == 0 || text.ptr[text.len - 1] == ',')
		return set_bad_scope(view_of(""), err);
	while (text.len != 0) {
		struct view word = view_cut(&text, ',');
		char name[16] = "";
		enum mcp_scope scope;

		if (word.len < sizeof name)
			memcpy(name, word.ptr, word.len);
		if (!mcp_scope_find(name, &scope))
			return set_bad_scope(word, err);
		if ((scopes & scope) != 0)
			return error_set(err, ERR_INVALID, "the scope %s is given twice", name);
		scopes |= scope;
	}
	*ret = scopes;
	return 0;
}

/* Moves the first word of *rest to *ret. A word ends at one space or at the end of the line. */
static bool take_word(struct view *rest, struct view *ret)
{
	*ret = view_cut(rest, ' ');
	return ret->len != 0;
}

enum { WORDS = 6 };

static int parse_words(const struct view words[WORDS], struct token *token, struct error *err)
{
	if (!is_id(words[0]))
		return error_set(err, ERR_SYNTAX, "the id is not tk_ and 8 letters or digits");
	memcpy(token->id, words[0].ptr, words[0].len);
	if (!parse_hash(words[1], token->hash))
		return error_set(err, ERR_SYNTAX, "the hash is not 64 digits of 0-9 and a-f");
	if (!token_is_user(words[2]))
		return error_set(err, ERR_SYNTAX, "the user is not " TOKEN_USER_RULE);
	memcpy(token->user, words[2].ptr, words[2].len);
	if (token_parse_scopes(words[3], &token->scopes, err) < 0)
		return -1;
	if (token_parse_time(words[4], &token->created, err) < 0)
		return error_wrap(err, "created");
	if (!view_is(words[5], "never") && token_parse_time(words[5], &token->expires, err) < 0)
		return error_wrap(err, "expires");
	return 0;
}

static int parse_line(struct view line, struct token *ret, struct error *err)
{
	struct view words[WORDS];
	struct token token = { .id = "" };

	if (line.len > TOKEN_LINE_MAX)
		return error_set(err, ERR_LIMIT, "the line has more than %d bytes", TOKEN_LINE_MAX);
	for (size_t i = 0; i < WORDS; i++)
		if (!take_word(&line, &words[i]))
			return error_set(err, ERR_SYNTAX,
			                 "expected id, hash, user, scopes, created, expires and "
			                 "perhaps a note, with one space between");
	if (parse_words(words, &token, err) < 0)
		return -1;
	/* The space behind the last word is already skipped: an empty note is the space alone. */
	if (line.len == 0 && words[WORDS - 1].ptr + words[WORDS - 1].len != line.ptr)
		return error_set(err, ERR_SYNTAX, "a space at the end of the line");
	if (line.len != 0 && !token_is_note(line))
		return error_set(err, ERR_SYNTAX, "the note is not " TOKEN_NOTE_RULE);
	memcpy(token.note, line.ptr, line.len);
	*ret = token;
	return 0;
}

static int check_unique(const struct token_list *list, const struct token *token, struct error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->at[i].id, token->id) == 0)
			return error_set(err, ERR_SYNTAX, "the id %s is used twice", token->id);
		if (memcmp(list->at[i].hash, token->hash, sizeof token->hash) == 0)
			return error_set(err, ERR_SYNTAX, "the same hash as that of %s",
			                 list->at[i].id);
	}
	return 0;
}

static int add_line(struct view line, struct token_list *list, struct error *err)
{
	struct token token;

	if (line.len == 0 || line.ptr[0] == '#')
		return 0;
	if (parse_line(line, &token, err) < 0 || check_unique(list, &token, err) < 0)
		return -1;
	if (list->count == TOKENS_MAX)
		return error_set(err, ERR_LIMIT, "more than %d tokens", TOKENS_MAX);
	list->at[list->count++] = token;
	return 0;
}

/* Lines that hold a token are at least this long, which bounds the allocation by the file. */
enum { TOKEN_LINE_MIN = TOKEN_ID_LEN + 1 + 2 * TOKEN_HASH_SIZE };

/* One wrong line makes the list invalid: a line that was cut off could else lose its expiry. */
int token_list_parse(struct view text, struct token_list *ret, struct error *err)
{
	struct token_list list = { 0 };
	struct view rest = text, line;
	size_t number = 0;

	if (text.len > TOKEN_FILE_MAX)
		return error_set(err, ERR_LIMIT, "the file has more than %d bytes", TOKEN_FILE_MAX);
	if (text.len != 0 && text.ptr[text.len - 1] != '\n')
		return error_set(
		        err, ERR_SYNTAX,
		        "the last line has no line end: the file was not written completely");
	list.at = mem_array(text.len / TOKEN_LINE_MIN + 1, sizeof *list.at);
	while (view_next_line(&rest, &line)) {
		number++;
		if (add_line(line, &list, err) < 0) {
			token_list_done(&list);
			return error_wrap(err, "line %zu", number);
		}
	}
	*ret = list;
	return 0;
}

void token_list_done(struct token_list *list)
{
	free(list->at);
	*list = (struct token_list){ 0 };
}

const struct token *token_list_find(const struct token_list *list, struct view secret)
{
	unsigned char hash[TOKEN_HASH_SIZE];
	const struct token *found = NULL;

	token_hash(secret, hash);
	/* The loop goes on behind a match, so its time says nothing about where a token stands. */
	for (size_t i = 0; i < list->count; i++)
		if (token_hash_is_equal(hash, list->at[i].hash))
			found = &list->at[i];
	return found;
}

bool token_is_expired(const struct token *token, int64_t now)
{
	return token->expires != 0 && now >= token->expires;
}
