/* entry.h - our server entry, in the words of each client.
 *
 * JSON or TOML for the client's file, or the command with which the client writes its file
 * by itself. Nothing here can fail: the parts are checked before. */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "json/json.h"

struct client; /* cli/clients.h */

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

/* For Codex: [mcp_servers.NAME] and its lines, and the value of one of its keys. The caller
 * frees. */
enum { ENTRY_TOML_COMMAND, ENTRY_TOML_ARGS, ENTRY_TOML_KEYS };
extern const char *const entry_toml_keys[ENTRY_TOML_KEYS];
char *entry_toml(const struct entry *entry, const char *newline) RETURNS_NONNULL;
char *entry_toml_value(const struct entry *entry, size_t key) RETURNS_NONNULL;
