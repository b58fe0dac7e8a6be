#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "cli/connect/client_file.h"
#include "cli/connect/clients.h"
#include "cli/connect/edit.h"
#include "cli/connect/entry.h"
#include "cli/support/out.h"
#include "cli/verb.h"
#include "server/options/options.h"
#include "json/json.h"

enum { EDIT_MAX = 17 * 1024 * 1024 }; /* bytes of the client's file with the entry in it */
enum { TRIES_MAX = 5 };               /* when the client writes its file at the same time */

/* The path of this program, which the client will start. */
static int find_program(char **ret, struct error *err)
{
	AUTO_FREE char *path = mem_array(PATH_MAX + 1, 1);
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);

	if (len < 0)
		return error_sys(err, "find this program's path");
	/* If the program was replaced while it runs, the link ends in " (deleted)" and names
	 * nothing that a client could start. */
	if (access(path, X_OK) < 0)
		return error_sys(err, "this program's path '%s'", path);
	if (!utf8_is_valid(view_of(path)))
		return error_set(err, ERR_UNSUPPORTED,
		                 "this program's path is not UTF-8; move it elsewhere");
	*ret = TAKE_PTR(path);
	return 0;
}

static void list_clients(void)
{
	const struct client *client;

	out("%-16s%-16s%s\n", "CLIENT", "", "FILE");
	for (size_t i = 0; (client = client_at(i)) != NULL; i++) {
		AUTO_FREE char *path = client_path(client);

		out("%-16s%-16s%s%s\n", client->name, client->title,
		    path != NULL ? path : "(HOME is not set)",
		    path != NULL && access(path, F_OK) == 0 ? "  (exists)" : "");
	}
	out("\n'belljar connect CLIENT' prints what to add, and with --write adds it.\n");
}

/* True for a link that an application opens, false for a command with a URL among its words. */
static bool is_address(const char *command)
{
	const char *scheme = strstr(command, "://");

	return scheme != NULL && strcspn(command, " ") > (size_t)(scheme - command);
}

static void print_snippet(const struct entry *entry, const char *path)
{
	AUTO_FREE char *snippet = entry_snippet(entry);
	AUTO_FREE char *command = entry_command(entry);

	out("For %s, add this to %s:\n\n%s\n", entry->client->title,
	    path != NULL ? path : "its file", snippet);
	if (command != NULL)
		out("%s\n\n  %s\n\n",
		    is_address(command) ? "Or open this address:"
		                        : "Or run the client's own command:",
		    command);
}

static void print_token_hint(const struct entry *entry)
{
	if (entry->token_env != NULL)
		out("Put the token of 'belljar token add' into the environment variable %s of the "
		    "client.\n",
		    entry->token_env);
}

static enum verb_result print_instructions(const struct entry *entry, const char *path,
                                           bool is_usual)
{
	if (entry->client->servers_key == NULL) {
		AUTO_FREE char *command = entry_command(entry);

		out("For %s, run its own command:\n\n  %s\n\n", entry->client->title, command);
	} else {
		print_snippet(entry, path);
		if (is_usual)
			out("'belljar connect %s --write%s%s' edits the file for you.\n",
			    entry->client->name, entry->url != NULL ? " --http ..." : "",
			    entry->options != NULL ? " -- ..." : "");
	}
	print_token_hint(entry);
	out("Then: %s\n", entry->client->next);
	return VERB_DONE;
}

/* Checks options for an entry as belljar serve does: a client would only report that the server
 * does not start. */
static int check_serve_options(const char *const *operands, struct error *err)
{
	static char *const no_environment[] = { NULL };
	struct options options = { 0 };
	struct option_args args;
	AUTO_FREE char **list = NULL;
	size_t count = 0;
	int r;

	for (; operands[count] != NULL; count++)
		if (!utf8_is_valid(view_of(operands[count])))
			return error_set(err, ERR_INVALID, "connect: the options are not UTF-8");
	list = mem_array(count + 1, sizeof *list);
	memcpy(list, operands, count * sizeof *list);
	if (options_parse_args(&args, FOR_SERVE, list, err) < 0)
		return error_wrap(err, "connect: options of 'belljar serve'");
	if (args.operand_count != 0)
		r = error_set(err, ERR_INVALID, "connect: unexpected argument '%s'",
		              UTF8_ESCAPED(view_of(args.operands[0]), 80));
	else
		r = options_load(&options, FOR_SERVE, args.flags, no_environment, err);
	option_args_done(&args);
	options_done(&options);
	return r;
}

