/* history.h - the runs of each sandbox and how they ended, for `belljar logs`.
 *
 *   history_new -> history_add ... -> history_free
 *
 * A run is added when it starts, with the outcome HISTORY_RUNNING, and again when it ends, which
 * replaces that row. Rows are collected and written together within half a second; if the server is
 * killed, those are lost. The newest 20,000 rows of all sandboxes are kept. The rows of a sandbox
 * are deleted with it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "engine/spec.h"
#include "sandbox/registry/registry.h"

struct error;
struct history;
struct loop;
struct store;

enum { HISTORY_WHAT_MAX = 200, HISTORY_OUTCOME_MAX = 100 };

#define HISTORY_RUNNING "running"
/* The end that registry_recover() writes for a run whose server was killed. */
#define HISTORY_LOST "ended with its server"

struct history_row {
	char sandbox[SPEC_ID_LEN + 1];
	char owner[OWNER_MAX + 1];
	int64_t started_s; /* wall clock */
	uint64_t duration_ms;
	char what[HISTORY_WHAT_MAX + 1];       /* one line */
	char outcome[HISTORY_OUTCOME_MAX + 1]; /* "exit code 0", "timed out" */
};

/* The store must outlive the history. */
struct history *history_new(struct loop *loop, struct store *store);
/* Writes the rows that are still in memory. NULL is accepted. */
struct history *history_free(struct history *history);
void history_add(struct history *history, const struct history_row *row);
/* Calls each() for at most `limit` rows, newest first, until it returns false. `sandbox` is an id,
 * or NULL for all sandboxes of the owner. each() must not use the store. */
MUST_CHECK int history_each(struct store *store, const char *owner, const char *sandbox,
                            unsigned limit, bool (*each)(void *ctx, const struct history_row *row),
                            void *ctx, struct error *err);
