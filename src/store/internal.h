/* internal.h - the connection as the files of src/store see it. */
#pragma once
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

enum {
	STORE_BUSY_MS = 2000,
	STORE_PATH_MAX = 400, /* SQLite's own end is at 512, and it appends "-journal" */
	STORE_KEPT_MAX = 32,  /* statements kept ready */
	STORE_VALUE_MAX = 16 << 20,
	STORE_RESERVE = 512 << 10,
	STORE_ROOM = 1 << 20, /* free space: less is as good as none */
};

/* "bjar": what the file says it is, in its header. */
#define STORE_APPLICATION_ID 0x626a6172

struct store_kept {
	sqlite3_stmt *statement; /* NULL: free */
	uint64_t used;           /* when, by store->clock */
};

struct store {
	sqlite3 *db;
	char *path;
	struct store_kept kept[STORE_KEPT_MAX];
	uint64_t clock;
	bool in_each;  /* a row is being looked at */
	bool is_open;  /* whole: what fails to open leaves nothing beside the file */
	bool in_begin; /* between store_begin() and its end */
};

/* What SQLite last said, in our words: what happened and what to do. Returns -1. */
int store_fail(struct store *store, int code, struct error *err);

MUST_CHECK int store_migrate(struct store *store, const char *const migrations[],
                             struct error *err);
void store_forget_statements(struct store *store);
