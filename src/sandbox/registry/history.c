#include "sandbox/registry/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "store/store.h"

enum { PENDING_MAX = 64, WRITE_DELAY_MS = 500, ROWS_MAX = 20000 };

/* Each commit waits for the disk, so rows are written in batches. */
struct history {
	struct store *store;
	struct loop_timer *timer;
	size_t count;
	struct history_row rows[PENDING_MAX];
};

static bool is_start(const struct history_row *row)
{
	return strcmp(row->outcome, HISTORY_RUNNING) == 0;
}

/* Whether `start` is the row of the run whose end is `row`. */
static bool is_start_of(const struct history_row *start, const struct history_row *row)
{
	return is_start(start) && start->started_s == row->started_s &&
	       strcmp(start->sandbox, row->sandbox) == 0 && strcmp(start->what, row->what) == 0;
}

static int insert_row(struct store *store, const struct history_row *row, struct error *err)
{
	return store_exec(store,
	                  "INSERT INTO runs (sandbox, owner, started_s, duration_ms, what, outcome)"
	                  " VALUES (?, ?, ?, ?, ?, ?)",
	                  err, "ssiiss", row->sandbox, row->owner, row->started_s,
	                  (int64_t)row->duration_ms, row->what, row->outcome);
}

/* The end of a run takes the place of its start. Two runs with the same text that started in the
 * same second have rows that cannot be told apart, and each end takes one of them. */
static int write_row(struct store *store, const struct history_row *row, struct error *err)
{
	if (is_start(row))
		return insert_row(store, row, err);
	if (store_exec(store,
	               "UPDATE runs SET duration_ms = ?1, outcome = ?2 WHERE number ="
	               " (SELECT min(number) FROM runs WHERE sandbox = ?3 AND started_s = ?4"
	               " AND what = ?5 AND outcome = '" HISTORY_RUNNING "')",
	               err, "issis", (int64_t)row->duration_ms, row->outcome, row->sandbox,
	               row->started_s, row->what) < 0)
		return -1;
	return store_changes(store) == 0 ? insert_row(store, row, err) : 0;
}

static int write_rows(struct store *store, const struct history *history, struct error *err)
{
	for (size_t i = 0; i < history->count; i++)
		if (write_row(store, &history->rows[i], err) < 0)
			return -1;
	return store_exec(store,
	                  "DELETE FROM runs WHERE number <= (SELECT max(number) FROM runs) - ?",
	                  err, "i", (int64_t)ROWS_MAX);
}

static int write_all(struct store *store, const struct history *history, struct error *err)
{
	if (store_begin(store, err) < 0)
		return -1;
	if (write_rows(store, history, err) == 0)
		return store_commit(store, err);
	store_rollback(store);
	return -1;
}

static void flush_history(void *ctx)
{
	struct history *history = ctx;
	struct error err;

	if (history->count == 0)
		return;
	if (write_all(history->store, history, &err) < 0)
		log_warning("the history of runs could not be written: %s", err.msg);
	history->count = 0;
}

struct history *history_new(struct loop *loop, struct store *store)
{
	struct history *history = mem_new(sizeof *history);

	history->store = store;
	history->timer = loop_timer_new(loop, flush_history, history);
	return history;
}

struct history *history_free(struct history *history)
{
	if (history == NULL)
		return NULL;
	flush_history(history);
	(void)loop_timer_free(history->timer);
	free(history);
	return NULL;
}

void history_add(struct history *history, const struct history_row *row)
{
	for (size_t i = 0; i < history->count; i++)
		if (!is_start(row) && is_start_of(&history->rows[i], row)) {
			history->rows[i] = *row;
			return;
		}
	history->rows[history->count++] = *row;
	if (history->count == PENDING_MAX)
		flush_history(history);
	else if (history->count == 1)
		loop_timer_start(history->timer, WRITE_DELAY_MS);
}

struct listing {
	bool (*each)(void *ctx, const struct history_row *row);
	void *ctx;
};

static bool on_row(void *ctx, struct store_row *columns)
{
	struct listing *listing = ctx;
	struct history_row row = { .started_s = store_row_int(columns, 2),
		                   .duration_ms = (uint64_t)store_row_int(columns, 3) };

	(void)snprintf(row.sandbox, sizeof row.sandbox, "%s", store_row_text(columns, 0));
	(void)snprintf(row.owner, sizeof row.owner, "%s", store_row_text(columns, 1));
	(void)snprintf(row.what, sizeof row.what, "%s", store_row_text(columns, 4));
	(void)snprintf(row.outcome, sizeof row.outcome, "%s", store_row_text(columns, 5));
	return listing->each(listing->ctx, &row);
}

int history_each(struct store *store, const char *owner, const char *sandbox, unsigned limit,
                 bool (*each)(void *ctx, const struct history_row *row), void *ctx,
                 struct error *err)
{
	struct listing listing = { each, ctx };

	return store_query(store, on_row, &listing,
	                   "SELECT sandbox, owner, started_s, duration_ms, what, outcome FROM runs"
	                   " WHERE owner = ?1 AND (?2 = '' OR sandbox = ?2)"
	                   " ORDER BY number DESC LIMIT ?3",
	                   err, "ssi", owner, sandbox != NULL ? sandbox : "", (int64_t)limit);
}
