#include "base/error.h"
#include "kernels/languages.h"
#include "mcp/content.h"
#include "sandbox/process/process.h"
#include "sandbox/sandbox.h"
#include "sandbox/usage.h"
#include "tools/catalogue.h"
#include "tools/support/sandbox_json.h"
#include "tools/support/work.h"

struct info_args {
	const char *sandbox;
};

struct info {
	struct work work; /* first */
	struct usage_request *question;
	struct usage usage;
};

static const struct param params[] = { WORK_PARAM_SANDBOX(struct info_args, sandbox), { 0 } };

static const struct param layer_fields[] = {
	{ .name = "layer", .type = PARAM_STRING, .required = true, .help = "What is kept apart." },
	{ .name = "state", .type = PARAM_STRING, .required = true, .help = "on, weaker or off." },
	{ .name = "detail", .type = PARAM_STRING, .required = true, .help = "How." },
	{ 0 },
};

static const struct param language_fields[] = {
	{ .name = "language", .type = PARAM_STRING, .required = true, .help = "For run_code." },
	{ .name = "program", .type = PARAM_STRING, .required = true, .help = "What runs it." },
	{ .name = "version", .type = PARAM_STRING, .help = "As it says itself." },
	{ .name = "sessions", .type = PARAM_BOOL, .help = "State can be kept between calls." },
	{ 0 },
};

static const struct param process_fields[] = {
	{ .name = "process",
	  .type = PARAM_STRING,
	  .required = true,
	  .help = "For process_output." },
	{ .name = "what", .type = PARAM_STRING, .required = true, .help = "Its first line." },
	{ .name = "state", .type = PARAM_STRING, .required = true, .help = "running or ended." },
	{ .name = "elapsed_s", .type = PARAM_NUMBER, .required = true, .help = "Since its start." },
	{ 0 },
};

static const struct param session_fields[] = {
	{ .name = "session", .type = PARAM_STRING, .required = true, .help = "For run_code." },
	{ .name = "language", .type = PARAM_STRING, .required = true, .help = "Of its code." },
	{ .name = "busy", .type = PARAM_BOOL, .required = true, .help = "A call runs in it." },
	{ 0 },
};

static const struct param usage_fields[] = {
	{ .name = "memory_mb", .type = PARAM_NUMBER, .help = "Memory, in MiB." },
	{ .name = "memory_peak_mb", .type = PARAM_NUMBER, .help = "The most it ever was." },
	{ .name = "cpu_s", .type = PARAM_NUMBER, .help = "Processor time since it is awake." },
	{ .name = "processes", .type = PARAM_INT, .help = "Processes and threads." },
	{ .name = "disk_mb", .type = PARAM_NUMBER, .help = "Files it has written." },
	{ 0 },
};

static const struct param output[] = {
	SANDBOX_FIELDS,
	{ .name = "sleeps_in_s", .type = PARAM_INT, .help = "If nothing happens." },
	{ .name = "expires_in_s", .type = PARAM_INT, .help = "Then it is deleted." },
	{ .name = "engine", .type = PARAM_STRING, .required = true, .help = "What carries it." },
	{ .name = "image", .type = PARAM_STRING, .required = true, .help = "Its programs." },
	{ .name = "network", .type = PARAM_STRING, .required = true, .help = "What it reaches." },
	{ .name = "limits",
	  .type = PARAM_RECORD,
	  .required = true,
	  .fields = sandbox_limit_fields,
	  .help = "What it may use." },
	{ .name = "usage",
	  .type = PARAM_RECORD,
	  .required = true,
	  .fields = usage_fields,
	  .help = "What it uses now, as far as that is known." },
	{ .name = "isolation",
	  .type = PARAM_RECORDS,
	  .required = true,
	  .fields = layer_fields,
	  .help = "What really keeps it apart from this machine." },
	{ .name = "interpreters",
	  .type = PARAM_RECORDS,
	  .required = true,
	  .fields = language_fields,
	  .help = "Languages run_code can run in it." },
	{ .name = "processes",
	  .type = PARAM_RECORDS,
	  .required = true,
	  .fields = process_fields,
	  .help = "Started by calls, and not forgotten yet." },
	{ .name = "sessions",
	  .type = PARAM_RECORDS,
	  .required = true,
	  .fields = session_fields,
	  .help = "Interpreters that keep state." },
	{ .name = "mounts",
	  .type = PARAM_STRINGS,
	  .required = true,
	  .help = "Directories of this machine it sees, read-only." },
	{ 0 },
};

