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

int store_set_error(struct store *store, int code, struct error *err)
{
	const char *reason = store->db != NULL ? sqlite3_errmsg(store->db) : sqlite3_errstr(code);
	int saved = store->db != NULL ? sqlite3_system_errno(store->db) : 0;

	/* SQLite reports some failures on a full disk as SQLITE_IOERR, such as extending the -shm
	 * file. */
	if ((code & 0xff) == SQLITE_IOERR && (saved == ENOSPC || saved == EDQUOT))
		code = SQLITE_FULL;
	switch (code & 0xff) {
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return error_set(
		        err, ERR_SYSTEM,
		        "the database is damaged (%s): restore db/ of the state directory from "
		        "a copy, or move both db/ and sandboxes/ elsewhere and start again "
		        "(the moved directory then has the files of the sandboxes): %s",
		        reason, store->path);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return error_set(
		        err, ERR_SYSTEM,
		        "the database is in use: another process has held its lock for %d seconds; "
		        "try again: %s",
		        STORE_BUSY_MS / 1000, store->path);
	case SQLITE_FULL:
		return error_set(err, ERR_SYSTEM,
		                 "no space is left on the disk for the database: free some, "
		                 "or remove a sandbox with 'belljar rm': %s",
		                 store->path);
	case SQLITE_CONSTRAINT:
		return error_set(err, ERR_INVALID, "a constraint of the database is violated: %s",
		                 reason);
	default:
		(void)error_set(err, ERR_SYSTEM, "database: %s%s%s: %s", reason,
		                saved != 0 ? ": " : "", saved != 0 ? strerror(saved) : "",
		                store->path);
		err->errnum = saved;
		return -1;
	}
}

/* Changes the mode through a descriptor, because the server's filter refuses chmod(): Landlock does
 * not limit it to the server's own files. */
static int set_file_mode(const char *path, struct error *err)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fchmod(fd, 0600) < 0)
		return error_sys(err, "cannot change the mode of the database '%s' to 0600", path);
	return 0;
}

/* Creates the file before SQLite does, so that it never exists with a mode other than 0600; SQLite
 * gives the -wal and -shm files the same mode. A file that exists with that mode is not opened
 * here: POSIX record locks are released when the process closes any descriptor of the file, and
 * another connection of this process may hold some. */
static int create_file(const char *path, struct error *err)
{
	AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat st;

	if (fd >= 0)
		return 0;
	if (errno != EEXIST)
		return error_sys(err, "cannot create the database '%s'", path);
	if (lstat(path, &st) < 0)
		return error_sys(err, "cannot stat the database '%s'", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID, "the database is not a regular file: %s", path);
	if (st.st_uid != geteuid())
		return error_set(err, ERR_INVALID, "the database belongs to another user: %s",
		                 path);
	return (st.st_mode & 077) != 0 ? set_file_mode(path, err) : 0;
}

/* Settings against a tampered file: its schema cannot call functions with side effects, its views
 * and triggers are disabled, and SQL cannot write to the internal tables. */
static int harden_connection(struct store *store, struct error *err)
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
			return error_set(
			        err, ERR_UNSUPPORTED,
			        "this SQLite (%s) does not support sqlite3_db_config option %d",
			        sqlite3_libversion(), options[i].option);
	}
	(void)sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, 0);
	(void)sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, STORE_VALUE_MAX);
	(void)sqlite3_busy_timeout(store->db, STORE_BUSY_MS);
	return 0;
}

/* SQLite needs space for its -wal and -shm files even to read or delete rows, so on a full disk no
 * sandbox could be removed. The reserve file holds some blocks, which this frees when the disk is
 * almost full. */
static void release_reserve(const char *path)
{
	char reserve[STORE_PATH_MAX + 16];
	struct statvfs fs;

	(void)snprintf(reserve, sizeof reserve, "%s-reserve", path);
	if (statvfs(reserve, &fs) == 0 && fs.f_bavail * fs.f_frsize < STORE_FREE_BYTES)
		(void)unlink(reserve);
}

static void create_reserve(const char *path)
{
	char reserve[STORE_PATH_MAX + 16];
	AUTO_FD int fd = -1;

	(void)snprintf(reserve, sizeof reserve, "%s-reserve", path);
	fd = open(reserve, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && posix_fallocate(fd, 0, STORE_RESERVE) != 0)
		(void)unlink(reserve); /* the next store_close() tries again */
}

int store_open(const char *path, const char *const migrations[], struct store **ret,
               struct error *err)
{
	AUTO(store) struct store *store = NULL;
	int code;

	/* SQLite gives "", ":memory:" and "file:" names a meaning of their own. */
	if (path[0] != '/' || strlen(path) > STORE_PATH_MAX)
		return error_set(
		        err, ERR_INVALID,
		        "the path of the database must begin with '/' and have at most %d bytes: "
		        "choose another state directory",
		        STORE_PATH_MAX);
	release_reserve(path);
	if (create_file(path, err) < 0)
		return -1;
	store = mem_new(sizeof *store);
	store->path = mem_dup(path);
	code = sqlite3_open_v2(path, &store->db,
	                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
	                               SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE,
	                       NULL);
	if (code != SQLITE_OK)
		return store_set_error(store, code, err);
	if (harden_connection(store, err) < 0 || store_migrate(store, migrations, err) < 0)
		return -1;
	store->is_open = true;
	*ret = TAKE_PTR(store);
	return 0;
}

void store_close(struct store *store)
{
	if (store == NULL)
		return;
	store_finalize_statements(store);
	(void)sqlite3_close(store->db);
	if (store->is_open)
		create_reserve(store->path);
	free(store->path);
	free(store);
}
