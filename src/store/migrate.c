/* migrate.c - from the file as it is to the schema this program knows.
 *
 * Nothing is written before the file has said that it is ours and not newer than we are. Several
 * servers may start at once: who writes looks again after it has the lock. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "store/internal.h"

static bool take_int(void *ctx, struct store_row *row)
{
	*(int64_t *)ctx = store_row_int(row, 0);
	return true;
}

static int ask(struct store *store, const char *sql, int64_t *ret, struct error *err)
{
	return store_query(store, take_int, ret, sql, err, "");
}

static int run(struct store *store, const char *sql, struct error *err)
{
	int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : store_fail(store, code, err);
}

/* The version it has, 0 for a new one. */
static int look(struct store *store, int64_t known, int64_t *ret, struct error *err)
{
	int64_t id = 0, version = 0, things = 0;

	if (ask(store, "PRAGMA application_id", &id, err) < 0 ||
	    ask(store, "PRAGMA user_version", &version, err) < 0 ||
	    ask(store, "SELECT count(*) FROM sqlite_schema", &things, err) < 0)
		return -1;
	if (id != STORE_APPLICATION_ID && (id != 0 || version != 0 || things != 0))
		return error_set(err, ERR_INVALID,
		                 "this is a database of another program; belljar leaves it alone: "
		                 "choose another state directory: %s",
		                 store->path);
	if (version < 0 || version > known)
		return error_set(err, ERR_UNSUPPORTED,
		                 "the database has version %" PRId64
		                 " and this belljar knows %" PRId64
		                 ": use the newer belljar that wrote it: %s",
		                 version, known, store->path);
	*ret = version;
	return 0;
}

/* All is asked of the same moment: another server may be making the file right now. */
static int look_first(struct store *store, int64_t known, int64_t *ret, struct error *err)
{
	struct error ignored;
	int r;

	if (run(store, "BEGIN", err) < 0)
		return -1;
	r = look(store, known, ret, err);
	(void)!run(store, "ROLLBACK", &ignored);
	return r;
}

/* Going over to WAL needs the file for oneself, and SQLite does not wait for that by itself. */
static int use_wal(struct store *store, struct error *err)
{
	static const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	int code = SQLITE_BUSY;

	for (int waited_ms = 0; waited_ms < STORE_BUSY_MS; waited_ms += 5) {
		code = sqlite3_exec(store->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
		if ((code & 0xff) != SQLITE_BUSY)
			break;
		(void)nanosleep(&pause, NULL);
	}
	return code == SQLITE_OK ? 0 : store_fail(store, code, err);
}

/* One version further, unless somebody else was faster. */
static int step(struct store *store, const char *const migrations[], int64_t known,
                int64_t *version, struct error *err)
{
	char mark[100];
	int64_t now = 0;

	if (store_begin(store, err) < 0)
		return -1;
	if (look(store, known, &now, err) < 0)
		goto undo;
	if (now < known) {
		(void)snprintf(mark, sizeof mark,
		               "PRAGMA application_id = %d; PRAGMA user_version = %" PRId64,
		               STORE_APPLICATION_ID, now + 1);
		if (run(store, migrations[now], err) < 0 || run(store, mark, err) < 0) {
			(void)error_wrap(err, "to version %" PRId64, now + 1);
			goto undo;
		}
		now++;
	}
	if (store_commit(store, err) < 0)
		return -1;
	*version = now;
	return 0;
undo:
	store_rollback(store);
	return -1;
}

int store_migrate(struct store *store, const char *const migrations[], struct error *err)
{
	int64_t known = 0, version = 0;

	while (migrations[known] != NULL)
		known++;
	assert(known > 0);
	/* The first read meets what another server is writing; a file that is no database fails
	 * here. Memory is never mapped from the file: a truncated one must not be a SIGBUS. */
	if (run(store,
	        "PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;",
	        err) < 0 ||
	    look_first(store, known, &version, err) < 0 || use_wal(store, err) < 0)
		return -1;
	if (run(store,
	        "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;"
	        "PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 4194304;"
	        "PRAGMA secure_delete = ON;",
	        err) < 0)
		return -1;
	while (version < known)
		if (step(store, migrations, known, &version, err) < 0)
			return -1;
	return 0;
}
