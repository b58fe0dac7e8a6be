/* clients.h - the MCP clients we know, and what each wants to be told.
 *
 * To add one: a row in clients.c. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "json/json.h"

struct error;

struct client {
	const char *name;        /* "claude-code" */
	const char *title;       /* "Claude Code" */
	const char *base;        /* variable with the directory its files are in; or NULL */
	const char *base_home;   /* the same below $HOME when the variable is not set */
	const char *file;        /* below that directory */
	const char *servers_key; /* where entries stand in its JSON; NULL: Codex's TOML */
	bool typed;              /* entries carry "type": "stdio" */
	const char *command;     /* how the client adds it by itself, with the {words} of
	                          * entry_command(); or NULL */
	const char *next;        /* what to do afterwards */
};

const struct client *client_at(size_t i); /* NULL behind the last */
const struct client *client_find(const char *name);
const char *client_name_at(size_t i);

/* The client's usual file; NULL if neither its variable nor HOME is set. The caller frees. */
char *client_path(const struct client *client);

/* One server entry in the making; everything is borrowed. */
struct entry {
	const struct client *client;
	const char *name;    /* what the client calls us; plain letters, see --name */
	const char *program; /* absolute, UTF-8 */
};

json_t *entry_json(const struct entry *entry) RETURNS_NONNULL;
/* The entry with all that belongs around it, as it would stand in an empty file, and the
 * client's own command (NULL if it has none). The caller frees. */
char *entry_snippet(const struct entry *entry) RETURNS_NONNULL;
char *entry_command(const struct entry *entry);

/* [mcp_servers.NAME] and its two lines, for Codex. The caller frees. */
char *entry_toml(const struct entry *entry, const char *newline) RETURNS_NONNULL;
