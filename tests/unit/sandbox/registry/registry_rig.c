#include "unit/sandbox/registry/registry_rig.h"

char registry_path[100];

struct store *open_registry(void)
{
	struct store *store = NULL;
	struct error err;

	(void)snprintf(registry_path, sizeof registry_path, "%s/db", scratch_path);
	CHECK_OK(store_open(registry_path, registry_migrations, &store, &err), err);
	return store;
}

const char *id_for(char letter)
{
	static char ids[4][SPEC_ID_LEN + 1];
	static unsigned turn;
	char *id = ids[turn++ % ARRAY_LEN(ids)];

	memset(id, letter, SPEC_ID_LEN);
	memcpy(id, "sb_", 3);
	return id;
}

struct sandbox_row row_for(char letter, const char *owner, const char *name)
{
	struct sandbox_row row = { .spec = spec_default(),
		                   .state = SANDBOX_CREATING,
		                   .instance = SELF,
		                   .engine = "native",
		                   .created_s = 1000,
		                   .used_s = 1000 };

	(void)snprintf(row.spec.id, sizeof row.spec.id, "%s", id_for(letter));
	(void)snprintf(row.owner, sizeof row.owner, "%s", owner);
	(void)snprintf(row.name, sizeof row.name, "%s", name);
	return row;
}

void add_row(struct store *store, char letter, const char *owner, const char *name)
{
	struct sandbox_row row = row_for(letter, owner, name);
	struct error err;

	CHECK_OK(registry_add(store, &row, &err), err);
}

void run_sql(const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(registry_path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

void assert_row_state(struct store *store, char letter, enum sandbox_state want,
                      const char *instance)
{
	struct sandbox_row row;
	struct error err;

	CHECK_OK(registry_find(store, "me", id_for(letter), &row, &err), err);
	assert_int_equal(row.state, want);
	assert_string_equal(row.instance, instance);
}
