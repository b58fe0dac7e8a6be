/* statement.c - the cache of prepared statements, their parameters and rows; transactions. */
#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/internal.h"

void store_finalize_statements(struct store *store)
{
	for (size_t i = 0; i < STORE_STATEMENTS_MAX; i++) {
		(void)sqlite3_finalize(store->statements[i].statement);
		store->statements[i].statement = NULL;
	}
}

/* Finds a cached statement by comparing its text. Comparing pointers would be wrong: a caller may
 * pass a buffer with another text next time. */
static int prepare_statement(struct store *store, const char *sql, sqlite3_stmt **ret,
                             struct error *err)
{
	struct cached_statement *oldest = &store->statements[0];
	sqlite3_stmt *statement = NULL;
	const char *rest = NULL;
	int code;

	for (size_t i = 0; i < STORE_STATEMENTS_MAX; i++) {
		struct cached_statement *entry = &store->statements[i];

		if (entry->statement != NULL && strcmp(sqlite3_sql(entry->statement), sql) == 0) {
			entry->last_used = ++store->uses;
			*ret = entry->statement;
			return 0;
		}
		if (entry->last_used < oldest->last_used)
			oldest = entry;
	}
	code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, &rest);
	if (code != SQLITE_OK)
		return store_set_error(store, code, err);
	assert(statement != NULL && *rest == '\0'); /* sql is exactly one statement */
	(void)sqlite3_finalize(oldest->statement);
	*oldest = (struct cached_statement){ .statement = statement, .last_used = ++store->uses };
	*ret = statement;
	return 0;
}

/* SQLITE_STATIC: SQLite does not copy the value. The caller keeps it until run_statement() has
 * cleared the bindings. */
static int bind_value(sqlite3_stmt *statement, int at, char type, va_list *args)
{
	const char *text;
	struct view bytes;

	switch (type) {
	case 's':
		text = va_arg(*args, const char *);
		return text == NULL ? sqlite3_bind_null(statement, at)
		                    : sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
	case 'i':
		return sqlite3_bind_int64(statement, at, va_arg(*args, int64_t));
	case 'b':
		bytes = va_arg(*args, struct view);
		return sqlite3_bind_blob64(statement, at, bytes.len != 0 ? bytes.ptr : "",
		                           bytes.len, SQLITE_STATIC);
	default:
		abort(); /* an unknown letter in `types` */
	}
}

static int bind_values(struct store *store, sqlite3_stmt *statement, const char *types,
                       va_list *args, struct error *err)
{
	int count = (int)strlen(types);

	assert(sqlite3_bind_parameter_count(statement) == count);
	for (int i = 0; i < count; i++) {
		int code = bind_value(statement, i + 1, types[i], args);

		if ((code & 0xff) == SQLITE_TOOBIG)
			return error_set(err, ERR_LIMIT,
			                 "a value for the database is larger than %d bytes",
			                 STORE_VALUE_MAX);
		if (code != SQLITE_OK)
			return store_set_error(store, code, err);
	}
	return 0;
}

/* SQLite rolls a transaction back by itself on errors such as a full disk. The statements that
 * follow would then be committed one by one. */
static int check_transaction(const struct store *store, struct error *err)
{
	if (store->in_transaction && sqlite3_get_autocommit(store->db))
		return error_set(err, ERR_SYSTEM, "the transaction has already failed: %s",
		                 store->path);
	return 0;
}

static int run_statement(struct store *store, bool (*each)(void *ctx, struct store_row *row),
                         void *ctx, const char *sql, struct error *err, const char *types,
                         va_list *args)
{
	sqlite3_stmt *statement = NULL;
	int code = SQLITE_DONE;
	int r;

	assert(!store->in_query);
	if (check_transaction(store, err) < 0 || prepare_statement(store, sql, &statement, err) < 0)
		return -1;
	r = bind_values(store, statement, types, args, err);
	if (r == 0) {
		store->in_query = true;
		while ((code = sqlite3_step(statement)) == SQLITE_ROW)
			if (each != NULL && !each(ctx, (struct store_row *)statement))
				break;
		store->in_query = false;
		if (code != SQLITE_ROW && code != SQLITE_DONE)
			r = store_set_error(store, code, err);
	}
	(void)sqlite3_reset(statement);
	(void)sqlite3_clear_bindings(statement);
	return r;
}

int store_exec(struct store *store, const char *sql, struct error *err, const char *types, ...)
{
	va_list args;
	int r;

	va_start(args, types);
	r = run_statement(store, NULL, NULL, sql, err, types, &args);
	va_end(args);
	return r;
}

int store_query(struct store *store, bool (*each)(void *ctx, struct store_row *row), void *ctx,
                const char *sql, struct error *err, const char *types, ...)
{
	va_list args;
	int r;

	va_start(args, types);
	r = run_statement(store, each, ctx, sql, err, types, &args);
	va_end(args);
	return r;
}

int64_t store_changes(struct store *store)
{
	return sqlite3_changes64(store->db);
}

/* A struct store_row is the statement after SQLITE_ROW. */
static sqlite3_stmt *statement_of(struct store_row *row)
{
	return (sqlite3_stmt *)row;
}

const char *store_row_text(struct store_row *row, int column)
{
	const unsigned char *text = sqlite3_column_text(statement_of(row), column);

	return text != NULL ? (const char *)text : "";
}

int64_t store_row_int(struct store_row *row, int column)
{
	return sqlite3_column_int64(statement_of(row), column);
}

struct view store_row_bytes(struct store_row *row, int column)
{
	const void *bytes = sqlite3_column_blob(statement_of(row), column);
	int len = sqlite3_column_bytes(statement_of(row), column);

	return bytes != NULL ? (struct view){ bytes, (size_t)len } : (struct view){ "", 0 };
}

/* BEGIN IMMEDIATE takes the write lock at once. Two transactions that read first and then want to
 * write would otherwise block each other until one of them fails. */
int store_begin(struct store *store, struct error *err)
{
	assert(!store->in_transaction);
	if (store_exec(store, "BEGIN IMMEDIATE", err, "") < 0)
		return -1;
	store->in_transaction = true;
	return 0;
}

int store_commit(struct store *store, struct error *err)
{
	assert(store->in_transaction);
	if (store_exec(store, "COMMIT", err, "") < 0) {
		store_rollback(store);
		return -1;
	}
	store->in_transaction = false;
	return 0;
}

void store_rollback(struct store *store)
{
	struct error ignored;

	assert(store->in_transaction);
	store->in_transaction = false;
	if (!sqlite3_get_autocommit(store->db))
		(void)!store_exec(store, "ROLLBACK", &ignored, "");
}
