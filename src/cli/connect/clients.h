/* clients.h - the MCP clients we know, and what each wants to be told.
 *
 * To add one: a row in clients.c. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct client {
	const char *name;        /* "claude-code" */
	const char *title;       /* "Claude Code" */
	const char *base;        /* variable with the directory its files are in; or NULL */
	const char *base_home;   /* the same below $HOME when the variable is not set */
	const char *file;        /* below that directory */
	const char *servers_key; /* where entries stand in its JSON; NULL: Codex's TOML */
	bool typed;              /* entries carry "type": "stdio" */
	const char *command;     /* how the client adds it by itself, with the {words} of
	                          * entry_command() in cli/entry.h; or NULL */
	const char *next;        /* what to do afterwards */
};

const struct client *client_at(size_t i); /* NULL behind the last */
const struct client *client_find(const char *name);
const char *client_name_at(size_t i);

/* The client's usual file; NULL if neither its variable nor HOME is set. The caller frees. */
char *client_path(const struct client *client);
