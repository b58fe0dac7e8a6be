/* store.h - one connection to an SQLite database: its schema, prepared statements, transactions.
 *
 * All servers of one state directory share the database, in WAL mode. A row is written before the
 * effect it announces, so every function returns only after SQLite has committed. The calls take
 * microseconds and may be made from the event loop; while another server writes they wait, at most
 * two seconds. A file of half a MiB beside the database (PATH-reserve) keeps blocks that are freed
 * when the disk is full, so that sandboxes can still be listed and removed. SQLite connections do
 * not survive fork(): a process that forks must open the store afterwards, or not use it again.
 *
 *   store_open() -> store_exec(), store_query() ... -> store_close() */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "base/view.h"

struct error;
struct store;

/* Opens the database at an absolute path, or creates it with mode 0600. migrations[n] is the SQL
 * that brings the schema from version n to n + 1; each runs in a transaction, and NULL ends the
 * array. Fails without changing the file if another program or a newer belljar wrote it, or if it
 * is damaged. */
MUST_CHECK int store_open(const char *path, const char *const migrations[], struct store **ret,
                          struct error *err);
void store_close(struct store *store); /* accepts NULL */
static inline void cleanup_store(struct store **store)
{
	store_close(*store);
}

/* Runs one SQL statement without results. `types` has a letter for each parameter: "s" const char
 * * (NULL becomes SQL NULL), "i" int64_t (cast other integer types), "b" struct view as a blob.
 * ERR_INVALID: the statement violates a constraint of the schema. */
MUST_CHECK int store_exec(struct store *store, const char *sql, struct error *err,
                          const char *types, ...);
/* The number of rows that the last store_exec() inserted, changed or deleted. */
int64_t store_changes(struct store *store);

struct store_row;
const char *store_row_text(struct store_row *row, int column); /* SQL NULL becomes "" */
int64_t store_row_int(struct store_row *row, int column);
struct view store_row_bytes(struct store_row *row, int column);

/* Runs one SQL statement and calls each() for every row until it returns false. Values of the row
 * are valid until each() returns. each() must not use the store. Parameters as in store_exec(). */
MUST_CHECK int store_query(struct store *store, bool (*each)(void *ctx, struct store_row *row),
                           void *ctx, const char *sql, struct error *err, const char *types, ...);

/* A transaction with the write lock: no other server writes until it ends. store_commit() ends it
 * even when it fails, and then nothing has changed; store_rollback() ends it without changes. */
MUST_CHECK int store_begin(struct store *store, struct error *err);
MUST_CHECK int store_commit(struct store *store, struct error *err);
void store_rollback(struct store *store);
