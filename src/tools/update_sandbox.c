#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "sandbox/sandbox.h"
#include "sandbox/usage_request.h"
#include "tools/catalogue.h"
#include "tools/support/params.h"
#include "tools/support/sandbox_args.h"
#include "tools/support/sandbox_json.h"
#include "tools/support/work.h"

struct update_args {
	const char *sandbox, *name, *network;
	struct sandbox_limit_args limits;
	int64_t idle_s, lifetime_s;
	struct param_map env, labels;
	struct param_strings network_allow;
};

static const struct param params[] = {
	ARG(struct update_args, name, STRING, "A new name.", .max = SANDBOX_NAME_MAX),
	SANDBOX_ARG_LIMITS(struct update_args, limits),
	SANDBOX_ARG_LIMIT(struct update_args, limits, disk_mb, INT, "Disk space, in MiB.", 1,
	                  16 * 1024 * 1024),
	SANDBOX_ARG_NETWORK(struct update_args),
	ARG(struct update_args, env, MAP, "An empty value removes a variable or label.", .max = 100,
	    .item_max = SANDBOX_ENV_MAX),
	ARG(struct update_args, labels, MAP, "An empty value removes a label.", .max = 20,
	    .item_max = SANDBOX_LABELS_MAX),
	ARG(struct update_args, idle_s, INT, "Seconds without work until it sleeps; 0: never.",
	    .max = IDLE_MAX_S, .fallback.integer = -1),
	ARG(struct update_args, lifetime_s, INT, "Counted from now.", .max = LIFETIME_MAX_S,
	    .fallback.integer = -1),
	WORK_PARAM_SANDBOX(struct update_args),
	{ 0 },
};

static const struct param output[] = {
	SANDBOX_FIELDS,
	FIELD("limits", RECORD, "What the sandbox may use.", .fields = sandbox_limit_fields),
	FIELD_OPTIONAL("note", STRING, "What changes for later calls."),
	{ 0 },
};

enum { NOTE_SIZE = 512 };

struct update {
	struct mcp_call *call;
	struct sandbox *sandbox; /* held */
	bool was_default;        /* before its name was changed */
	uint64_t disk_before;    /* limit */
	struct usage usage;      /* measured if the limit on disk is lower than before */
	struct sandbox_changes changes;
	char env[SANDBOX_ENV_MAX], labels[SANDBOX_LABELS_MAX], hosts[SANDBOX_HOSTS_MAX];
};

#define MOVED                                                                                      \
	"this was the default sandbox: calls that name none use a new, empty one from now on; "    \
	"pass its new name as 'sandbox' to go on with these files"

static void note_changes(const struct update *update, char note[NOTE_SIZE])
{
	const struct spec_limits *limits = &sandbox_row(update->sandbox)->spec.limits;
	bool is_moved = update->was_default && sandbox_argument(update->sandbox) != NULL;
	int len = snprintf(note, NOTE_SIZE, "%s", is_moved ? MOVED : "");

	if (update->usage.has_disk && update->usage.disk_bytes >= limits->disk)
		(void)snprintf(note + len, NOTE_SIZE - (size_t)len,
		               "%sdisk: %llu MiB are in use, and the limit is %llu MiB now: all "
		               "files are kept, but writes are refused until files are deleted "
		               "or the limit is higher",
		               is_moved ? "; " : "",
		               (unsigned long long)(update->usage.disk_bytes >> 20),
		               (unsigned long long)(limits->disk >> 20));
}

static void finish_update(struct update *update, const struct error *why)
{
	const struct sandbox_row *row = sandbox_row(update->sandbox);
	struct mcp_call *call = update->call;
	char note[NOTE_SIZE];
	json_t *info = NULL;

	if (why == NULL) {
		info = sandbox_json(row);
		json_set(info, "limits", sandbox_limits_json(&row->spec.limits));
		note_changes(update, note);
		if (note[0] != '\0')
			json_set(info, "note", json_str(note));
	}
	sandbox_release(update->sandbox);
	free(update);
	if (why != NULL)
		mcp_respond_tool_error(call, why);
	else
		mcp_respond_content(call, NULL, info);
}

