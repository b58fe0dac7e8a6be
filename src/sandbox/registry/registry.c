#include "sandbox/registry/registry.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "sandbox/registry/internal.h"
#include "store/store.h"

/* One text per version of the schema. A released migration is never edited, because it has already
 * run on users' databases: add another one. A new limit in SPEC_LIMITS needs a column here. */
const char *const registry_migrations[] = {
	"CREATE TABLE sandboxes ("
	"  id TEXT NOT NULL PRIMARY KEY,"
	"  owner TEXT NOT NULL CHECK (owner <> ''),"
	"  name TEXT,"
	"  engine TEXT NOT NULL,"
	"  state TEXT NOT NULL CHECK (state IN ('creating', 'awake', 'asleep', 'deleting')),"
	"  instance TEXT NOT NULL,"
	"  throw_away INTEGER NOT NULL,"
	"  created_s INTEGER NOT NULL,"
	"  used_s INTEGER NOT NULL,"
	"  calls TEXT NOT NULL,"
	"  egress INTEGER NOT NULL," /* always 0: of a proxy that no version ever switched on */
	"  mounts TEXT NOT NULL,"
	"  gpus INTEGER NOT NULL,"
	"  limit_memory INTEGER NOT NULL,"
	"  limit_swap INTEGER NOT NULL,"
	"  limit_cpu INTEGER NOT NULL,"
	"  limit_pids INTEGER NOT NULL,"
	"  limit_disk INTEGER NOT NULL,"
	"  limit_inodes INTEGER NOT NULL,"
	"  limit_file_size INTEGER NOT NULL,"
	"  limit_files INTEGER NOT NULL,"
	/* Recovery searches by instance: a row without one that is not asleep would never be
	 * finished or deleted. */
	"  CHECK (instance <> '' OR (state = 'asleep' AND NOT throw_away))"
	") STRICT;"
	"CREATE UNIQUE INDEX sandboxes_by_name ON sandboxes (owner, name)"
	"  WHERE name IS NOT NULL AND state <> 'deleting';"
	"CREATE INDEX sandboxes_by_instance ON sandboxes (instance) WHERE instance <> '';",
	"ALTER TABLE sandboxes ADD COLUMN fresh INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE sandboxes ADD COLUMN all_mounts INTEGER NOT NULL DEFAULT 1;"
	"ALTER TABLE sandboxes ADD COLUMN idle_s INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE sandboxes ADD COLUMN lifetime_s INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE sandboxes ADD COLUMN env BLOB NOT NULL DEFAULT x'';"
	"CREATE TABLE runs ("
	"  number INTEGER PRIMARY KEY,"
	"  sandbox TEXT NOT NULL,"
	"  owner TEXT NOT NULL,"
	"  started_s INTEGER NOT NULL,"
	"  duration_ms INTEGER NOT NULL,"
	"  what TEXT NOT NULL,"
	"  outcome TEXT NOT NULL"
	") STRICT;",
	"ALTER TABLE sandboxes ADD COLUMN labels BLOB NOT NULL DEFAULT x'';",
	"ALTER TABLE sandboxes ADD COLUMN image TEXT NOT NULL DEFAULT '';",
	"ALTER TABLE sandboxes ADD COLUMN network TEXT NOT NULL DEFAULT 'none';"
	"ALTER TABLE sandboxes ADD COLUMN network_allow BLOB NOT NULL DEFAULT x'';",
	/* The end of each run looks for its start among all rows (history.c). */
	"CREATE INDEX runs_by_start ON runs (sandbox, started_s) WHERE outcome = 'running';",
	NULL,
};

/* A name of the form of an id is refused: a lookup of that text would find the sandbox with the id
 * instead. */
bool registry_is_name(const char *text)
{
	return isalnum((unsigned char)text[0]) && strlen(text) <= SANDBOX_NAME_MAX &&
	       view_has_only(view_of(text), "._-") && !spec_is_id(text);
}

static int set_not_found(const char *id, struct error *err)
{
	return error_set(err, ERR_NOT_FOUND, "there is no sandbox '%s'", id);
}

static int check_row(const struct sandbox_row *row, struct error *err)
{
	if (spec_check(&row->spec, err) < 0)
		return -1;
	if (row->owner[0] == '\0')
		return error_set(err, ERR_INVALID, "owner: must not be empty");
	if (row->name[0] != '\0' && !registry_is_name(row->name))
		return error_set(err, ERR_INVALID,
		                 "name: at most %d letters, digits and '._-', beginning with a "
		                 "letter or digit, and not of the form of an id",
		                 SANDBOX_NAME_MAX);
	return 0;
}

