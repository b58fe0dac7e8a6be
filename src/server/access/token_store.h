/* token_store.h - the token file on disk: reading, and changes by `belljar token`.
 *
 * A change locks the directory of the file with flock(), so that two belljar processes do not lose
 * each other's change, and replaces the file with rename(): a reader sees the old file or the new
 * one. Comments and other lines stay as they are. The file has mode 0600.
 *
 * The server reads descriptors, because it cannot open files any more (server/confine.h). */
#pragma once
#include "base/attr.h"

struct error;
struct token;
struct token_list;

/* Reads a file, which is an error if it does not exist. A file that others may write is refused:
 * they could add tokens of their own. */
MUST_CHECK int token_store_read(int fd, struct token_list *ret, struct error *err);

/* The path of the file: `named`, or else the usual one beside the configuration file. The caller
 * frees it. */
MUST_CHECK int token_store_path(const char *named, char **ret, struct error *err);
/* Reads the file; a file that does not exist has no tokens. */
MUST_CHECK int token_store_load(const char *path, struct token_list *ret, struct error *err);
/* Adds a token. The file and its directory are created if they do not exist. */
MUST_CHECK int token_store_add(const char *path, const struct token *token, struct error *err);
/* Removes the line of a token. ERR_NOT_FOUND: there is no such id. */
MUST_CHECK int token_store_remove(const char *path, const char *id, struct error *err);