/* --- the parts ------------------------------------------------------------------------------ */

/* With one digit behind the point. */
static double mib(uint64_t bytes)
{
	return (double)((bytes * 10) >> 20) / 10;
}

static json_t *usage_json(const struct usage *usage)
{
	json_t *all = json_obj();

	if (usage->has_memory)
		json_set(all, "memory_mb", json_num(mib(usage->memory_bytes)));
	if (usage->memory_peak_bytes != 0)
		json_set(all, "memory_peak_mb", json_num(mib(usage->memory_peak_bytes)));
	if (usage->has_cpu)
		json_set(all, "cpu_s", json_num((double)usage->cpu_us / 1e6));
	if (usage->has_processes)
		json_set(all, "processes", json_int((json_int_t)usage->processes));
	if (usage->has_disk)
		json_set(all, "disk_mb", json_num(mib(usage->disk_bytes)));
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

static json_t *tell(struct info *info)
{
	struct sandbox *sandbox = info->work.sandbox;
	const struct sandbox_row *row = sandbox_row(sandbox);
	json_t *all = sandbox_json(row), *processes = json_list(), *sessions = json_list();
	int64_t sleeps = sandbox_sleeps_in_s(sandbox), expires = sandbox_expires_in_s(sandbox);

	if (sleeps >= 0)
		json_set(all, "sleeps_in_s", json_int(sleeps));
	if (expires >= 0)
		json_set(all, "expires_in_s", json_int(expires));
	json_set(all, "engine", json_str(row->engine));
	json_set(all, "image", json_str("host"));
	json_set(all, "network", json_str("none"));
	json_set(all, "limits", sandbox_limits_json(row));
	json_set(all, "usage", usage_json(&info->usage));
	json_set(all, "isolation", isolation_json(info->work.context));
	json_set(all, "interpreters", interpreters_json(process_languages(sandbox)));
	process_each(sandbox, add_process, processes);
	json_set(all, "processes", processes);
	process_each_session(sandbox, add_session, sessions);
	json_set(all, "sessions", sessions);
	json_set(all, "mounts", mounts_json(&row->spec));
	return all;
}

static void on_languages(void *ctx, const struct error *why)
{
	struct info *info = ctx;

	/* Without them there is still much to tell. */
	if (why != NULL && sandbox_channel(info->work.sandbox) == NULL)
		work_fail(&info->work, why);
	else
		work_answer(&info->work, NULL, tell(info));
}

static void on_usage(void *ctx, const struct usage *usage, const struct error *why)
{
	struct info *info = ctx;

	info->question = NULL;
	if (why != NULL) {
		work_fail(&info->work, why);
		return;
	}
	info->usage = *usage;
	process_probe_languages(info->work.sandbox, true, on_languages, info);
}

static int start(struct work *work, struct error *err)
{
	struct info *info = (struct info *)work;

	return usage_request_start(work->sandbox, on_usage, info, &info->question, err);
}

static void done(struct work *work)
{
	struct info *info = (struct info *)work;

	if (info->question != NULL)
		usage_request_cancel(info->question);
}

static int sandbox_info(struct mcp_call *call, const void *args, struct error *err)
{
	static const struct work_callbacks calls = { .start = start, .done = done };
	const struct info_args *a = args;
	struct work *work;

	return work_start(call, sizeof(struct info), &calls, a->sandbox, &work, err);
}

const struct mcp_tool tool_sandbox_info = {
	.name = "sandbox_info",
	.title = "Look at a sandbox",
	.help = "Tell what a sandbox has and uses: limits, memory, disk, the languages it can run "
	        "with "
	        "their versions, running processes and sessions, when it sleeps and expires, and "
	        "what really isolates it. Use it before relying on a language, or when a limit is "
	        "met.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.params = params,
	.args_size = sizeof(struct info_args),
	.output = output,
	.call = sandbox_info,
};
