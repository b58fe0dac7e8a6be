/* migrate.c - brings the schema of the file to the version this program knows.
 *
 * Nothing is written before the header of the file shows that belljar made it and that it is not
 * newer than this program. Several servers may start at the same time, so the version is read
 * again under the write lock. */
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

static int query_int(struct store *store, const char *sql, int64_t *ret, struct error *err)
{
	return store_query(store, take_int, ret, sql, err, "");
}

static int run_script(struct store *store, const char *sql, struct error *err)
{
	int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : store_set_error(store, code, err);
}

/* Reads the version of the schema, 0 for a new file, and checks that this program may use the
 * file. */
static int read_version(struct store *store, int64_t known, int64_t *ret, struct error *err)
{
	int64_t id = 0, version = 0, objects = 0;

	if (query_int(store, "PRAGMA application_id", &id, err) < 0 ||
	    query_int(store, "PRAGMA user_version", &version, err) < 0 ||
	    query_int(store, "SELECT count(*) FROM sqlite_schema", &objects, err) < 0)
		return -1;
	if (id != STORE_APPLICATION_ID && (id != 0 || version != 0 || objects != 0))
		return error_set(
		        err, ERR_INVALID,
		        "this is the database of another program, which belljar does not change: "
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

/* Reads the header in one transaction, which is one snapshot: another server may be creating the
 * schema at this moment. */
static int read_first_version(struct store *store, int64_t known, int64_t *ret, struct error *err)
{
	struct error ignored;
	int r;

	if (run_script(store, "BEGIN", err) < 0)
		return -1;
	r = read_version(store, known, ret, err);
	(void)!run_script(store, "ROLLBACK", &ignored);
	return r;
}

/* Switching to WAL mode needs an exclusive lock, and SQLite's busy timeout does not apply to it. */
static int enable_wal(struct store *store, struct error *err)
{
	static const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	int code = SQLITE_BUSY;

	for (int waited_ms = 0; waited_ms < STORE_BUSY_MS; waited_ms += 5) {
		code = sqlite3_exec(store->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
		if ((code & 0xff) != SQLITE_BUSY)
			break;
		(void)nanosleep(&pause, NULL);
	}
	return code == SQLITE_OK ? 0 : store_set_error(store, code, err);
}

/* Runs the next migration, unless another server has run it meanwhile. */
static int migrate_once(struct store *store, const char *const migrations[], int64_t known,
                        int64_t *version, struct error *err)
{
	char header[100];
	int64_t now = 0;

	if (store_begin(store, err) < 0)
		return -1;
	if (read_version(store, known, &now, err) < 0)
		goto rollback;
	if (now < known) {
		(void)snprintf(header, sizeof header,
		               "PRAGMA application_id = %d; PRAGMA user_version = %" PRId64,
		               STORE_APPLICATION_ID, now + 1);
		if (run_script(store, migrations[now], err) < 0 ||
		    run_script(store, header, err) < 0) {
			(void)error_wrap(err, "migration to version %" PRId64, now + 1);
			goto rollback;
		}
		now++;
	}
	if (store_commit(store, err) < 0)
		return -1;
	*version = now;
	return 0;
rollback:
	store_rollback(store);
	return -1;
}

int store_migrate(struct store *store, const char *const migrations[], struct error *err)
{
	int64_t known = 0, version = 0;

	while (migrations[known] != NULL)
		known++;
	assert(known > 0);
	/* mmap_size = 0: with a mapped file, truncation by another process would raise SIGBUS. A
	 * file that is no database fails at the first read. */
	if (run_script(store,
	               "PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON;"
	               "PRAGMA temp_store = MEMORY;",
	               err) < 0 ||
	    read_first_version(store, known, &version, err) < 0 || enable_wal(store, err) < 0 ||
	    run_script(store,
	               "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;"
	               "PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 4194304;"
	               "PRAGMA secure_delete = ON;",
	               err) < 0)
		return -1;
	while (version < known)
		if (migrate_once(store, migrations, known, &version, err) < 0)
			return -1;
	return 0;
}
