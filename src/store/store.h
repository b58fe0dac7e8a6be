/* store.h - the one database: a connection, its schema, and statements that are kept ready.
 *
 * SQLite in WAL mode, shared by all servers of one state directory. A row is written before the
 * effect it promises, so every call here returns when the row is as safe as it gets; they take
 * microseconds and may be made from the loop; only while another server is in the middle of
 * writing do they wait, for two seconds at most. The schema is a list of migrations.
 * Half a MiB is kept beside the file, so that there is room to remove things on a full disk.
 * No child process may inherit a store that it or its parent goes on using: fork first. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "base/view.h"

struct error;
struct store;

/* One migration a version, in order; run in one transaction each. NULL ends them. The path is
 * absolute; the file is made if there is none, for its owner alone. What another program or a newer
 * belljar wrote is refused and left as it is; a damaged file is an error that says what to do. */
MUST_CHECK int store_open(const char *path, const char *const migrations[], struct store **ret,
                          struct error *err);
void store_close(struct store *store); /* accepts NULL */
static inline void cleanup_store(struct store **store)
{
	store_close(*store);
}

/* One statement. Parameters by letter: "s" const char * (NULL: null), "i" int64_t (cast what is
 * not), "b" struct view. ERR_INVALID: a constraint of the schema. */
MUST_CHECK int store_exec(struct store *store, const char *sql, struct error *err,
                          const char *types, ...);
/* How many rows the last store_exec() changed. */
int64_t store_changes(struct store *store);

struct store_row;
const char *store_row_text(struct store_row *row, int column); /* never NULL */
int64_t store_row_int(struct store_row *row, int column);
struct view store_row_bytes(struct store_row *row, int column);

/* Calls each() for every row, until it returns false. What a row says lasts until each() returns;
 * each() must not use the store. */
MUST_CHECK int store_query(struct store *store, bool (*each)(void *ctx, struct store_row *row),
                           void *ctx, const char *sql, struct error *err, const char *types, ...);

/* Everything between is done, or nothing is; no other server writes meanwhile. A transaction ends
 * with store_commit(), whatever that returns, or with store_rollback(). */
MUST_CHECK int store_begin(struct store *store, struct error *err);
MUST_CHECK int store_commit(struct store *store, struct error *err);
void store_rollback(struct store *store);