/* If the usage cannot be measured, the answer leaves it out. */
static void on_usage(void *ctx, const struct usage *usage, const struct error *why)
{
	struct update *update = ctx;

	if (why == NULL)
		update->usage = *usage;
	finish_update(update, NULL);
}

/* How much a sandbox uses is measured in the sandbox, so nothing is said about one that sleeps. A
 * memory limit below what is used is refused by the engine. */
static void on_updated(void *ctx, const struct error *why)
{
	struct update *update = ctx;
	bool is_lower = sandbox_row(update->sandbox)->spec.limits.disk < update->disk_before;
	struct usage_request *request;
	struct error ignored;

	if (why != NULL || !is_lower || !sandbox_is_awake_here(update->sandbox) ||
	    usage_request_start(update->sandbox, on_usage, update, &request, &ignored) < 0)
		finish_update(update, why);
}

static int read_changes(const struct tools_context *context, const struct update_args *a,
                        struct update *update, struct error *err)
{
	struct sandbox_changes *changes = &update->changes;

	changes->name = a->name;
	changes->env = update->env;
	changes->labels = update->labels;
	changes->idle_s = a->idle_s;
	changes->lifetime_s = a->lifetime_s;
	changes->network_allow = update->hosts;
	if (sandbox_args_times(context, a->idle_s, a->lifetime_s, err) < 0 ||
	    sandbox_args_network(context, a->network, &a->network_allow, &changes->network,
	                         update->hosts, err) < 0)
		return -1;
	return sandbox_args_pack(&a->env, "env", update->env, sizeof update->env, err) < 0 ||
	                       sandbox_args_pack(&a->labels, "labels", update->labels,
	                                         sizeof update->labels, err) < 0
	               ? -1
	               : sandbox_args_limits(context, &a->limits, &changes->limits, err);
}

static int update_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	const struct update_args *a = args;
	struct update *update;

	if (tools_check_manager(context, err) < 0)
		return -1;
	update = mem_new(sizeof *update);
	update->call = call;
	if (read_changes(context, a, update, err) < 0 ||
	    tools_find_sandbox(context, mcp_call_owner(call), a->sandbox, &update->sandbox, err) <
	            0) {
		free(update);
		return -1;
	}
	update->was_default = sandbox_argument(update->sandbox) == NULL;
	update->disk_before = sandbox_row(update->sandbox)->spec.limits.disk;
	sandbox_hold(update->sandbox);
	sandbox_update(update->sandbox, &update->changes, on_updated, update);
	return 0;
}

/* A model reads all input schemas before its first call, so descriptions that create_sandbox has
 * are not repeated. */
static void complete_schema(const void *app, json_t *properties)
{
	static const char *const known[] = { "name",   "memory_mb", "cpus",
		                             "pids",   "disk_mb",   "idle_s",
		                             "labels", "network",   "network_allow" };
	static const char *const keys[] = { "description", "minimum", "maximum" };

	sandbox_args_show_network(app, properties);
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		for (size_t k = 0; k < ARRAY_LEN(keys); k++)
			(void)json_object_del(json_object_get(properties, known[i]), keys[k]);
}

const struct mcp_tool tool_update_sandbox = {
	.name = "update_sandbox",
	.title = "Change a sandbox",
	.help = "Change a sandbox, also while programs run in it; arguments as in create_sandbox.",
	.more = "What is left out stays. On Docker, single files may become larger with disk_mb "
	        "only after the sandbox has slept.",
	.hints = MCP_IDEMPOTENT,
	.scope = MCP_SCOPE_RUN,
	.params = params,
	.args_size = sizeof(struct update_args),
	.output = output,
	.call = update_sandbox,
	.complete_schema = complete_schema,
};