static int set_name_taken(const char *name, struct error *err)
{
	(void)error_set(err, ERR_INVALID,
	                "there is a sandbox named '%s' already: use it, delete it or choose "
	                "another name",
	                name);
	err->errnum = EEXIST;
	return -1;
}

int registry_add(struct store *store, const struct sandbox_row *row, struct error *err)
{
	char text[REGISTRY_MOUNTS_MAX + 1] = "";
	struct buf mounts = buf_fixed(text, sizeof text);
	const struct spec *spec = &row->spec;

	if (check_row(row, err) < 0)
		return -1;
	registry_write_mounts(spec, &mounts);
#define PLACE(...)       ", ?"
#define LETTER(...)      "i"
#define VALUE(name, ...) , (int64_t)spec->limits.name
	if (store_exec(store,
	               "INSERT INTO sandboxes (" REGISTRY_COLUMNS ", egress)"
	               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
	               " ?" SPEC_LIMITS(PLACE) ", 0) ON CONFLICT DO NOTHING",
	               err, "ssssssiiissiiiiibbssb" SPEC_LIMITS(LETTER), spec->id, row->owner,
	               row->name[0] != '\0' ? row->name : NULL, row->engine,
	               registry_states[row->state], row->instance, (int64_t)row->temporary,
	               row->created_s, row->used_s, spec_syscalls_names[spec->syscalls],
	               buf_text(&mounts), (int64_t)spec->gpus, (int64_t)spec->fresh,
	               (int64_t)row->all_mounts, (int64_t)row->idle_s, (int64_t)row->lifetime_s,
	               (struct view){ row->env, registry_list_size(row->env) },
	               (struct view){ row->labels, registry_list_size(row->labels) }, spec->image,
	               net_mode_names[row->network],
	               (struct view){ row->network_allow,
	                              registry_list_size(row->network_allow) } SPEC_LIMITS(VALUE)) <
	    0)
		return -1;
#undef PLACE
#undef LETTER
#undef VALUE
	/* Two servers may insert the same name at once. The unique index decides between them, not
	 * a lookup before: the server whose INSERT comes second changes no row. */
	if (store_changes(store) == 1)
		return 0;
	if (row->name[0] == '\0')
		return error_set(err, ERR_INVALID, "a sandbox with the id '%s' exists already",
		                 spec->id);
	return set_name_taken(row->name, err);
}

struct lookup {
	struct sandbox_row *row;
	struct error *err;
	bool found;
	int r;
};

static bool on_found(void *ctx, struct store_row *columns)
{
	struct lookup *lookup = ctx;

	lookup->found = true;
	lookup->r = registry_read_row(columns, lookup->row, lookup->err);
	return false;
}

int registry_get(struct store *store, const char *id, struct sandbox_row *ret, struct error *err)
{
	struct lookup lookup = { .row = ret, .err = err };

	if (store_query(store, on_found, &lookup,
	                "SELECT " REGISTRY_COLUMNS " FROM sandboxes WHERE id = ?", err, "s",
	                id) < 0)
		return -1;
	return lookup.found ? lookup.r : set_not_found(id, err);
}

int registry_find(struct store *store, const char *owner, const char *id_or_name,
                  struct sandbox_row *ret, struct error *err)
{
	struct lookup lookup = { .row = ret, .err = err };
	const char *sql;

	if (spec_is_id(id_or_name))
		sql = "SELECT " REGISTRY_COLUMNS " FROM sandboxes WHERE owner = ? AND id = ?";
	else if (registry_is_name(id_or_name))
		sql = "SELECT " REGISTRY_COLUMNS " FROM sandboxes"
		      " WHERE owner = ? AND name = ? AND state <> 'deleting'";
	else
		return error_set(err, ERR_NOT_FOUND,
		                 "there is no such sandbox: an id is \"sb_\" and 26 characters of "
		                 "a-z and 2-7, a name has at most %d letters, digits and '._-'",
		                 SANDBOX_NAME_MAX);
	if (store_query(store, on_found, &lookup, sql, err, "ss", owner, id_or_name) < 0)
		return -1;
	return lookup.found ? lookup.r : set_not_found(id_or_name, err);
}

struct listing {
	bool (*each)(void *ctx, const struct sandbox_row *row);
	void *ctx;
	struct error *err;
	int r;
};

