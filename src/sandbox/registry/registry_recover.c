/* registry_recover.c - takes over the rows of servers that were killed (see registry.h).
 *
 * The rows of a SELECT are collected before the next statement runs, because the store must not be
 * used while it hands out rows. */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "sandbox/registry/history.h"
#include "sandbox/registry/registry.h"
#include "store/store.h"

/* Ids and instances are collected as records of one size. */
enum { RECORD = SPEC_ID_LEN + 1, RECORDS_MAX = 64 << 20 };
_Static_assert((int)INSTANCE_LEN < (int)RECORD, "an instance fits into a record");

struct records {
	struct buf texts;
	struct error *err;
	int r;
};

static bool on_text(void *ctx, struct store_row *row)
{
	struct records *records = ctx;
	struct view text = store_row_bytes(row, 0);
	char record[RECORD] = "";

	/* A truncated text could be the id of another sandbox: skip the damaged row. */
	if (text.len >= sizeof record)
		return true;
	memcpy(record, text.ptr, text.len);
	records->r = buf_add(&records->texts, (struct view){ record, sizeof record }, records->err);
	return records->r == 0;
}

static int collect_texts(struct store *store, struct records *records, const char *sql,
                         const char *instance)
{
	if (store_query(store, on_text, records, sql, records->err, instance != NULL ? "s" : "",
	                instance) < 0)
		return -1;
	return records->r;
}

#define UNFINISHED " WHERE instance = ?1 AND (state IN ('creating', 'deleting') OR throw_away)"

/* AWAKE rows become ASLEEP: the engine killed their processes, and their files are whole. */
static int take_over_rows(struct store *store, const char *dead, const char *instance,
                          struct records *unfinished)
{
	if (store_exec(store,
	               "UPDATE runs SET outcome = '" HISTORY_LOST
	               "' WHERE outcome = '" HISTORY_RUNNING "' AND sandbox IN"
	               " (SELECT id FROM sandboxes WHERE instance = ?)",
	               unfinished->err, "s", dead) < 0)
		return -1;
	if (collect_texts(store, unfinished, "SELECT id FROM sandboxes" UNFINISHED, dead) < 0)
		return -1;
	if (store_exec(store, "UPDATE sandboxes SET state = 'deleting', instance = ?2" UNFINISHED,
	               unfinished->err, "ss", dead, instance) < 0)
		return -1;
	return store_exec(store,
	                  "UPDATE sandboxes SET state = 'asleep', instance = '' WHERE instance = ?",
	                  unfinished->err, "s", dead);
}

int registry_recover(struct store *store, const char *instance,
                     bool (*is_alive)(void *ctx, const char *instance),
                     void (*unfinished)(void *ctx, const char *id), void *ctx, struct error *err)
{
	struct records servers = { .err = err }, ids = { .err = err };
	int r = -1;

	buf_init(&servers.texts, RECORDS_MAX);
	buf_init(&ids.texts, RECORDS_MAX);
	if (store_begin(store, err) < 0)
		goto done;
	if (collect_texts(store, &servers,
	                  "SELECT DISTINCT instance FROM sandboxes WHERE instance <> ''", NULL) < 0)
		goto undo;
	for (size_t at = 0; at < servers.texts.len; at += RECORD) {
		const char *other = servers.texts.ptr + at;

		if (strcmp(other, instance) != 0 && !is_alive(ctx, other) &&
		    take_over_rows(store, other, instance, &ids) < 0)
			goto undo;
	}
	r = store_commit(store, err);
	/* The engine makes a path of the id and removes it, so a damaged id must not get there. */
	for (size_t at = 0; r == 0 && at < ids.texts.len; at += RECORD)
		if (spec_is_id(ids.texts.ptr + at))
			unfinished(ctx, ids.texts.ptr + at);
	goto done;
undo:
	store_rollback(store);
done:
	buf_done(&servers.texts);
	buf_done(&ids.texts);
	return r;
}
