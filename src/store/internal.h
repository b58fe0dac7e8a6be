/* internal.h - the connection, shared by the files of src/store. */
#pragma once
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

enum {
	STORE_BUSY_MS = 2000,       /* wait for another process's lock */
	STORE_PATH_MAX = 400,       /* SQLite's limit is 512, with "-journal" appended */
	STORE_STATEMENTS_MAX = 32,  /* prepared statements that are cached */
	STORE_VALUE_MAX = 16 << 20, /* bytes of one value */
	STORE_RESERVE = 512 << 10,  /* bytes of the reserve file */
	STORE_FREE_BYTES = 1 << 20, /* with less free space the reserve file is removed */
};

/* "bjar" in the header of the file: PRAGMA application_id. */
#define STORE_APPLICATION_ID 0x626a6172

struct cached_statement {
	sqlite3_stmt *statement; /* NULL: the entry is free */
	uint64_t last_used;      /* value of store->uses */
};

struct store {
	sqlite3 *db;
	char *path;
	struct cached_statement statements[STORE_STATEMENTS_MAX];
	uint64_t uses; /* counts statements; the entry with the lowest last_used is replaced */
	bool in_query; /* a callback of store_query() is running */
	bool in_transaction; /* between store_begin() and its end */
	bool is_open;        /* store_open() succeeded: store_close() makes the reserve file */
};

/* Turns the last error of SQLite into *err: what happened, and what the user can do. Returns -1. */
int store_set_error(struct store *store, int code, struct error *err);

MUST_CHECK int store_migrate(struct store *store, const char *const migrations[],
                             struct error *err);
void store_finalize_statements(struct store *store);
