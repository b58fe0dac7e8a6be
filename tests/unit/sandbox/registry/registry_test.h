/* registry_test.h - a registry in a place of its own, and rows for it. */
#pragma once
#include <signal.h>
#include <sqlite3.h>

#include "sandbox/registry/registry.h"
#include "store/store.h"
#include "unit/server/place.h"

#define SELF  "00000000000000aa"
#define OTHER "00000000000000bb"
#define THIRD "00000000000000cc"

static char path[100];

static inline struct store *open_it(void)
{
	struct store *store = NULL;
	struct error err;

	(void)snprintf(path, sizeof path, "%s/db", place_path);
	CHECK_OK(store_open(path, registry_migrations, &store, &err), err);
	return store;
}

/* "sb_" and the letter 26 times. */
static inline const char *id_of(char letter)
{
	static char ids[4][SPEC_ID_LEN + 1];
	static unsigned turn;
	char *id = ids[turn++ % ARRAY_LEN(ids)];

	memset(id, letter, SPEC_ID_LEN);
	memcpy(id, "sb_", 3);
	return id;
}

static inline struct sandbox_row make_row(char letter, const char *owner, const char *name)
{
	struct sandbox_row row = { .spec = spec_default(),
		                   .state = SANDBOX_CREATING,
		                   .instance = SELF,
		                   .engine = "native",
		                   .created_s = 1000,
		                   .used_s = 1000 };

	(void)snprintf(row.spec.id, sizeof row.spec.id, "%s", id_of(letter));
	(void)snprintf(row.owner, sizeof row.owner, "%s", owner);
	(void)snprintf(row.name, sizeof row.name, "%s", name);
	return row;
}

static inline void add(struct store *store, char letter, const char *owner, const char *name)
{
	struct sandbox_row row = make_row(letter, owner, name);
	struct error err;

	CHECK_OK(registry_add(store, &row, &err), err);
}

static inline void alter(const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static inline void check_state(struct store *store, char letter, enum sandbox_state want,
                               const char *instance)
{
	struct sandbox_row row;
	struct error err;

	CHECK_OK(registry_find(store, "me", id_of(letter), &row, &err), err);
	assert_int_equal(row.state, want);
	assert_string_equal(row.instance, instance);
}
