/* registry_recover.c - taking over what dead servers left. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "sandbox/registry/registry.h"
#include "store/store.h"

/* Records of one size, one behind the other: the store must not be used while it hands out rows. */
enum { RECORD = SPEC_ID_LEN + 1, TAKEN_MAX = 64 << 20 };
_Static_assert((int)INSTANCE_LEN < (int)RECORD, "an instance fits");

struct taking {
	struct buf texts;
	struct error *err;
	int r;
};

static bool on_text(void *ctx, struct store_row *row)
{
	struct taking *taking = ctx;
	struct view text = store_row_bytes(row, 0);
	char record[RECORD] = "";

	/* Cut short it could be another's. */
	if (text.len >= sizeof record)
		return true;
	memcpy(record, text.ptr, text.len);
	taking->r = buf_add(&taking->texts, (struct view){ record, sizeof record }, taking->err);
	return taking->r == 0;
}

static int take(struct store *store, struct taking *taking, const char *sql, const char *instance)
{
	if (store_query(store, on_text, taking, sql, taking->err, instance != NULL ? "s" : "",
	                instance) < 0)
		return -1;
	return taking->r;
}

#define LEFT_UNFINISHED " WHERE instance = ?1 AND (state IN ('creating', 'deleting') OR throw_away)"

static int take_over(struct store *store, const char *dead, const char *instance,
                     struct taking *doomed)
{
	if (take(store, doomed, "SELECT id FROM sandboxes" LEFT_UNFINISHED, dead) < 0)
		return -1;
	if (store_exec(store,
	               "UPDATE sandboxes SET state = 'deleting', instance = ?2" LEFT_UNFINISHED,
	               doomed->err, "ss", dead, instance) < 0)
		return -1;
	return store_exec(store,
	                  "UPDATE sandboxes SET state = 'asleep', instance = '' WHERE instance = ?",
	                  doomed->err, "s", dead);
}

int registry_recover(struct store *store, const char *instance,
                     bool (*is_alive)(void *ctx, const char *instance),
                     void (*doomed)(void *ctx, const char *id), void *ctx, struct error *err)
{
	struct taking servers = { .err = err }, ids = { .err = err };
	int r = -1;

	buf_init(&servers.texts, TAKEN_MAX);
	buf_init(&ids.texts, TAKEN_MAX);
	if (store_begin(store, err) < 0)
		goto done;
	if (take(store, &servers, "SELECT DISTINCT instance FROM sandboxes WHERE instance <> ''",
	         NULL) < 0)
		goto undo;
	for (size_t at = 0; at < servers.texts.len; at += RECORD) {
		const char *other = servers.texts.ptr + at;

		if (strcmp(other, instance) != 0 && !is_alive(ctx, other) &&
		    take_over(store, other, instance, &ids) < 0)
			goto undo;
	}
	r = store_commit(store, err);
	/* An id becomes a path: one that is none goes no further. */
	for (size_t at = 0; r == 0 && at < ids.texts.len; at += RECORD)
		if (spec_is_id(ids.texts.ptr + at))
			doomed(ctx, ids.texts.ptr + at);
	goto done;
undo:
	store_rollback(store);
done:
	buf_done(&servers.texts);
	buf_done(&ids.texts);
	return r;
}
