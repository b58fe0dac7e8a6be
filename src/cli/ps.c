#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/out.h"
#include "cli/verb.h"
#include "sandbox/instances.h"
#include "sandbox/registry.h"
#include "server/confine.h"
#include "server/options.h"
#include "server/owner.h"
#include "server/stack.h"
#include "store/store.h"
#include "json/json.h"

static const char *const state_words[] = {
	[SANDBOX_CREATING] = "creating",
	[SANDBOX_AWAKE] = "awake",
	[SANDBOX_ASLEEP] = "asleep",
	[SANDBOX_DELETING] = "deleting",
};
_Static_assert(ARRAY_LEN(state_words) == SANDBOX_STATE_COUNT, "a word for each state");

/* A name may be longer than its column. */
#define LINE "%-29s %-19s %-9s %s\n"

struct listing {
	json_t *list; /* NULL: lines */
	size_t count;
	int servers;
};

/* What a killed server had awake sleeps, and what it was making or had to throw away goes: the next
 * one will write so. */
static const char *state_of(const struct listing *listing, const struct sandbox_row *row)
{
	if (row->instance[0] == '\0' || instance_is_alive(listing->servers, row->instance))
		return state_words[row->state];
	return state_words[row->state == SANDBOX_AWAKE && !row->throw_away ? SANDBOX_ASLEEP
	                                                                   : SANDBOX_DELETING];
}

static const char *when(int64_t seconds, char out[32])
{
	struct tm tm;
	time_t t = (time_t)seconds;

	(void)gmtime_r(&t, &tm);
	(void)strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return out;
}

static bool show(void *ctx, const struct sandbox_row *row)
{
	struct listing *listing = ctx;
	char used[32];
	json_t *object;

	(void)when(row->used_s, used);
	if (listing->list == NULL) {
		if (listing->count++ == 0)
			out(LINE, "SANDBOX", "NAME", "STATE", "USED");
		out(LINE, row->spec.id, row->name[0] != '\0' ? row->name : "-",
		    state_of(listing, row), used);
		return true;
	}
	object = json_obj();
	json_set_text(object, "id", row->spec.id);
	json_set_text(object, "name", row->name);
	json_set_text(object, "state", state_of(listing, row));
	json_set_text(object, "used", used);
	json_push(listing->list, object);
	return true;
}

static int list(const struct options *options, struct listing *listing, struct error *err)
{
	char state[PATH_MAX], path[PATH_MAX + 32];
	AUTO(store) struct store *store = NULL;

	if (stack_find_state(options, state, err) < 0)
		return -1;
	(void)owner_local();
	if (confine_server(err) < 0)
		return -1;
	(void)snprintf(path, sizeof path, "%s/servers", state);
	listing->servers = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(path, sizeof path, "%s/db/belljar.db", state);
	if (access(path, F_OK) < 0) /* ENOENT: nothing has ever been made here */
		return errno == ENOENT ? 0 : error_sys(err, "'%s'", path);
	if (store_open(path, registry_migrations, &store, err) < 0)
		return -1;
	return registry_each(store, owner_local(), show, listing, err);
}

static enum verb_result run(const struct verb_call *call, struct error *err)
{
	AUTO_JSON json_t *report = NULL;
	struct listing listing = { .servers = -1 };
	AUTO_FREE char *text = NULL;
	size_t len;
	int r;

	if (call->options->json) {
		report = json_obj();
		listing.list = json_list();
		json_set(report, "sandboxes", listing.list);
	}
	r = list(call->options, &listing, err);
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
	{ "belljar ps", "The sandboxes there are." },
	{ NULL, NULL },
};

const struct verb verb_ps = {
	.name = "ps",
	.summary = "List your sandboxes.",
	.help = "Shows each sandbox that is kept, its name, whether it is awake, and when it was "
	        "used last. One that sleeps is files only: no process, no memory.",
	.examples = examples,
	.options = FOR_PS,
	.run = run,
};