static bool on_listed(void *ctx, struct store_row *columns)
{
	struct listing *listing = ctx;
	struct sandbox_row row;
	struct error why;

	if (registry_read_row(columns, &row, &why) == 0)
		return listing->each(listing->ctx, &row);
	if (listing->r == 0)
		*listing->err = why;
	listing->r = -1;
	return true;
}

int registry_each(struct store *store, const char *owner,
                  bool (*each)(void *ctx, const struct sandbox_row *row), void *ctx,
                  struct error *err)
{
	struct listing listing = { each, ctx, err, 0 };

	if (store_query(store, on_listed, &listing,
	                "SELECT " REGISTRY_COLUMNS " FROM sandboxes WHERE owner = ?"
	                " ORDER BY created_s DESC, rowid DESC",
	                err, "s", owner) < 0)
		return -1;
	return listing.r;
}

static bool on_state(void *ctx, struct store_row *columns)
{
	char *state = ctx;

	(void)snprintf(state, 16, "%s", store_row_text(columns, 0));
	return false;
}

int registry_claim(struct store *store, const char *id, const char *instance, struct error *err)
{
	char state[16] = "";
	bool is_ours;

	/* The UPDATE alone decides which server gets the sandbox. The transaction makes the SELECT
	 * see the same row, so that the message gives the real reason for the refusal. */
	if (store_begin(store, err) < 0)
		return -1;
	if (store_exec(store,
	               "UPDATE sandboxes SET state = 'awake', instance = ?1"
	               " WHERE id = ?2 AND ((state = 'asleep' AND instance = '')"
	               " OR (state IN ('asleep', 'awake') AND instance = ?1))",
	               err, "ss", instance, id) < 0)
		goto undo;
	is_ours = store_changes(store) == 1;
	if (!is_ours && store_query(store, on_state, state,
	                            "SELECT state FROM sandboxes WHERE id = ?", err, "s", id) < 0)
		goto undo;
	if (store_commit(store, err) < 0)
		return -1;
	if (is_ours)
		return 0;
	if (state[0] == '\0')
		return set_not_found(id, err);
	if (strcmp(state, registry_states[SANDBOX_DELETING]) == 0)
		return error_set(err, ERR_INVALID, "sandbox '%s' is being deleted", id);
	(void)error_set(err, ERR_INVALID,
	                "sandbox '%s' is %s by another server: stop that server, wait until it has "
	                "finished, or create another sandbox",
	                id, strcmp(state, "creating") == 0 ? "being created" : "in use");
	err->errnum = EBUSY;
	return -1;
undo:
	store_rollback(store);
	return -1;
}

int registry_set_state(struct store *store, const char *id, enum sandbox_state state,
                       const char *instance, struct error *err)
{
	assert(state < SANDBOX_STATE_COUNT);
	/* State and instance change in one statement: a row that is not asleep must always name the
	 * server that is responsible for it, or recovery would not find it. */
	if (store_exec(store,
	               "UPDATE sandboxes SET state = ?1, instance ="
	               " CASE WHEN ?1 = 'asleep' AND NOT throw_away THEN ''"
	               " WHEN ?2 = '' THEN instance ELSE ?2 END WHERE id = ?3",
	               err, "sss", registry_states[state], instance, id) < 0)
		return -1;
	return store_changes(store) == 1 ? 0 : set_not_found(id, err);
}

/* OR IGNORE: a name that another row has changes no row instead of failing the statement, so that
 * the refusal can be told apart from one by the state. */
int registry_update(struct store *store, const struct sandbox_row *row, const char *instance,
                    struct error *err)
{
	const struct spec_limits *limits = &row->spec.limits;
	struct sandbox_row now;

