#include "store/store.h"

#include <sqlite3.h>

#include "unit/scratch.h"

#define FIRST "CREATE TABLE things (name TEXT UNIQUE, number INTEGER, bytes BLOB) STRICT"

static const char *const migrations[] = {
	FIRST,
	"ALTER TABLE things ADD COLUMN more INTEGER NOT NULL DEFAULT 7;"
	"CREATE TABLE others (thing TEXT REFERENCES things (name)) STRICT",
	NULL,
};
static const char *const first_only[] = { FIRST, NULL };

static const char *db_path(void)
{
	static char path[100];

	(void)snprintf(path, sizeof path, "%s/db", scratch_path);
	return path;
}

static struct store *open_store(void)
{
	struct store *store = NULL;
	struct error err;

	CHECK_OK(store_open(db_path(), migrations, &store, &err), err);
	return store;
}

/* Changes a database without the store, as another program would. */
static void run_sqlite(const char *path, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static bool take_int(void *ctx, struct store_row *row)
{
	*(int64_t *)ctx = store_row_int(row, 0);
	return false;
}

static int64_t query_int(struct store *store, const char *sql)
{
	int64_t value = -1;
	struct error err;

	CHECK_OK(store_query(store, take_int, &value, sql, &err, ""), err);
	return value;
}

static void new_database_has_mode_0600_and_our_settings(void **state)
{
	AUTO(store) struct store *store = NULL;
	struct stat st;
	struct error err;

	(void)umask(0);
	store = open_store();
	CHECK_OK(store_exec(store, "INSERT INTO things (name) VALUES ('a')", &err, ""), err);
	for (size_t i = 0; i < 3; i++) {
		static const char *const files[] = { "db", "db-wal", "db-shm" };

		assert_int_equal(stat(files[i], &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
	assert_int_equal(query_int(store, "PRAGMA foreign_keys"), 1);
	assert_int_equal(query_int(store, "PRAGMA trusted_schema"), 0);
	assert_int_equal(query_int(store, "PRAGMA synchronous"), 1);
	assert_int_equal(query_int(store, "PRAGMA busy_timeout"), 2000);
	assert_int_equal(query_int(store, "PRAGMA user_version"), 2);
	assert_int_equal(query_int(store, "PRAGMA application_id"), 0x626a6172);
}

static void mode_of_a_readable_database_becomes_0600(void **state)
{
	struct stat st;

	store_close(open_store());
	assert_int_equal(chmod(db_path(), 0664), 0);
	store_close(open_store());
	assert_int_equal(stat(db_path(), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

struct rows {
	int count, stop_after;
	char text[200];
};

static bool append_row(void *ctx, struct store_row *row)
{
	struct rows *rows = ctx;
	struct view bytes = store_row_bytes(row, 2);
	size_t len = strlen(rows->text);

	(void)snprintf(rows->text + len, sizeof rows->text - len, "%s,%lld,%zu:%02x;",
	               store_row_text(row, 0), (long long)store_row_int(row, 1), bytes.len,
	               bytes.len != 0 ? (unsigned char)bytes.ptr[bytes.len - 1] : 0);
	return ++rows->count != rows->stop_after;
}

static void values_of_every_type_are_read_back(void **state)
{
	static const char insert[] = "INSERT INTO things (name, number, bytes) VALUES (?, ?, ?)";
	static const char select[] = "SELECT name, number, bytes FROM things WHERE number >= ?"
	                             " ORDER BY number";
	AUTO(store) struct store *store = open_store();
	struct rows all = { 0 }, one = { .stop_after = 1 };
	struct error err;

	CHECK_OK(store_exec(store, insert, &err, "sib", "a';--", (int64_t)INT64_MIN,
	                    VIEW("x\0\377")),
	         err);
	assert_int_equal(store_changes(store), 1);
	CHECK_OK(store_exec(store, insert, &err, "sib", NULL, (int64_t)5, (struct view){ 0 }), err);
	CHECK_OK(store_exec(store, insert, &err, "sib", "", (int64_t)INT64_MAX, VIEW("")), err);
	CHECK_OK(store_query(store, append_row, &all, select, &err, "i", (int64_t)INT64_MIN), err);
	assert_string_equal(all.text, "a';--,-9223372036854775808,3:ff;,5,0:00;"
	                              ",9223372036854775807,0:00;");
	CHECK_OK(store_query(store, append_row, &one, select, &err, "i", (int64_t)5), err);
	assert_string_equal(one.text, ",5,0:00;");
	assert_int_equal(query_int(store, "SELECT 1 FROM things WHERE name = 'b'"), -1);
	CHECK_OK(store_exec(store, "UPDATE things SET more = 8", &err, ""), err);
	assert_int_equal(store_changes(store), 3);
}

static void violated_constraint_is_an_invalid_request(void **state)
{
	AUTO(store) struct store *store = open_store();
	struct error err;

	CHECK_OK(store_exec(store, "INSERT INTO things (name) VALUES ('a')", &err, ""), err);
	CHECK_ERROR(
	        store_exec(store, "INSERT INTO things (name) VALUES ('a')", &err, ""), err,
	        ERR_INVALID,
	        "a constraint of the database is violated: UNIQUE constraint failed: things.name");
	CHECK_ERROR(store_exec(store, "INSERT INTO others VALUES ('b')", &err, ""), err,
	            ERR_INVALID,
	            "a constraint of the database is violated: FOREIGN KEY constraint failed");
	CHECK_OK(store_exec(store, "INSERT INTO others VALUES ('a')", &err, ""), err);
}

static void value_above_the_maximum_is_rejected(void **state)
{
	static const char insert[] = "INSERT INTO things (bytes) VALUES (?)";
	AUTO(store) struct store *store = open_store();
	AUTO_FREE char *large = calloc(1, (16 << 20) + 1);
	struct error err;

	assert_non_null(large);
	CHECK_ERROR(store_exec(store, insert, &err, "b", (struct view){ large, (16 << 20) + 1 }),
	            err, ERR_LIMIT, "a value for the database is larger than 16777216 bytes");
	CHECK_OK(store_exec(store, insert, &err, "b", (struct view){ large, 1 << 20 }), err);
}

/* More statements than the cache holds, so that each is evicted and prepared again. They share one
 * buffer: the cache must not take a buffer with a new text for the old statement. */
static void statement_cache_compares_texts(void **state)
{
	AUTO(store) struct store *store = open_store();

	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 100; i++) {
			char sql[40];

			(void)snprintf(sql, sizeof sql, "SELECT %d", i);
			assert_int_equal(query_int(store, sql), i);
			assert_int_equal(query_int(store, sql), i);
		}
}

static void transaction_is_committed_or_rolled_back_as_a_whole(void **state)
{
	AUTO(store) struct store *store = open_store();
	AUTO(store) struct store *other = open_store();
	struct error err;

	CHECK_OK(store_begin(store, &err), err);
	CHECK_OK(store_exec(store, "INSERT INTO things (name) VALUES ('a')", &err, ""), err);
	assert_int_equal(query_int(store, "SELECT count(*) FROM things"), 1);
	assert_int_equal(query_int(other, "SELECT count(*) FROM things"), 0);
	store_rollback(store);
	assert_int_equal(query_int(store, "SELECT count(*) FROM things"), 0);
	CHECK_OK(store_begin(store, &err), err);
	CHECK_OK(store_exec(store, "INSERT INTO things (name) VALUES ('b')", &err, ""), err);
	CHECK_OK(store_commit(store, &err), err);
	assert_int_equal(query_int(other, "SELECT count(*) FROM things"), 1);
}

/* INSERT OR ROLLBACK ends the transaction. The statements that follow must not be committed alone. */
static void failed_transaction_accepts_no_statement(void **state)
{
	AUTO(store) struct store *store = open_store();
	struct error err;
	char want[200];

	(void)snprintf(want, sizeof want, "the transaction has already failed: %s", db_path());
	CHECK_OK(store_exec(store, "INSERT INTO things (name) VALUES ('a')", &err, ""), err);
	CHECK_OK(store_begin(store, &err), err);
	assert_int_equal(
	        store_exec(store, "INSERT OR ROLLBACK INTO things (name) VALUES ('a')", &err, ""),
	        -1);
	CHECK_ERROR(store_exec(store, "INSERT INTO things (name) VALUES ('b')", &err, ""), err,
	            ERR_SYSTEM, want);
	CHECK_ERROR(store_commit(store, &err), err, ERR_SYSTEM, want);
	assert_int_equal(query_int(store, "SELECT count(*) FROM things"), 1);
	CHECK_OK(store_begin(store, &err), err);
	CHECK_OK(store_commit(store, &err), err);
}

static void locked_database_is_reported_after_the_wait(void **state)
{
	AUTO(store) struct store *store = open_store();
	AUTO(store) struct store *other = open_store();
	struct error err;
	char want[200];

	(void)snprintf(
	        want, sizeof want,
	        "the database is in use: another process has held its lock for 2 seconds; try "
	        "again: %s",
	        db_path());
	CHECK_OK(store_begin(store, &err), err);
	CHECK_ERROR(store_begin(other, &err), err, ERR_SYSTEM, want);
	CHECK_OK(store_commit(store, &err), err);
	CHECK_OK(store_begin(other, &err), err);
	store_rollback(other);
}

static void older_schema_is_migrated(void **state)
{
	struct store *old = NULL;
	AUTO(store) struct store *store = NULL;
	struct error err;

	CHECK_OK(store_open(db_path(), first_only, &old, &err), err);
	CHECK_OK(store_exec(old, "INSERT INTO things (name) VALUES ('kept')", &err, ""), err);
	assert_int_equal(query_int(old, "PRAGMA user_version"), 1);
	store_close(old);
	store = open_store();
	assert_int_equal(query_int(store, "SELECT more FROM things WHERE name = 'kept'"), 7);
	assert_int_equal(query_int(store, "PRAGMA user_version"), 2);
}

static void failed_migration_leaves_the_previous_version(void **state)
{
	static const char *const broken[] = {
		FIRST,
		"CREATE TABLE half (a); CREATE TABLE half (b)",
		NULL,
	};
	struct store *store = NULL;
	AUTO(store) struct store *old = NULL;
	struct error err;

	assert_int_equal(store_open(db_path(), broken, &store, &err), -1);
	assert_null(store);
	assert_int_equal(
	        strncmp(err.msg, "migration to version 2: database: table half already exists", 59),
	        0);
	CHECK_OK(store_open(db_path(), first_only, &old, &err), err);
	assert_int_equal(query_int(old, "SELECT count(*) FROM sqlite_schema WHERE name = 'half'"),
	                 0);
}

#define FOREIGN                                                                                    \
	"this is the database of another program, which belljar does not change: "                 \
	"choose another state directory: "
#define NEWER(version)                                                                             \
	"the database has version " version " and this belljar knows 2: use the newer belljar "    \
	"that wrote it: "

static void newer_and_foreign_databases_are_not_changed(void **state)
{
	static const struct {
		const char *sql, *why;
		enum error_kind kind;
	} cases[] = {
		{ "CREATE TABLE a (b)", FOREIGN, ERR_INVALID },
		{ "PRAGMA application_id = 5; CREATE TABLE a (b)", FOREIGN, ERR_INVALID },
		{ "PRAGMA user_version = 1; CREATE TABLE a (b)", FOREIGN, ERR_INVALID },
		{ "PRAGMA application_id = 0x626a6172; PRAGMA user_version = 3", NEWER("3"),
		  ERR_UNSUPPORTED },
		{ "PRAGMA application_id = 0x626a6172; PRAGMA user_version = -1", NEWER("-1"),
		  ERR_UNSUPPORTED },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct store *store = NULL;
		char path[100], before[40000], want[400];
		struct error err;

		(void)snprintf(path, sizeof path, "%s/db%zu", scratch_path, i);
		(void)snprintf(want, sizeof want, "%s%s", cases[i].why, path);
		run_sqlite(path, cases[i].sql);
		memcpy(before, scratch_read(path), sizeof before);
		CHECK_ERROR(store_open(path, migrations, &store, &err), err, cases[i].kind, want);
		assert_memory_equal(before, scratch_read(path), sizeof before);
	}
}

static void fill(struct store *store)
{
	struct error err;

	for (int64_t i = 0; i < 2000; i++) {
		char name[80];

		(void)snprintf(name, sizeof name, "a name that takes some room %lld", (long long)i);
		CHECK_OK(store_exec(store, "INSERT INTO things (name, number) VALUES (?, ?)", &err,
		                    "si", name, i),
		         err);
	}
}

static void overwrite(const char *path, long at, size_t len)
{
	FILE *file = fopen(path, "r+");

	assert_non_null(file);
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	for (size_t i = 0; i < len; i++)
		(void)fputc((int)(i * 7 + 3) & 0xff, file);
	assert_int_equal(fclose(file), 0);
}

#define ADVICE                                                                                       \
	"restore db/ of the state directory from a copy, or move both db/ and sandboxes/ elsewhere " \
	"and start again (the moved directory then has the files of the sandboxes)"

/* Damage in the header, in the schema and in data pages. */
static void damaged_database_is_reported_with_advice(void **state)
{
	static const struct {
		long at;
		size_t len;
	} cases[] = { { 0, 100 }, { 16, 84 }, { 100, 1000 }, { 4096, 4096 }, { 4096, 60000 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct store *store = open_store();
		struct error err = { .msg = "" };
		int64_t sum = 0;

		fill(store);
		store_close(store);
		store = NULL;
		overwrite(db_path(), cases[i].at, cases[i].len);
		if (store_open(db_path(), migrations, &store, &err) == 0)
			assert_int_equal(
			        store_query(store, take_int, &sum,
			                    "SELECT sum(length(name) + number) FROM things", &err,
			                    ""),
			        -1);
		store_close(store);
		if (strncmp(err.msg, "the database is damaged (", 25) != 0 ||
		    strstr(err.msg, "): " ADVICE ": /tmp/") == NULL)
			fail_msg("case %zu: %s", i, err.msg);
		assert_int_equal(err.kind, ERR_SYSTEM);
		assert_int_equal(unlink(db_path()), 0);
	}
}

static void text_file_is_rejected_and_empty_file_is_initialized(void **state)
{
	struct store *store = NULL;
	struct error err;
	char want[400];

	scratch_write("db", "");
	store_close(open_store());
	assert_int_equal(unlink("db"), 0);
	scratch_write("db",
	              "Dear diary, this is no database, and it is long enough to be looked at "
	              "as one, which takes a hundred bytes.");
	(void)snprintf(want, sizeof want,
	               "the database is damaged (file is not a database): " ADVICE ": %s",
	               db_path());
	CHECK_ERROR(store_open(db_path(), migrations, &store, &err), err, ERR_SYSTEM, want);
}

#define BAD_PATH                                                                                   \
	"the path of the database must begin with '/' and have at most 400 bytes: choose another " \
	"state directory"
static void unsuitable_paths_are_rejected(void **state)
{
	struct store *store = NULL;
	struct error err;
	char path[500], want[600];

	memset(path, '/', sizeof path);
	path[401] = '\0';
	for (size_t i = 0; i < 4; i++)
		CHECK_ERROR(store_open((const char *[]){ "", ":memory:", "db", path }[i],
		                       migrations, &store, &err),
		            err, ERR_INVALID, BAD_PATH);
	(void)snprintf(path, sizeof path, "%s/none/db", scratch_path);
	(void)snprintf(want, sizeof want,
	               "cannot create the database '%s': No such file or directory", path);
	CHECK_ERROR(store_open(path, migrations, &store, &err), err, ERR_SYSTEM, want);
	scratch_write("target", "");
	assert_int_equal(symlink("target", "link"), 0);
	(void)snprintf(path, sizeof path, "%s/link", scratch_path);
	(void)snprintf(want, sizeof want, "the database is not a regular file: %s", path);
	CHECK_ERROR(store_open(path, migrations, &store, &err), err, ERR_INVALID, want);
}

static void attach_statement_is_rejected(void **state)
{
	AUTO(store) struct store *store = open_store();
	struct error err;

	assert_int_equal(store_exec(store, "ATTACH 'other' AS o", &err, ""), -1);
	assert_int_equal(access("other", F_OK), -1);
}

/* Several servers may start at the same time on a new state directory. */
static void eight_processes_open_a_new_database_at_once(void **state)
{
	enum { MANY = 8 };
	AUTO(store) struct store *store = NULL;
	pid_t children[MANY];
	int go[2];

	assert_int_equal(pipe(go), 0);
	for (int i = 0; i < MANY; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			struct error err;
			char byte;

			(void)close(go[1]);
			(void)!read(go[0], &byte, 1);
			if (store_open(db_path(), migrations, &store, &err) < 0 ||
			    store_exec(store, "INSERT INTO things (number) VALUES (1)", &err, "") <
			            0) {
				(void)fprintf(stderr, "%s\n", err.msg);
				_exit(1);
			}
			store_close(store);
			_exit(0);
		}
	}
	(void)close(go[0]);
	(void)close(go[1]);
	for (int i = 0; i < MANY; i++) {
		int status = -1;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	store = open_store();
	assert_int_equal(query_int(store, "SELECT count(*) FROM things"), MANY);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		IN_SCRATCH(new_database_has_mode_0600_and_our_settings),
		IN_SCRATCH(mode_of_a_readable_database_becomes_0600),
		IN_SCRATCH(values_of_every_type_are_read_back),
		IN_SCRATCH(violated_constraint_is_an_invalid_request),
		IN_SCRATCH(value_above_the_maximum_is_rejected),
		IN_SCRATCH(statement_cache_compares_texts),
		IN_SCRATCH(transaction_is_committed_or_rolled_back_as_a_whole),
		IN_SCRATCH(failed_transaction_accepts_no_statement),
		IN_SCRATCH(locked_database_is_reported_after_the_wait),
		IN_SCRATCH(older_schema_is_migrated),
		IN_SCRATCH(failed_migration_leaves_the_previous_version),
		IN_SCRATCH(newer_and_foreign_databases_are_not_changed),
		IN_SCRATCH(damaged_database_is_reported_with_advice),
		IN_SCRATCH(text_file_is_rejected_and_empty_file_is_initialized),
		IN_SCRATCH(unsuitable_paths_are_rejected),
		IN_SCRATCH(attach_statement_is_rejected),
		IN_SCRATCH(eight_processes_open_a_new_database_at_once),
	};

	return RUN_TESTS("store", tests);
}
