#include "base/error.h"
#include "kernels/languages.h"
#include "sandbox/process/process.h"
#include "sandbox/sandbox.h"
#include "sandbox/usage_request.h"
#include "tools/catalogue.h"
#include "tools/support/network_json.h"
#include "tools/support/params.h"
#include "tools/support/sandbox_json.h"
#include "tools/support/work.h"

struct info_args {
	const char *sandbox, *detail;
};

enum { DETAIL_BRIEF, DETAIL_FULL };
static const char *const details[] = { [DETAIL_BRIEF] = "brief", [DETAIL_FULL] = "full", NULL };

struct sandbox_info {
	struct work work;
	bool is_full;
	struct usage_request *request; /* NULL: not under way */
	struct usage usage;
};

static const struct param params[] = {
	ARG(struct info_args, detail, ENUM,
	    "\"full\" adds versions, ceilings and the layers of isolation.", .values = details,
	    .fallback.text = "brief"),
	WORK_PARAM_SANDBOX(struct info_args),
	{ 0 },
};

static const struct param layer_fields[] = {
	FIELD("layer", STRING, "The name of the layer."),
	FIELD("state", STRING, "on, weaker or off."),
	FIELD("detail", STRING, "How it isolates the sandbox."),
	{ 0 },
};

static const struct param language_fields[] = {
	FIELD("language", STRING, "The name for run_code."),
	FIELD("program", STRING, "The program that runs it."),
	FIELD_OPTIONAL("version", STRING, "The version that the program prints."),
	FIELD_OPTIONAL("sessions", BOOL, "State can be kept between calls."),
	{ 0 },
};

static const struct param process_fields[] = {
	FIELD("process", STRING, "The name for process_output."),
	FIELD("what", STRING, "The first line of the command or code."),
	FIELD("state", STRING, "running or ended."),
	FIELD("elapsed_s", NUMBER, "Seconds since its start."),
	{ 0 },
};

static const struct param session_fields[] = {
	FIELD("session", STRING, "The name for run_code."),
	FIELD("language", STRING, "The language of its code."),
	FIELD("busy", BOOL, "A call runs in it."),
	{ 0 },
};

static const struct param usage_fields[] = {
	FIELD_OPTIONAL("memory_mb", NUMBER, "Memory in use, in MiB."),
	FIELD_OPTIONAL("memory_peak_mb", NUMBER, "The most memory that was ever in use, in MiB."),
	FIELD_OPTIONAL("cpu_s", NUMBER, "Seconds of processor time since it woke."),
	FIELD_OPTIONAL("processes", INT, "Processes and threads."),
	FIELD_OPTIONAL("disk_mb", NUMBER, "Disk space of its files, in MiB."),
	{ 0 },
};

static const struct param output[] = {
	FIELD("id", STRING, "The id, for 'sandbox' in calls."),
	FIELD_OPTIONAL("name", STRING, "The name, which can be used instead of the id."),
	FIELD("state", STRING, "ready, or what list_sandboxes names."),
	FIELD_OPTIONAL("created", STRING, "When it was created (UTC; detail: full)."),
	FIELD_OPTIONAL("used", STRING, "When it was used last (UTC; detail: full)."),
	FIELD_OPTIONAL("expires", STRING, "When it is deleted (UTC; detail: full)."),
	FIELD_OPTIONAL("idle_s", INT, "Seconds without work until it sleeps (detail: full)."),
	FIELD_OPTIONAL("lifetime_s", INT,
	               "Seconds after its creation when it is deleted (detail: full)."),
	FIELD_OPTIONAL("sleeps_in_s", INT, "Seconds until it sleeps, if nothing happens."),
	FIELD_OPTIONAL("expires_in_s", INT, "Seconds until it is deleted."),
	FIELD_OPTIONAL("engine", STRING, "The engine that runs it (detail: full)."),
	FIELD_OPTIONAL("image", STRING,
	               "The image that its programs come from, or host (detail: full)."),
	FIELD("network", STRING, "Its network policy: none, packages, allow or open."),
	FIELD_OPTIONAL("network_allow", STRINGS, "The hosts of the policy allow."),
	FIELD_OPTIONAL(
	        "connections", RECORDS,
	        "What its programs tried to reach since it was last loaded, at most 64 hosts.",
	        .fields = network_attempt_fields),
	FIELD("limits", RECORD, "What it may use.", .fields = sandbox_limit_fields),
	FIELD_OPTIONAL("lowered", STRING,
	               "The limits that are lower than when it was created, because the operator "
	               "allows less now."),
	FIELD_OPTIONAL("ceilings", RECORD,
	               "The most that create_sandbox may ask for on this server, in the fields of "
	               "limits (detail: full)."),
	FIELD("usage", RECORD, "What it uses now, as far as that is known.",
	      .fields = usage_fields),
	FIELD_OPTIONAL("languages", STRINGS, "Languages that run_code can run in it."),
	FIELD_OPTIONAL("isolation", RECORDS,
	               "The layers that isolate it from this machine, as tested (detail: full).",
	               .fields = layer_fields),
	FIELD_OPTIONAL("interpreters", RECORDS,
	               "The languages with their programs and versions (detail: full).",
	               .fields = language_fields),
	FIELD_OPTIONAL("processes", RECORDS,
	               "Processes that calls started and that are still known.",
	               .fields = process_fields),
	FIELD_OPTIONAL("sessions", RECORDS, "Interpreters that keep state.",
	               .fields = session_fields),
	FIELD_OPTIONAL("mounts", STRINGS, "Directories of this machine that it sees, read-only."),
	{ 0 },
};