/* The texts of the list, borrowed from it, and NULL. The caller frees the array. */
static const char **borrow_texts(const json_t *list)
{
	size_t count = json_array_size(list);
	const char **texts = mem_array(count + 1, sizeof *texts);

	for (size_t i = 0; i < count; i++)
		texts[i] = json_string_value(json_array_get(list, i));
	return texts;
}

/* Checks the options that an existing entry keeps, if any: the entry may have been written by
 * another version of belljar, or by hand. */
static int check_kept_options(const json_t *kept, struct error *err)
{
	AUTO_FREE const char **list = borrow_texts(kept);

	if (kept == NULL || check_serve_options(list, err) == 0)
		return 0;
	return error_wrap(err, "the entry keeps its options unless others follow --, or -- stands "
	                       "alone");
}

/* The outcome of a write. The caller frees both. */
struct written {
	enum edit_result result;
	char *backup; /* the path of the backup; NULL: there is none */
	json_t *kept; /* the options that the entry had already; NULL: none */
};

static void written_done(struct written *written)
{
	free(written->backup);
	json_decref(written->kept);
	*written = (struct written){ 0 };
}

/* Returns 1 when the entry is in the file, 0 when another program changed the file meanwhile, -1 on
 * failure. */
static int try_write(const struct entry *entry, const char *path, struct written *ret,
                     struct error *err)
{
	struct client_file file;
	AUTO_BUF struct buf text;
	int r = 1;

	buf_init(&text, EDIT_MAX);
	if (client_file_open(&file, path, err) < 0)
		return -1;
	ret->result = edit_json(buf_view(&file.text), entry, &text, &ret->kept, err);
	if (ret->result == EDIT_FAILED || check_kept_options(ret->kept, err) < 0)
		r = error_wrap(err, "'%s' was not changed", path);
	else if (ret->result != EDIT_NOTHING)
		r = client_file_replace(&file, buf_view(&text), &ret->backup, err);
	client_file_close(&file);
	return r;
}

/* Names the options that an existing entry kept. They come from a file that others may have
 * written, such as a project's, so control characters are escaped. */
static void print_kept_options(struct entry entry, const json_t *kept)
{
	AUTO_FREE const char **list = borrow_texts(kept);
	AUTO_FREE char *text = NULL;

	entry.options = list;
	text = entry_options(&entry);
	out("Its options were kept:%s\nOptions after -- replace them; -- alone removes them.\n",
	    UTF8_ESCAPED(view_of(text), 1024));
}

static void report_written(const struct entry *entry, const char *path,
                           const struct written *written)
{
	if (written->result == EDIT_NOTHING)
		out("%s has this entry already; nothing was changed.\n", path);
	else
		out("%s '%s' in %s.\n", written->result == EDIT_ADDED ? "Added" : "Replaced",
		    entry->name, path);
	if (written->kept != NULL)
		print_kept_options(*entry, written->kept);
	if (written->result == EDIT_NOTHING)
		return;
	if (written->backup != NULL)
		out("The file as it was: %s\n", written->backup);
	print_token_hint(entry);
	out("Then: %s\n", entry->client->next);
}

static int write_entry(const struct entry *entry, const char *path, struct error *err)
{
	struct written written = { 0 };
	int r = 0;

	for (int i = 0; i < TRIES_MAX && r == 0; i++) {
		written_done(&written);
		r = try_write(entry, path, &written, err);
	}
	if (r == 0)
		r = error_set(err, ERR_LIMIT,
		              "'%s' was not changed: another program keeps writing it; quit that "
		              "and try again",
		              path);
	else if (r > 0)
		report_written(entry, path, &written);
	written_done(&written);
	return r < 0 ? -1 : 0;
}

static enum verb_result write_or_explain(const struct entry *entry, const char *path,
                                         struct error *err)
{
	if (entry->client->servers_key == NULL) {
		AUTO_FREE char *command = entry_command(entry);

		(void)error_set(err, ERR_UNSUPPORTED,
		                "connect: belljar does not edit %s's file; run: %s",
		                entry->client->title, command);
		return VERB_FAILED;
	}
	if (path == NULL) {
		(void)error_set(err, ERR_NOT_FOUND, "HOME is not set; name the file with --file");
		return VERB_FAILED;
	}
	if (write_entry(entry, path, err) == 0)
		return VERB_DONE;
	print_snippet(entry, path);
	return VERB_FAILED;
}

