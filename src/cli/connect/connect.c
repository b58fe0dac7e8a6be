#include <limits.h>
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

enum { LARGEST_EDIT = 17 * 1024 * 1024 }; /* a client's file and our entry */
enum { MOST_TRIES = 5 };                  /* while the client writes its file, too */

/* This program's own path: what the client is to start. */
static int find_program(char **ret, struct error *err)
{
	AUTO_FREE char *path = mem_array(PATH_MAX + 1, 1);
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);

	if (len < 0)
		return error_sys(err, "find this program's path");
	/* After an update the link names what is no longer there: "... (deleted)". */
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

static void print_snippet(const struct entry *entry, const char *path)
{
	AUTO_FREE char *snippet = entry_snippet(entry);
	AUTO_FREE char *command = entry_command(entry);

	out("For %s, add this to %s:\n\n%s\n", entry->client->title,
	    path != NULL ? path : "its file", snippet);
	if (command != NULL)
		out("%s\n\n  %s\n\n",
		    strstr(command, "://") != NULL ? "Or open this address:"
		                                   : "Or let the client do it:",
		    command);
}

static void print_next(const struct entry *entry, const char *file)
{
	if (file == NULL)
		out("'belljar connect %s --write' edits the file for you.\n", entry->client->name);
	out("Then: %s\n", entry->client->next);
}

/* 1: done, 0: the file changed meanwhile. *ret_backup is for the caller to free. */
static int try_entry(const struct entry *entry, const char *path, enum edit_result *ret,
                     char **ret_backup, struct error *err)
{
	bool is_json = entry->client->servers_key != NULL;
	struct client_file file;
	AUTO_BUF struct buf text;
	int r = 1;

	buf_init(&text, LARGEST_EDIT);
	if (client_file_open(&file, path, err) < 0)
		return -1;
	*ret = is_json ? edit_json(buf_view(&file.text), entry, &text, err)
	               : edit_toml(buf_view(&file.text), entry, &text, err);
	if (*ret == EDIT_FAILED)
		r = error_wrap(err, "'%s' was not changed", path);
	else if (*ret != EDIT_NOTHING)
		r = client_file_replace(&file, buf_view(&text), ret_backup, err);
	client_file_close(&file);
	return r;
}

static int write_entry(const struct entry *entry, const char *path, struct error *err)
{
	AUTO_FREE char *backup = NULL;
	enum edit_result result = EDIT_NOTHING;
	int r = 0;

	for (int i = 0; i < MOST_TRIES && r == 0; i++)
		r = try_entry(entry, path, &result, &backup, err);
	if (r == 0)
		return error_set(err, ERR_LIMIT,
		                 "'%s' was not changed: another program keeps writing it; quit "
		                 "that and try again",
		                 path);
	if (r < 0)
		return -1;
	if (result == EDIT_NOTHING) {
		out("%s has this entry already: nothing to do.\n", path);
		return 0;
	}
	out("%s '%s' in %s.\n", result == EDIT_ADDED ? "Added" : "Replaced", entry->name, path);
	if (backup != NULL)
		out("The file as it was: %s\n", backup);
	out("Then: %s\n", entry->client->next);
	return 0;
}

static enum verb_result write_or_explain(const struct entry *entry, const char *path,
                                         struct error *err)
{
	if (path == NULL) {
		(void)error_set(err, ERR_NOT_FOUND, "HOME is not set; name the file with --file");
		return VERB_FAILED;
	}
	if (write_entry(entry, path, err) == 0)
		return VERB_DONE;
	print_snippet(entry, path);
	return VERB_FAILED;
}

static enum verb_result run(const struct verb_call *call, struct error *err)
{
	const struct options *options = call->options;
	AUTO_FREE char *program = NULL;
	AUTO_FREE char *usual = NULL;
	struct entry entry;
	const char *path;

	if (call->operands[0] == NULL) {
		if (options->write || options->file != NULL) {
			(void)error_set(err, ERR_INVALID, "connect: --%s needs a CLIENT",
			                options->write ? "write" : "file");
			return VERB_MISUSED;
		}
		list_clients();
		return VERB_DONE;
	}
	if (find_program(&program, err) < 0)
		return VERB_FAILED;
	entry = (struct entry){ client_find(call->operands[0]), options->name, program };
	usual = client_path(entry.client);
	path = options->file != NULL ? options->file : usual;
	if (options->write)
		return write_or_explain(&entry, path, err);
	print_snippet(&entry, path);
	print_next(&entry, options->file);
	return VERB_DONE;
}

static const struct verb_example examples[] = {
	{ "belljar connect", "The clients belljar knows, and their files." },
	{ "belljar connect claude-code", "What to add, and where." },
	{ "belljar connect cursor --write", "Add it to Cursor's file; a backup is kept." },
	{ "belljar connect vscode --write --file .vscode/mcp.json",
	  "Add it to a project's file instead." },
	{ NULL, NULL },
};

const struct verb verb_connect = {
	.name = "connect",
	.operand = "CLIENT",
	.operand_choice = client_name_at,
	.summary = "Show how to add belljar to an MCP client, or add it.",
	.help = "Prints the entry for the client's configuration file and the client's own command "
	        "if it has one. With --write the file itself is edited, after a backup was made "
	        "beside it: everything else in it, comments too, stays as it is. Of an entry of "
	        "the same name only the command, its arguments and the type are set; what else "
	        "it has, such as an environment or a timeout, is kept, unless it is for a "
	        "server at an address, which is replaced. A file that cannot be edited safely "
	        "is left alone, and the reason told.\n\n"
	        "Without a CLIENT the clients and their files are listed.",
	.examples = examples,
	.options = FOR_CONNECT,
	.run = run,
};
