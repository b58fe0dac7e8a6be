/* statement.c - statements that are kept ready, their parameters and their rows. */
#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/internal.h"

void store_forget_statements(struct store *store)
{
	for (size_t i = 0; i < STORE_KEPT_MAX; i++) {
		(void)sqlite3_finalize(store->kept[i].statement);
		store->kept[i].statement = NULL;
	}
}

/* By the text, not by where it stands: a caller's buffer may say something else next time. */
static int prepare(struct store *store, const char *sql, sqlite3_stmt **ret, struct error *err)
{
	struct store_kept *oldest = &store->kept[0];
	sqlite3_stmt *statement = NULL;
	const char *rest = NULL;
	int code;

	for (size_t i = 0; i < STORE_KEPT_MAX; i++) {
		struct store_kept *kept = &store->kept[i];

		if (kept->statement != NULL && strcmp(sqlite3_sql(kept->statement), sql) == 0) {
			kept->used = ++store->clock;
			*ret = kept->statement;
			return 0;
		}
		if (kept->used < oldest->used)
			oldest = kept;
	}
	code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, &rest);
	if (code != SQLITE_OK)
		return store_fail(store, code, err);
	assert(statement != NULL && *rest == '\0'); /* one statement */
	(void)sqlite3_finalize(oldest->statement);
	*oldest = (struct store_kept){ .statement = statement, .used = ++store->clock };
	*ret = statement;
	return 0;
}

/* What is bound is the caller's, and it is unbound again before the caller gets control back. */
static int bind_one(sqlite3_stmt *statement, int at, char type, va_list *args)
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
		abort(); /* no letter of ours */
	}
}

static int bind(struct store *store, sqlite3_stmt *statement, const char *types, va_list *args,
                struct error *err)
{
	int count = (int)strlen(types);

	assert(sqlite3_bind_parameter_count(statement) == count);
	for (int i = 0; i < count; i++) {
		int code = bind_one(statement, i + 1, types[i], args);

		if ((code & 0xff) == SQLITE_TOOBIG)
			return error_set(err, ERR_LIMIT,
			                 "a value of more than %d bytes for the database",
			                 STORE_VALUE_MAX);
		if (code != SQLITE_OK)
			return store_fail(store, code, err);
	}
	return 0;
}

/* A full disk ends a transaction by itself. What came after it would be done alone. */
static int check_begin(const struct store *store, struct error *err)
{
	if (store->in_begin && sqlite3_get_autocommit(store->db))
		return error_set(err, ERR_SYSTEM, "the transaction has already failed: %s",
		                 store->path);
	return 0;
}

static int run(struct store *store, bool (*each)(void *ctx, struct store_row *row), void *ctx,
               const char *sql, struct error *err, const char *types, va_list *args)
{
	sqlite3_stmt *statement = NULL;
	int code = SQLITE_DONE;
	int r;

	assert(!store->in_each);
	if (check_begin(store, err) < 0 || prepare(store, sql, &statement, err) < 0)
		return -1;
	r = bind(store, statement, types, args, err);
	if (r == 0) {
		store->in_each = true;
		while ((code = sqlite3_step(statement)) == SQLITE_ROW)
			if (each != NULL && !each(ctx, (struct store_row *)statement))
				break;
		store->in_each = false;
		if (code != SQLITE_ROW && code != SQLITE_DONE)
			r = store_fail(store, code, err);
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
	r = run(store, NULL, NULL, sql, err, types, &args);
	va_end(args);
	return r;
}

int store_query(struct store *store, bool (*each)(void *ctx, struct store_row *row), void *ctx,
                const char *sql, struct error *err, const char *types, ...)
{
	va_list args;
	int r;

	va_start(args, types);
	r = run(store, each, ctx, sql, err, types, &args);
	va_end(args);
	return r;
}

int64_t store_changes(struct store *store)
{
	return sqlite3_changes64(store->db);
}

/* A row is its statement, which stands on it. */
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

/* The write lock at once: two that read first and then want to write would shut each other out. */
int store_begin(struct store *store, struct error *err)
{
	assert(!store->in_begin);
	if (store_exec(store, "BEGIN IMMEDIATE", err, "") < 0)
		return -1;
	store->in_begin = true;
	return 0;
}

int store_commit(struct store *store, struct error *err)
{
	assert(store->in_begin);
	if (store_exec(store, "COMMIT", err, "") < 0) {
		store_rollback(store);
		return -1;
	}
	store->in_begin = false;
	return 0;
}

void store_rollback(struct store *store)
{
	struct error ignored;

	assert(store->in_begin);
	store->in_begin = false;
	if (!sqlite3_get_autocommit(store->db))
		(void)!store_exec(store, "ROLLBACK", &ignored, "");
}
