#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "cli/support/out.h"
#include "cli/verb.h"
#include "server/access/token_file.h"
#include "server/access/token_store.h"
#include "server/options/options.h"
#include "json/json.h"

static enum verb_result report_misuse(struct error *err, const char *what)
{
	(void)error_set(err, ERR_INVALID, "token: %s", what);
	return VERB_MISUSED;
}

/* --- add --- */

/* Fills the token from the command line, all but what token_generate() makes. */
static int read_arguments(const struct verb_call *call, struct token *token, struct error *err)
{
	const struct options *options = call->options;
	struct view user = view_of(call->operands[1]);

	if (!token_is_user(user))
		return error_set(err, ERR_INVALID,
		                 "token: the user '%s' is not 1 to %d letters, digits and . _ @ + "
		                 "-, a letter or digit first",
		                 UTF8_ESCAPED(user, 80), TOKEN_USER_MAX);
	memcpy(token->user, user.ptr, user.len);
	if (options->note != NULL && !token_is_note(view_of(options->note)))
		return error_set(err, ERR_INVALID,
		                 "--note: expected at most %d bytes of printable text",
		                 TOKEN_NOTE_MAX);
	if (options->note != NULL)
		(void)snprintf(token->note, sizeof token->note, "%s", options->note);
	token->created = time(NULL);
	if (token_parse_scopes(view_of(options->scopes), &token->scopes, err) < 0)
		return error_wrap(err, "--scopes");
	if (token_parse_expiry(options->expires, token->created, &token->expires, err) < 0)
		return error_wrap(err, "--expires");
	return 0;
}

/* The token alone is on standard output, for scripts; the rest is on standard error. */
static void show_token(const struct token *token, const char *secret)
{
	char scopes[TOKEN_SCOPES_SIZE], expires[TOKEN_TIME_SIZE];

	out("%s\n", secret);
	(void)fprintf(stderr,
	              "This token of %s (id %s, scopes %s) is shown only once; it expires %s%s.\n",
	              token->user, token->id, token_scopes_text(token->scopes, ',', scopes),
	              token->expires != 0 ? "at " : "",
	              token->expires != 0 ? token_time_text(token->expires, expires) : "never");
}

static enum verb_result add_token(const struct verb_call *call, const char *path, struct error *err)
{
	struct token token = { .id = "" };
	char secret[TOKEN_LEN + 1];
	enum verb_result result = VERB_FAILED;

	if (read_arguments(call, &token, err) < 0)
		return VERB_MISUSED;
	token_generate(&token, secret);
	if (token_store_add(path, &token, err) == 0) {
		show_token(&token, secret);
		result = VERB_DONE;
	}
	explicit_bzero(secret, sizeof secret);
	return result;
}

/* --- list --- */

static void print_table(const struct token_list *list, int64_t now)
{
	out("%-12s %-16s %-16s %-21s %-21s %s\n", "ID", "USER", "SCOPES", "CREATED", "EXPIRES",
	    "NOTE");
	for (size_t i = 0; i < list->count; i++) {
		const struct token *token = &list->at[i];
		char scopes[TOKEN_SCOPES_SIZE], created[TOKEN_TIME_SIZE], expires[TOKEN_TIME_SIZE];

		out("%-12s %-16s %-16s %-21s %-21s %s%s\n", token->id, token->user,
		    token_scopes_text(token->scopes, ',', scopes),
		    token_time_text(token->created, created),
		    token->expires != 0 ? token_time_text(token->expires, expires) : "never",
		    token_is_expired(token, now) ? "(expired) " : "", token->note);
	}
}

static void print_json(const struct token_list *list, int64_t now)
{
	AUTO_JSON json_t *root = json_list();
	AUTO_FREE char *text = NULL;
	size_t len;

	for (size_t i = 0; i < list->count; i++) {
		const struct token *token = &list->at[i];
		char scopes[TOKEN_SCOPES_SIZE], time[TOKEN_TIME_SIZE];
		json_t *object = json_obj();

		json_set_text(object, "id", token->id);
		json_set_text(object, "user", token->user);
		json_set_text(object, "scopes", token_scopes_text(token->scopes, ',', scopes));
		json_set_text(object, "created", token_time_text(token->created, time));
		if (token->expires != 0)
			json_set_text(object, "expires", token_time_text(token->expires, time));
		json_set(object, "expired", json_boolean(token_is_expired(token, now)));
		if (token->note[0] != '\0')
			json_set_text(object, "note", token->note);
		json_push(root, object);
	}
	text = json_write_indented(root, 2, &len);
	out("%s\n", text);
}

static enum verb_result list_tokens(const struct verb_call *call, const char *path,
                                    struct error *err)
{
	struct token_list list;

	if (token_store_load(path, &list, err) < 0)
		return VERB_FAILED;
	if (call->options->json)
		print_json(&list, time(NULL));
	else if (list.count != 0)
		print_table(&list, time(NULL));
	else
		out("There are no tokens in %s; 'belljar token add USER' makes one.\n", path);
	token_list_done(&list);
	return VERB_DONE;
}

/* --- the verb --- */

static const char *const actions[] = { "add", "list", "revoke" };

static const char *action_at(size_t i)
{
	return i < ARRAY_LEN(actions) ? actions[i] : NULL;
}

static enum verb_result run_token(const struct verb_call *call, struct error *err)
{
	const char *action = call->operands[0], *operand = call->operands[1];
	bool is_list = strcmp(action, "list") == 0;
	AUTO_FREE char *path = NULL;

	if (is_list ? operand != NULL : operand == NULL || call->operands[2] != NULL)
		return report_misuse(err, is_list ? "list takes no argument"
		                          : strcmp(action, "add") == 0
		                                  ? "name one user: belljar token add USER"
		                                  : "name one id: belljar token revoke ID");
	if (token_store_path(call->options->token_file, &path, err) < 0)
		return VERB_FAILED;
	if (is_list)
		return list_tokens(call, path, err);
	if (strcmp(action, "add") == 0)
		return add_token(call, path, err);
	if (token_store_remove(path, operand, err) < 0)
		return VERB_FAILED;
	out("Revoked %s. Servers that use %s refuse it from now on.\n", operand, path);
	return VERB_DONE;
}

static const struct verb_example examples[] = {
	{ "belljar token add alice", "A token to run code and use files, for 90 days." },
	{ "belljar token add ci --scopes run --expires 12h --note 'nightly build'",
	  "One that only runs code, and expires soon." },
	{ "belljar token list", "All tokens, without the tokens themselves." },
	{ "belljar token revoke tk_7gq2mvxa", "Running servers refuse it at once." },
	{ NULL, NULL },
};

const struct verb verb_token = {
	.name = "token",
	.operand = "ACTION",
	.operand_needed = true,
	.operand_rest = "[USER|ID]",
	.operand_choice = action_at,
	.summary = "Make, list and revoke the tokens of 'belljar serve --auth token'.",
	.help = "'add USER' makes a token and prints it, once: the file keeps only its hash. All "
	        "tokens of one USER share that user's sandboxes, and no other user can see them. "
	        "'list' shows all tokens by their ids, 'revoke ID' removes one; running servers "
	        "notice both at once.\n\n"
	        "The scopes of a token: run is for run_code, run_command, the process tools and "
	        "the sandbox tools; files for the tools that read and write files in sandboxes, "
	        "and for resources; admin for copy_in and copy_out, which read and write files of "
	        "the server's machine below --allow-path. A client sees only the tools that its "
	        "token allows.",
	.examples = examples,
	.options = FOR_TOKEN,
	.run = run_token,
};