	if (check_row(row, err) < 0 ||
	    store_exec(
	            store,
	            "UPDATE OR IGNORE sandboxes SET name = ?1, idle_s = ?2, lifetime_s = ?3,"
	            " env = ?4, labels = ?5, limit_memory = ?6, limit_cpu = ?7, limit_pids = ?8,"
	            " limit_disk = ?9, limit_file_size = ?10, network = ?11, network_allow = ?12"
	            " WHERE id = ?13 AND state <> 'deleting' AND (instance = '' OR instance = ?14)",
	            err, "siibbiiiiisbss", row->name[0] != '\0' ? row->name : NULL,
	            (int64_t)row->idle_s, (int64_t)row->lifetime_s,
	            (struct view){ row->env, registry_list_size(row->env) },
	            (struct view){ row->labels, registry_list_size(row->labels) },
	            (int64_t)limits->memory, (int64_t)limits->cpu, (int64_t)limits->pids,
	            (int64_t)limits->disk, (int64_t)limits->file_size, net_mode_names[row->network],
	            (struct view){ row->network_allow, registry_list_size(row->network_allow) },
	            row->spec.id, instance) < 0)
		return -1;
	if (store_changes(store) == 1)
		return 0;
	if (registry_get(store, row->spec.id, &now, err) < 0)
		return -1;
	if (now.state == SANDBOX_DELETING)
		return error_set(err, ERR_INVALID, "sandbox '%s' is being deleted", row->spec.id);
	if (now.instance[0] == '\0' || strcmp(now.instance, instance) == 0)
		return set_name_taken(row->name, err);
	(void)error_set(err, ERR_INVALID,
	                "sandbox '%s' is in use by another server: change it there, or wait until "
	                "it sleeps",
	                row->spec.id);
	err->errnum = EBUSY;
	return -1;
}

int registry_set_fresh(struct store *store, const char *id, bool fresh, struct error *err)
{
	if (store_exec(store, "UPDATE sandboxes SET fresh = ? WHERE id = ?", err, "is",
	               (int64_t)fresh, id) < 0)
		return -1;
	return store_changes(store) == 1 ? 0 : set_not_found(id, err);
}

int registry_touch(struct store *store, const char *id, int64_t now_s, struct error *err)
{
	if (store_exec(store, "UPDATE sandboxes SET used_s = ? WHERE id = ?", err, "is", now_s,
	               id) < 0)
		return -1;
	return store_changes(store) == 1 ? 0 : set_not_found(id, err);
}

/* The history first: if the server dies between the two statements, the row is still DELETING, and
 * recovery deletes both. */
int registry_remove(struct store *store, const char *id, struct error *err)
{
	if (store_exec(store, "DELETE FROM runs WHERE sandbox = ?", err, "s", id) < 0)
		return -1;
	return store_exec(store, "DELETE FROM sandboxes WHERE id = ?", err, "s", id);
}

static bool on_has_row(void *ctx, struct store_row *columns)
{
	(void)columns;
	*(bool *)ctx = true;
	return false;
}

int registry_has(struct store *store, const char *id, bool *ret, struct error *err)
{
	bool found = false;

	if (store_query(store, on_has_row, &found, "SELECT 1 FROM sandboxes WHERE id = ?", err, "s",
	                id) < 0)
		return -1;
	*ret = found;
	return 0;
}

/* --- over several rows --- */

/* sum() over no rows is NULL, hence coalesce(). A sandbox being created counts as awake: otherwise
 * several creations at once could exceed the quota. */
static bool on_sums(void *ctx, struct store_row *columns)
{
	struct registry_sums *sums = ctx;

	sums->sandboxes = (uint64_t)store_row_int(columns, 0);
	sums->disk = (uint64_t)store_row_int(columns, 1);
	sums->memory = (uint64_t)store_row_int(columns, 2);
	return false;
}

int registry_sum(struct store *store, const char *owner, struct registry_sums *ret,
                 struct error *err)
{
	*ret = (struct registry_sums){ 0 };
	return store_query(store, on_sums, ret,
	                   "SELECT count(*), coalesce(sum(limit_disk), 0),"
	                   " coalesce(sum(CASE WHEN state IN ('awake', 'creating')"
	                   "  THEN limit_memory ELSE 0 END), 0)"
	                   " FROM sandboxes WHERE owner = ? AND state <> 'deleting'",
	                   err, "s", owner);
}

struct expired {
	char (*ids)[SPEC_ID_LEN + 1];
	size_t max, count;
};

static bool on_expired(void *ctx, struct store_row *columns)
{
	struct expired *expired = ctx;

	if (expired->count == expired->max)
		return false;
	(void)snprintf(expired->ids[expired->count], SPEC_ID_LEN + 1, "%s",
	               store_row_text(columns, 0));
	expired->count++;
	return true;
}

int registry_list_expired(struct store *store, int64_t now_s, char (*ids)[SPEC_ID_LEN + 1],
                          size_t max, size_t *count, struct error *err)
{
	struct expired expired = { ids, max, 0 };

	if (store_query(store, on_expired, &expired,
	                "SELECT id FROM sandboxes WHERE state = 'asleep' AND instance = ''"
	                " AND lifetime_s <> 0 AND created_s + lifetime_s <= ?",
	                err, "i", now_s) < 0)
		return -1;
	*count = expired.count;
	return 0;
}
