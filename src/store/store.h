/* store.h - the one database: a connection, its schema, and statements that are kept ready.
 *
 * SQLite in WAL mode, shared by all servers of one state directory. A row is written before the
 * effect it promises, so every call here returns when the row is as safe as it gets; they take
 * microseconds and may be made from the loop. The schema is a list of migrations; a database
 * of a newer belljar is refused. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "base/view.h"

struct error;
struct store;

/* One migration a version, in order; run in one transaction each. NULL ends them. */
MUST_CHECK int store_open(const char *path, const char *const migrations[], struct store **ret,
                          struct error *err);
struct store *store_free(struct store *store);
DEFINE_CLEANUP(store)

/* Parameters by letter: "s" const char * (NULL: null), "i" int64_t, "b" struct view. */
MUST_CHECK int store_do(struct store *store, const char *sql, struct error *err,
                        const char *types, ...);
/* How many rows the last store_do() changed. */
int64_t store_changed(struct store *store);

struct store_row;
const char *store_text(struct store_row *row, int column); /* never NULL */
int64_t store_int(struct store_row *row, int column);
struct view store_bytes(struct store_row *row, int column);

/* Calls each() for every row, until it returns false. */
MUST_CHECK int store_each(struct store *store, bool (*each)(void *ctx, struct store_row *row),
                          void *ctx, const char *sql, struct error *err, const char *types, ...);

/* Everything between is done, or nothing is. */
MUST_CHECK int store_begin(struct store *store, struct error *err);
MUST_CHECK int store_commit(struct store *store, struct error *err);
void store_rollback(struct store *store);
