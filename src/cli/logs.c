#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "cli/support/out.h"
#include "cli/support/records.h"
#include "cli/verb.h"
#include "sandbox/registry/history.h"
#include "sandbox/registry/instances.h"
#include "sandbox/registry/registry.h"
#include "server/options/options.h"
#include "server/owner.h"
#include "store/store.h"
#include "json/json.h"

enum { SHOWN_MAX = 1000 };

#define LINE "%-20s  %-29s %-10s  %-16s  %s\n"

struct rows {
	struct history_row *row; /* newest first */
	size_t count;
	int64_t now_s;
};

static bool keep_row(void *ctx, const struct history_row *row)
{
	struct rows *rows = ctx;

	rows->row[rows->count++] = *row;
	return rows->count < SHOWN_MAX;
}

/* The history may have rows of sandboxes that were deleted, so an id is used as it is. A name must
 * belong to a sandbox. */
static int find_id(struct store *store, const char *owner, const char *wanted, const char **ret,
                   struct sandbox_row *room, struct error *err)
{
	*ret = wanted;
	if (wanted == NULL || spec_is_id(wanted))
		return 0;
	if (registry_find(store, owner, wanted, room, err) < 0)
		return -1;
	*ret = room->spec.id;
	return 0;
}

static bool is_awake(struct store *store, int servers, const struct history_row *row,
                     struct sandbox_row *room)
{
	struct error err;

	return registry_find(store, row->owner, row->sandbox, room, &err) == 0 &&
	       room->state == SANDBOX_AWAKE && instance_is_alive(servers, room->instance);
}

/* A server that was killed leaves rows of runs that it did not see the end of. The next server to
 * start changes them; show them so already. */
static void complete_running(struct store *store, int servers, struct rows *rows,
                             struct sandbox_row *room)
{
	for (size_t i = 0; i < rows->count; i++) {
		struct history_row *row = &rows->row[i];

		if (strcmp(row->outcome, HISTORY_RUNNING) != 0)
			continue;
		if (!is_awake(store, servers, row, room))
			(void)snprintf(row->outcome, sizeof row->outcome, "%s", HISTORY_LOST);
		else if (rows->now_s > row->started_s)
			row->duration_ms = (uint64_t)(rows->now_s - row->started_s) * 1000;
	}
}

static int read_rows(const struct verb_call *call, struct rows *rows, struct error *err)
{
	AUTO_FREE struct sandbox_row *room = mem_new(sizeof *room);
	AUTO(store) struct store *store = NULL;
	AUTO_FD int servers = -1;
	const char *owner = owner_choose(call->options->user), *id;

	if (records_open(call->options, &store, &servers, err) < 0)
		return -1;
	if (store == NULL)
		return 0;
	if (find_id(store, owner, call->operands[0], &id, room, err) < 0)
		return -1;
	if (history_each(store, owner, id, SHOWN_MAX, keep_row, rows, err) < 0)
		return -1;
	complete_running(store, servers, rows, room);
	return 0;
}

/* The rows hold text that came from clients and programs: escape it for the terminal. */
static void print_lines(const struct rows *rows)
{
	if (rows->count != 0)
		out(LINE, "STARTED", "SANDBOX", "TOOK", "OUTCOME", "WHAT");
	for (size_t i = rows->count; i > 0; i--) {
		const struct history_row *row = &rows->row[i - 1];
		char when[RECORDS_TEXT_SIZE], took[32], outcome[2 * HISTORY_OUTCOME_MAX],
		        what[2 * HISTORY_WHAT_MAX];

		(void)snprintf(took, sizeof took, "%.3f s", (double)row->duration_ms / 1000);
		out(LINE, records_when(row->started_s, when),
		    UTF8_ESCAPED(view_of(row->sandbox), 64), took,
		    utf8_escape(view_of(row->outcome), outcome, sizeof outcome),
		    utf8_escape(view_of(row->what), what, sizeof what));
	}
}

static void print_json(const struct rows *rows)
{
	AUTO_JSON json_t *report = json_obj();
	json_t *list = json_list();
	AUTO_FREE char *text = NULL;
	size_t len;

	json_set(report, "runs", list);
	for (size_t i = rows->count; i > 0; i--) {
		const struct history_row *row = &rows->row[i - 1];
		char when[RECORDS_TEXT_SIZE];
		json_t *object = json_obj();

		json_set_text(object, "sandbox", row->sandbox);
		json_set_text(object, "started", records_when(row->started_s, when));
		json_set(object, "duration_ms", json_int((json_int_t)row->duration_ms));
		json_set_text(object, "what", row->what);
		json_set_text(object, "outcome", row->outcome);
		json_push(list, object);
	}
	text = json_write(report, &len);
	out("%s\n", text);
}

static enum verb_result run_logs(const struct verb_call *call, struct error *err)
{
	struct rows rows = { .row = mem_array(SHOWN_MAX, sizeof *rows.row), .now_s = time(NULL) };
	int r = read_rows(call, &rows, err);

	if (r == 0 && call->options->json)
		print_json(&rows);
	else if (r == 0)
		print_lines(&rows);
	free(rows.row);
	return r < 0 ? VERB_FAILED : VERB_DONE;
}

static const struct verb_example examples[] = {
	{ "belljar logs", "Show the latest runs." },
	{ "belljar logs work", "Show the runs of one sandbox." },
	{ "belljar logs --json | jq '.runs[] | select(.outcome != \"exit code 0\")'",
	  "Show the runs that failed." },
	{ NULL, NULL },
};

const struct verb verb_logs = {
	.name = "logs",
	.operand = "SANDBOX",
	.summary = "Show what was run, and how it ended.",
	.help = "Prints one line for each program, piece of code and session cell that has ended "
	        "or is running, and for each host that a program tried to reach, at most 1000, the "
	        "newest last. SANDBOX is a name or an id. The lines of a sandbox are deleted with "
	        "it. The output of programs is not kept.",
	.examples = examples,
	.options = FOR_LOGS,
	.run = run_logs,
};
