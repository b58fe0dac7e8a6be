/* clients.h - the table of MCP clients that `belljar connect` knows.
 *
 * A client is added by a row in clients.c. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct client {
	const char *name;        /* "claude-code" */
	const char *title;       /* "Claude Code" */
	const char *base;        /* variable that names the directory of its files, or NULL */
	const char *base_home;   /* that directory below $HOME when the variable is not set */
	const char *file;        /* its configuration file below that directory */
	const char *servers_key; /* member of its JSON that holds the entries; NULL: the file is
	                          * not JSON, and only `command` adds an entry */
	bool typed;              /* entries carry "type": "stdio" or "http" */
	const char *command;     /* the client's own command that adds an entry, with the {words}
	                          * of entry_command(); or NULL */
	const char *next;        /* the step that the user takes afterwards */
	/* For a server at a URL. */
	const char *url_key;     /* member of an entry that holds the URL; NULL: not in JSON */
	const char *variable;    /* how a header refers to an environment variable, with the
	                          * variable's name at %s; NULL: not at all */
	const char *url_command; /* like `command`; or NULL */
	const char *url_refusal; /* why there is no such entry, and what to do; or NULL */
};

const struct client *client_at(size_t i); /* NULL past the last row */
const struct client *client_find(const char *name);
const char *client_name_at(size_t i);

/* The path of the client's configuration file; NULL if neither its variable nor HOME is set. The
 * caller frees it. */
char *client_path(const struct client *client);
