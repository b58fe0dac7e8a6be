#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/internal.h"

int store_fail(struct store *store, int code, struct error *err)
{
	const char *said = store->db != NULL ? sqlite3_errmsg(store->db) : sqlite3_errstr(code);
	int saved = store->db != NULL ? sqlite3_system_errno(store->db) : 0;

	/* Some of what fails for want of space is told as a fault of the disk. */
	if ((code & 0xff) == SQLITE_IOERR && (saved == ENOSPC || saved == EDQUOT))
		code = SQLITE_FULL;
	switch (code & 0xff) {
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return error_set(
		        err, ERR_SYSTEM,
		        "the database is damaged (%s): put a copy of db/ back, whole; or move db/ "
		        "and sandboxes/ of the state directory away, both, and start "
		        "again: what sandboxes there were stays in what was moved: %s",
		        said, store->path);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return error_set(err, ERR_SYSTEM,
		                 "the database is in use: another process has kept it for %d "
		                 "seconds; try again: %s",
		                 STORE_BUSY_MS / 1000, store->path);
	case SQLITE_FULL:
		return error_set(err, ERR_SYSTEM,
		                 "no space is left for the database: make some, or remove a "
		                 "sandbox with 'belljar rm': %s",
		                 store->path);
	case SQLITE_CONSTRAINT:
		return error_set(err, ERR_INVALID, "the database refuses it: %s", said);
	default:
		(void)error_set(err, ERR_SYSTEM, "database: %s%s%s: %s", said,
		                saved != 0 ? ": " : "", saved != 0 ? strerror(saved) : "",
		                store->path);
		err->errnum = saved;
		return -1;
	}
}

/* The file is made by us, so that it never exists with another mode; SQLite gives its companions
 * the same. One that exists is not opened here: closing it again would drop, as POSIX has it,
 * every lock this process holds on it through another connection. */
static int make_file(const char *path, struct error *err)
{
	AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat st;

	if (fd >= 0)
		return 0;
	if (errno != EEXIST)
		return error_sys(err, "cannot make the database '%s'", path);
	if (lstat(path, &st) < 0)
		return error_sys(err, "cannot look at the database '%s'", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID, "the database is not a regular file: %s", path);
	if (st.st_uid != geteuid())
		return error_set(err, ERR_INVALID, "the database belongs to somebody else: %s",
		                 path);
	if ((st.st_mode & 077) != 0 && chmod(path, 0600) < 0)
		return error_sys(err, "cannot keep others from the database '%s'", path);
	return 0;
}

/* Nothing in the file is to act by itself: a schema that was tampered with may name no function
 * with effects, and SQL cannot write to the file's own structure. */
static int harden(struct store *store, struct error *err)
{
	static const struct {
		int option, value;
	} options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },      { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_FKEY, 1 },    { SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 }, { SQLITE_DBCONFIG_DQS_DDL, 0 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		int now = -1;
		int code = sqlite3_db_config(store->db, options[i].option, options[i].value, &now);

		if (code != SQLITE_OK || now != options[i].value)
			return error_set(err, ERR_UNSUPPORTED,
			                 "this SQLite (%s) does not know setting %d",
			                 sqlite3_libversion(), options[i].option);
	}
	(void)sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, 0);
	(void)sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, STORE_VALUE_MAX);
	(void)sqlite3_busy_timeout(store->db, STORE_BUSY_MS);
	return 0;
}

/* On a full disk nobody could look, or remove anything: SQLite needs files of its own for that. So
 * some blocks are kept in a file, and given up when there are hardly any others. */
static void give_reserve(const char *path)
{
	char reserve[STORE_PATH_MAX + 16];
	struct statvfs fs;

	(void)snprintf(reserve, sizeof reserve, "%s-reserve", path);
	if (statvfs(reserve, &fs) == 0 && fs.f_bavail * fs.f_frsize < STORE_ROOM)
		(void)unlink(reserve);
}

static void keep_reserve(const char *path)
{
	char reserve[STORE_PATH_MAX + 16];
	AUTO_FD int fd = -1;

	(void)snprintf(reserve, sizeof reserve, "%s-reserve", path);
	fd = open(reserve, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && posix_fallocate(fd, 0, STORE_RESERVE) != 0)
		(void)unlink(reserve); /* another time */
}

int store_open(const char *path, const char *const migrations[], struct store **ret,
               struct error *err)
{
	AUTO(store) struct store *store = NULL;
	int code;

	/* Other names mean something else to SQLite: "" and ":memory:". */
	if (path[0] != '/' || strlen(path) > STORE_PATH_MAX)
		return error_set(err, ERR_INVALID,
		                 "the path of the database must begin with '/' and have at most %d "
		                 "bytes: choose another state directory",
		                 STORE_PATH_MAX);
	give_reserve(path);
	if (make_file(path, err) < 0)
		return -1;
	store = mem_new(sizeof *store);
	store->path = mem_dup(path);
	code = sqlite3_open_v2(path, &store->db,
	                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
	                               SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE,
	                       NULL);
	if (code != SQLITE_OK)
		return store_fail(store, code, err);
	if (harden(store, err) < 0 || store_migrate(store, migrations, err) < 0)
		return -1;
	store->is_open = true;
	*ret = TAKE_PTR(store);
	return 0;
}

void store_close(struct store *store)
{
	if (store == NULL)
		return;
	store_forget_statements(store);
	(void)sqlite3_close(store->db);
	if (store->is_open)
		keep_reserve(store->path);
	free(store->path);
	free(store);
}
