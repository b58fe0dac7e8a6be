#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/support/out.h"
#include "cli/support/process_list.h"
#include "cli/support/records.h"
#include "cli/verb.h"
#include "sandbox/registry/instances.h"
#include "sandbox/registry/registry.h"
#include "server/options/options.h"
#include "server/owner.h"
#include "store/store.h"
#include "json/json.h"

static const char *const state_words[] = {
	[SANDBOX_CREATING] = "creating",
	[SANDBOX_AWAKE] = "awake",
	[SANDBOX_ASLEEP] = "asleep",
	[SANDBOX_DELETING] = "deleting",
};
_Static_assert(ARRAY_LEN(state_words) == SANDBOX_STATE_COUNT, "a word for each state");

/* A name that is longer than its column shifts the rest of its line. */
#define LINE "%-29s %-15s %-9s %-9s %-9s %-9s %s\n"

struct listing {
	json_t *list; /* NULL: lines are printed */
	size_t count;
	int servers;
	int64_t now_s;
};

/* Rows of a server that was killed still say what it was doing. The next server to start marks them
 * asleep, or deletes them if they were temporary or half made; show them as such already. */
static enum sandbox_state state_of(const struct listing *listing, const struct sandbox_row *row)
{
	if (row->instance[0] == '\0' || instance_is_alive(listing->servers, row->instance))
		return row->state;
	return row->state == SANDBOX_AWAKE && !row->temporary ? SANDBOX_ASLEEP : SANDBOX_DELETING;
}

struct ages {
	enum sandbox_state state;
	int64_t sleeps_s, expires_s; /* seconds from now; -1: never */
};

static struct ages ages_of(const struct listing *listing, const struct sandbox_row *row)
{
	struct ages ages = { state_of(listing, row), -1, -1 };
	int64_t sleeps_s = row->used_s + row->idle_s - listing->now_s;
	int64_t expires_s = row->created_s + row->lifetime_s - listing->now_s;

	if (row->idle_s != 0 && ages.state == SANDBOX_AWAKE)
		ages.sleeps_s = sleeps_s > 0 ? sleeps_s : 0;
	if (row->lifetime_s != 0)
		ages.expires_s = expires_s > 0 ? expires_s : 0;
	return ages;
}

static const char *time_left(int64_t seconds, char out[RECORDS_TEXT_SIZE])
{
	return seconds < 0 ? "-" : records_span(seconds, out);
}

static void show_line(struct listing *listing, const struct sandbox_row *row,
                      const struct ages *ages)
{
	char age[RECORDS_TEXT_SIZE], used[RECORDS_TEXT_SIZE], sleeps[RECORDS_TEXT_SIZE],
	        expires[RECORDS_TEXT_SIZE];

	if (listing->count++ == 0)
		out(LINE, "SANDBOX", "NAME", "STATE", "AGE", "UNUSED", "SLEEPS", "EXPIRES");
	out(LINE, row->spec.id, row->name[0] != '\0' ? row->name : "-", state_words[ages->state],
	    records_span(listing->now_s - row->created_s, age),
	    records_span(listing->now_s - row->used_s, used), time_left(ages->sleeps_s, sleeps),
	    time_left(ages->expires_s, expires));
}

static bool show_sandbox(void *ctx, const struct sandbox_row *row)
{
	struct listing *listing = ctx;
	const struct ages ages = ages_of(listing, row);
	char text[RECORDS_TEXT_SIZE];
	json_t *object;

	if (listing->list == NULL) {
		show_line(listing, row, &ages);
		return true;
	}
	object = json_obj();
	json_set_text(object, "id", row->spec.id);
	json_set_text(object, "name", row->name);
	json_set_text(object, "state", state_words[ages.state]);
	json_set_text(object, "created", records_when(row->created_s, text));
	json_set_text(object, "used", records_when(row->used_s, text));
	if (ages.sleeps_s >= 0)
		json_set(object, "sleeps_in_s", json_int(ages.sleeps_s));
	if (ages.expires_s >= 0)
		json_set(object, "expires_in_s", json_int(ages.expires_s));
	json_push(listing->list, object);
	return true;
}

static int list_sandboxes(const struct options *options, struct listing *listing, struct error *err)
{
	AUTO(store) struct store *store = NULL;

	if (records_open(options, &store, &listing->servers, err) < 0)
		return -1;
	return store != NULL ? registry_each(store, owner_choose(options->user), show_sandbox,
	                                     listing, err)
	                     : 0;
}

static enum verb_result run_ps(const struct verb_call *call, struct error *err)
{
	AUTO_JSON json_t *report = NULL;
	struct listing listing = { .servers = -1, .now_s = (int64_t)time(NULL) };
	AUTO_FREE char *text = NULL;
	size_t len;
	int r;

	if (call->operands[0] != NULL)
		return process_list_run(call, call->operands[0], err);
	if (call->options->json) {
		report = json_obj();
		listing.list = json_list();
		json_set(report, "sandboxes", listing.list);
	}
	r = list_sandboxes(call->options, &listing, err);
	if (listing.servers >= 0)
		(void)close(listing.servers);
	if (r < 0)
		return VERB_FAILED;
	if (report != NULL) {
		text = json_write(report, &len);
		out("%s\n", text);
	}
	return VERB_DONE;
}

static const struct verb_example examples[] = {
	{ "belljar ps", "List your sandboxes." },
	{ "belljar ps default", "List the processes in the sandbox that an assistant uses." },
	{ NULL, NULL },
};

const struct verb verb_ps = {
	.name = "ps",
	.operand = "SANDBOX",
	.summary = "List your sandboxes, or the processes in one.",
	.help = "Shows each sandbox with its name, its state, its age and the time since it was "
	        "used last, and the time until it goes to sleep and until it is deleted if it "
	        "stays unused. A sandbox that is asleep has files only: no process, no memory.\n\n"
	        "With SANDBOX, a name or an id, shows the processes that run in it: age, processor "
	        "time, memory and command line. The sandbox must be awake.",
	.examples = examples,
	.options = FOR_PS,
	.run = run_ps,
};