/* --- the parts ------------------------------------------------------------------------------ */

/* MiB with one decimal. */
static double to_mib(uint64_t bytes)
{
	return (double)((bytes * 10) >> 20) / 10;
}

static json_t *usage_json(const struct usage *usage)
{
	json_t *all = json_obj();

	if (usage->has_memory)
		json_set(all, "memory_mb", json_num(to_mib(usage->memory_bytes)));
	if (usage->memory_peak_bytes != 0)
		json_set(all, "memory_peak_mb", json_num(to_mib(usage->memory_peak_bytes)));
	if (usage->has_cpu)
		json_set(all, "cpu_s", json_num((double)usage->cpu_us / 1e6));
	if (usage->has_processes)
		json_set(all, "processes", json_int((json_int_t)usage->processes));
	if (usage->has_disk)
		json_set(all, "disk_mb", json_num(to_mib(usage->disk_bytes)));
	return all;
}

static json_t *isolation_json(const struct tools_context *context)
{
	json_t *all = json_list();
	const struct tools_layer *layers;
	size_t count = context->layers(context->ctx, &layers);

	for (size_t i = 0; i < count; i++) {
		json_t *layer = json_obj();

		json_set(layer, "layer", json_str(layers[i].name));
		json_set(layer, "state", json_str(layers[i].state));
		json_set(layer, "detail", json_str(layers[i].text));
		json_push(all, layer);
	}
	return all;
}

static json_t *languages_json(const struct language_found *found)
{
	json_t *all = json_list();

	for (size_t i = 0; i < language_count && found->known; i++)
		if (found->of[i].runner >= 0)
			json_push(all, json_str(languages[i].name));
	return all;
}

static json_t *interpreters_json(const struct language_found *found)
{
	json_t *all = json_list();

	for (size_t i = 0; i < language_count && found->known; i++) {
		json_t *entry;

		if (found->of[i].runner < 0)
			continue;
		entry = json_obj();
		json_set(entry, "language", json_str(languages[i].name));
		json_set(entry, "program", json_str(found->of[i].path));
		if (found->of[i].version[0] != '\0')
			json_set(entry, "version", json_str(found->of[i].version));
		json_set(entry, "sessions", json_boolean(languages[i].kernel != NULL));
		json_push(all, entry);
	}
	return all;
}

static void add_process(void *ctx, struct process *process)
{
	json_t *entry = json_obj();
	struct process_state state;

	process_state(process, &state);
	json_set(entry, "process", json_str(process_id(process)));
	json_set(entry, "what", json_str(process_label(process)));
	json_set(entry, "state", json_str(process_is_over(process) ? "ended" : "running"));
	json_set(entry, "elapsed_s", json_num((double)state.elapsed_ms / 1000));
	json_push(ctx, entry);
}

static void add_session(void *ctx, const char *name, const char *language, bool is_busy)
{
	json_t *entry = json_obj();

	json_set(entry, "session", json_str(name));
	json_set(entry, "language", json_str(language));
	json_set(entry, "busy", json_boolean(is_busy));
	json_push(ctx, entry);
}

