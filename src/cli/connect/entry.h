/* entry.h - belljar's server entry, in the form each client expects.
 *
 * The form is JSON for the client's file, or the client's own command line that adds the entry.
 * These functions cannot fail: the caller has checked name and path. */
#pragma once

#include "base/attr.h"
#include "json/json.h"

struct client; /* cli/connect/clients.h */

/* The parts of one server entry; all pointers are borrowed. */
struct entry {
	const struct client *client;
	const char *name;    /* the server's name in the client, checked by --name */
	const char *program; /* absolute, UTF-8 */
	/* Options of `belljar serve`, checked, NULL-terminated. NULL: a new entry has none, and an
	 * existing one keeps its own. */
	const char *const *options;
	const char *url;       /* of a server that runs already; NULL: the client starts one */
	const char *token_env; /* the variable that holds the token for the URL; or NULL */
};

json_t *entry_json(const struct entry *entry) RETURNS_NONNULL;
/* The text of a file that holds this entry only. The caller frees it. */
char *entry_snippet(const struct entry *entry) RETURNS_NONNULL;
/* The options as words of a shell, each after a space. The caller frees the text. */
char *entry_options(const struct entry *entry) RETURNS_NONNULL;
/* The client's own command, NULL if it has none. The caller frees it. */
char *entry_command(const struct entry *entry);