/* Checks --http and --token-env for this client. */
static int check_url(const struct verb_call *call, const struct client *client, struct error *err)
{
	const struct options *options = call->options;

	if (options->url == NULL)
		return options->token_env == NULL
		               ? 0
		               : error_set(err, ERR_INVALID, "connect: --token-env needs --http");
	if (client->url_refusal != NULL)
		return error_set(err, ERR_UNSUPPORTED, "connect: %s", client->url_refusal);
	if (call->operands[1] != NULL)
		return error_set(err, ERR_INVALID,
		                 "connect: options of 'belljar serve' have no meaning with --http, "
		                 "whose server runs already");
	if (options->token_env != NULL && client->variable == NULL && client->url_key != NULL)
		return error_set(err, ERR_UNSUPPORTED,
		                 "connect: %s cannot take a header from an environment variable: "
		                 "leave out --token-env, and add \"headers\": {\"Authorization\": "
		                 "\"Bearer TOKEN\"} to the entry",
		                 client->title);
	return 0;
}

static enum verb_result run_connect(const struct verb_call *call, struct error *err)
{
	const struct options *options = call->options;
	AUTO_FREE char *program = NULL;
	AUTO_FREE char *usual = NULL;
	struct entry entry;
	const char *path;

	if (call->operands[0] == NULL) {
		if (options->write || options->file != NULL || options->url != NULL) {
			(void)error_set(err, ERR_INVALID, "connect: --%s needs a CLIENT",
			                options->write          ? "write"
			                : options->file != NULL ? "file"
			                                        : "http");
			return VERB_MISUSED;
		}
		list_clients();
		return VERB_DONE;
	}
	if (check_url(call, client_find(call->operands[0]), err) < 0 ||
	    check_serve_options(call->operands + 1, err) < 0)
		return VERB_MISUSED;
	if (find_program(&program, err) < 0)
		return VERB_FAILED;
	entry = (struct entry){ client_find(call->operands[0]),
		                options->name,
		                program,
		                call->separator ? call->operands + 1 : NULL,
		                options->url,
		                options->token_env };
	usual = client_path(entry.client);
	path = options->file != NULL ? options->file : usual;
	if (options->write)
		return write_or_explain(&entry, path, err);
	return print_instructions(&entry, path, options->file == NULL);
}

static const struct verb_example examples[] = {
	{ "belljar connect", "The clients belljar knows, and their files." },
	{ "belljar connect claude-code", "What to add, and where." },
	{ "belljar connect cursor --write", "Add it to Cursor's file; a backup is kept." },
	{ "belljar connect cursor --write -- --allow-path ~/data --memory 4G",
	  "The client starts belljar with these options." },
	{ "belljar connect cursor --write --", "Remove the options from the entry again." },
	{ "belljar connect vscode --write --file .vscode/mcp.json",
	  "Add it to a project's file instead." },
	{ "belljar connect cursor --http https://box.example/mcp --token-env BJ_TOKEN",
	  "Use a server that runs elsewhere." },
	{ NULL, NULL },
};

const struct verb verb_connect = {
	.name = "connect",
	.operand = "CLIENT",
	.operand_rest = "[-- OPTION...]",
	.operand_choice = client_name_at,
	.summary = "Show how to add belljar to an MCP client, or add it.",
	.help = "Prints the entry for the client's configuration file, and the client's own "
	        "command if it has one. With --write, belljar edits the file itself and keeps a "
	        "backup beside it; comments and all other entries stay as they are. In an existing "
	        "entry of the same name only command, args and type change, and settings such as "
	        "an environment or a timeout are kept; an entry for a server at a URL is replaced, "
	        "and with --http the other way round. "
	        "A file that cannot be edited safely is not changed, and the error says why. "
	        "Codex's file is never edited: `codex mcp add` does it.\n\n"
	        "Arguments after -- are options of 'belljar serve' for the entry; they are "
	        "checked, and replace those of an existing entry. Without --, an existing entry "
	        "keeps its options; with -- and nothing after it, it has none. With --http the "
	        "client starts no server, but connects to one that runs already; with --token-env "
	        "it takes the token from that environment variable each time.\n\n"
	        "Without a CLIENT, the known clients and their files are listed.",
	.examples = examples,
	.options = FOR_CONNECT,
	.run = run_connect,
};