static json_t *mounts_json(const struct spec *spec)
{
	json_t *all = json_list();

	for (unsigned i = 0; i < spec->mount_count; i++)
		json_push(all, json_str(spec->mounts[i].target));
	return all;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Sets a list that has entries. */
static void set_list(json_t *object, const char *key, json_t *list)
{
	if (json_array_size(list) != 0)
		json_set(object, key, list);
	else
		json_decref(list);
}

static void add_details(struct sandbox_info *info, json_t *all)
{
	struct sandbox *sandbox = info->work.sandbox;

	json_set(all, "engine", json_str(sandbox_row(sandbox)->engine));
	json_set(all, "image",
	         json_str(sandbox_row(sandbox)->spec.image[0] != '\0'
	                          ? sandbox_row(sandbox)->spec.image
	                          : "host"));
	json_set(all, "ceilings", sandbox_limits_json(&info->work.context->limits_max));
	json_set(all, "isolation", isolation_json(info->work.context));
	json_set(all, "interpreters", interpreters_json(process_languages(sandbox)));
}

static json_t *info_json(struct sandbox_info *info)
{
	static const char *const only_full[] = { "created", "used", "expires", "idle_s",
		                                 "lifetime_s" };
	struct sandbox *sandbox = info->work.sandbox;
	const struct sandbox_row *row = sandbox_row(sandbox);
	json_t *all = sandbox_json(row), *processes = json_list(), *sessions = json_list();
	const char *lowered = sandbox_lowered_limits(sandbox);
	int64_t sleeps = sandbox_sleeps_in_s(sandbox), expires = sandbox_expires_in_s(sandbox);

	for (size_t i = 0; i < ARRAY_LEN(only_full) && !info->is_full; i++)
		(void)json_object_del(all, only_full[i]);
	if (sleeps >= 0)
		json_set(all, "sleeps_in_s", json_int(sleeps));
	if (expires >= 0)
		json_set(all, "expires_in_s", json_int(expires));
	json_set(all, "network", json_str(net_mode_names[sandbox_network_mode(sandbox)]));
	set_list(all, "network_allow", network_hosts_json(row));
	set_list(all, "connections", network_attempts_json(sandbox));
	json_set(all, "limits", sandbox_limits_json(&row->spec.limits));
	json_set_text(all, "lowered", lowered[0] != '\0' ? lowered : NULL);
	json_set(all, "usage", usage_json(&info->usage));
	if (process_languages(sandbox)->known)
		json_set(all, "languages", languages_json(process_languages(sandbox)));
	process_each(sandbox, add_process, processes);
	set_list(all, "processes", processes);
	process_each_session(sandbox, add_session, sessions);
	set_list(all, "sessions", sessions);
	set_list(all, "mounts", mounts_json(&row->spec));
	if (info->is_full)
		add_details(info, all);
	return all;
}

static void on_languages(void *ctx, const struct error *why)
{
	struct sandbox_info *info = ctx;

	/* If only the search for languages failed, answer with everything else. */
	if (why != NULL && sandbox_channel(info->work.sandbox) == NULL)
		work_fail(&info->work, why);
	else
		work_answer(&info->work, NULL, info_json(info));
}

static void on_usage(void *ctx, const struct usage *usage, const struct error *why)
{
	struct sandbox_info *info = ctx;

	info->request = NULL;
	if (why != NULL) {
		work_fail(&info->work, why);
		return;
	}
	info->usage = *usage;
	process_probe_languages(info->work.sandbox, true, on_languages, info);
}

static int request_usage(struct work *work, struct error *err)
{
	struct sandbox_info *info = container_of(work, struct sandbox_info, work);

	return usage_request_start(work->sandbox, on_usage, info, &info->request, err);
}

static void cancel_request(struct work *work)
{
	struct sandbox_info *info = container_of(work, struct sandbox_info, work);

	if (info->request != NULL)
		usage_request_cancel(info->request);
}

static int sandbox_info(struct mcp_call *call, const void *args, struct error *err)
{
	static const struct work_callbacks callbacks = { .start = request_usage,
		                                         .done = cancel_request };
	const struct info_args *a = args;
	struct work *work;

	if (work_start(call, sizeof(struct sandbox_info), &callbacks, a->sandbox, &work, err) < 0)
		return -1;
	container_of(work, struct sandbox_info, work)->is_full = a->detail == details[DETAIL_FULL];
	return 0;
}

const struct mcp_tool tool_sandbox_info = {
	.name = "sandbox_info",
	.title = "Look at a sandbox",
	.help = "Show a sandbox's limits, use of memory and disk, languages, processes and "
	        "sessions.",
	.more = "Use it before you rely on a language, or when a call met a limit.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.params = params,
	.args_size = sizeof(struct info_args),
	.output = output,
	.call = sandbox_info,
};
