#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "mcp/content.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/support/params.h"
#include "tools/support/sandbox_json.h"
#include "tools/support/work.h"

enum { IDLE_MAX_S = 31536000, LIFETIME_MAX_S = 315360000 };

struct create_args {
	const char *name, *image, *network, *gpu;
	int64_t memory_mb, disk_mb, pids, idle_s, lifetime_s;
	double cpus;
	struct param_map env;
	struct param_strings mounts;
};

static const char *const images[] = { "host", NULL };
static const char *const networks[] = { "none", NULL };

static const struct param params[] = {
	ARG(struct create_args, name, STRING, "To use instead of the id: letters, digits, . _ -",
	    .more = "Unique among your sandboxes.", .max = SANDBOX_NAME_MAX),
	ARG(struct create_args, image, STRING,
	    "Where programs come from. \"host\": this machine, read-only.", .max = 255,
	    .values = images),
	ARG(struct create_args, memory_mb, INT, "Memory of all processes, in MiB.", .min = 16,
	    .max = 1024 * 1024),
	ARG(struct create_args, cpus, NUMBER, "Processors.", .max = 1024),
	ARG(struct create_args, disk_mb, INT, "Disk space, in MiB.", .min = 1,
	    .max = 16 * 1024 * 1024),
	ARG(struct create_args, pids, INT, "Processes and threads.", .min = 16, .max = 65536),
	ARG(struct create_args, network, STRING,
	    "\"none\": programs reach only the sandbox itself.", .max = 255, .values = networks),
	ARG(struct create_args, gpu, STRING,
	    "Graphics processors: none, auto for all, a number, or a name.", .max = 255),
	ARG(struct create_args, env, MAP, "Environment of every program.", .max = 100,
	    .item_max = SANDBOX_ENV_MAX),
	ARG(struct create_args, mounts, STRINGS,
	    "Which of the server's shared directories are mounted; default: all.",
	    .more = "They are /tools, /skills and those of --mounts.", .max = SPEC_MOUNTS_MAX,
	    .item_max = SPEC_TARGET_MAX),
	ARG(struct create_args, idle_s, INT, "Seconds without work until it sleeps; 0: never.",
	    .max = IDLE_MAX_S, .fallback.integer = -1),
	ARG(struct create_args, lifetime_s, INT,
	    "Seconds until it is deleted with its files; 0: never.", .max = LIFETIME_MAX_S,
	    .fallback.integer = -1),
	{ 0 },
};

static const struct param output[] = {
	SANDBOX_FIELDS,
	FIELD("limits", RECORD, "What the sandbox may use.", .fields = sandbox_limit_fields),
	{ 0 },
};

struct creation {
	struct mcp_call *call;
	struct sandbox *sandbox; /* held until it is awake */
};

static void on_awake(void *ctx, const struct error *why)
{
	struct creation *creation = ctx;
	struct mcp_call *call = creation->call;
	const struct sandbox_row *row = sandbox_row(creation->sandbox);
	json_t *info = NULL;

	if (why == NULL) {
		info = sandbox_json(row);
		json_set(info, "limits", sandbox_limits_json(&row->spec.limits));
	}
	sandbox_release(creation->sandbox);
	free(creation);
	if (why != NULL)
		mcp_respond_tool_error(call, why);
	else
		mcp_respond_content(call, NULL, info);
}

/* Writes NAME=value of each variable, with a zero behind each, as struct sandbox_options takes
 * it. */
static int pack_env(const struct param_map *map, char env[SANDBOX_ENV_MAX], struct error *err)
{
	size_t used = 0;

	for (size_t i = 0; i < map->count; i++) {
		const struct param_pair *pair = &map->items[i];
		size_t len = strlen(pair->name) + 1 + strlen(pair->value) + 1;

		if (pair->name[0] == '\0' || strchr(pair->name, '=') != NULL)
			return error_set(err, ERR_INVALID,
			                 "env: a variable's name must not be empty and must not "
			                 "contain '='");
		if (used + len + 1 > SANDBOX_ENV_MAX)
			return error_set(err, ERR_LIMIT,
			                 "env: names and values have more than %d bytes together: "
			                 "pass fewer variables, or write them to a file",
			                 SANDBOX_ENV_MAX - 1);
		(void)snprintf(env + used, SANDBOX_ENV_MAX - used, "%s=%s", pair->name,
		               pair->value);
		used += len;
	}
	return 0;
}

/* An image or network that this server does not have is refused, never replaced by another. */
static int check_kind(const struct create_args *a, struct error *err)
{
	if (a->image != NULL && strcmp(a->image, "host") != 0)
		return error_set(
		        err, ERR_UNSUPPORTED,
		        "image: the native engine of this server has \"host\" only: leave the "
		        "argument out");
	if (a->network != NULL && strcmp(a->network, "none") != 0)
		return error_set(
		        err, ERR_UNSUPPORTED,
		        "network: sandboxes of this server have none: leave the argument out");
	return 0;
}

/* The arguments that are limits of a sandbox, for their checks and the schema. */
enum { ARG_MEMORY, ARG_CPUS, ARG_DISK, ARG_PIDS, ARG_LIMITS };

#define ROW(name_) (offsetof(struct spec_limits, name_) / sizeof(uint64_t)) /* of spec_limits */

static const struct limit_arg {
	const char *name, *option;
	size_t row;
	double unit; /* of the argument, in the limit's own */
} limit_args[ARG_LIMITS] = {
	[ARG_MEMORY] = { "memory_mb", "memory", ROW(memory), SPEC_MIB(1) },
	[ARG_CPUS] = { "cpus", "cpu", ROW(cpu), 1000 },
	[ARG_DISK] = { "disk_mb", "disk", ROW(disk), SPEC_MIB(1) },
	[ARG_PIDS] = { "pids", "pids", ROW(pids), 1 },
};

static int set_limits(const struct tools_context *context, const struct create_args *a,
                      struct spec_limits *limits, struct error *err)
{
	const double asked[ARG_LIMITS] = { [ARG_MEMORY] = (double)a->memory_mb,
		                           [ARG_CPUS] = a->cpus,
		                           [ARG_DISK] = (double)a->disk_mb,
		                           [ARG_PIDS] = (double)a->pids };

	for (size_t i = 0; i < ARG_LIMITS; i++) {
		const struct limit_arg *arg = &limit_args[i];
		double max = (double)spec_limits_get(&context->limits_max, arg->row) / arg->unit;

		if (asked[i] > max)
			return error_set(
			        err, ERR_LIMIT,
			        "%s: %.10g is more than the %.10g that this server allows: pass at "
			        "most that, or have the operator raise --%s-max, as far as the "
			        "machine has more",
			        arg->name, asked[i], max, arg->option);
		if (asked[i] > 0)
			spec_limits_set(limits, arg->row, (uint64_t)(asked[i] * arg->unit));
	}
	if (limits->file_size > limits->disk)
		limits->file_size = limits->disk;
	return 0;
}

static void set_number(json_t *property, const char *key, const struct limit_arg *arg,
                       const struct spec_limits *limits)
{
	double value = (double)spec_limits_get(limits, arg->row) / arg->unit;

	json_set(property, key, arg->unit == 1000 ? json_num(value) : json_int((json_int_t)value));
}

/* The schema shows the defaults and ceilings of this server instead of the table's ranges. */
static void complete_schema(const void *app, json_t *properties)
{
	const struct tools_context *context = app;

	for (size_t i = 0; i < ARG_LIMITS; i++) {
		const struct limit_arg *arg = &limit_args[i];
		json_t *property = json_object_get(properties, arg->name);

		set_number(property, "maximum", arg, &context->limits_max);
		set_number(property, "default", arg, &context->spec.limits);
	}
	/* An argument with one legal value says nothing. */
	(void)json_object_del(properties, "image");
	(void)json_object_del(properties, "network");
	if (!context->allows_gpus)
		(void)json_object_del(properties, "gpu");
	if (context->spec.mount_count == 0)
		(void)json_object_del(properties, "mounts");
}

static int create_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	const struct create_args *a = args;
	struct sandbox_options options = tools_sandbox_options(context);
	AUTO_FREE const char **mounts = NULL;
	char env[SANDBOX_ENV_MAX] = "";
	struct creation *creation;

	if (tools_check_manager(context, err) < 0 || check_kind(a, err) < 0 ||
	    pack_env(&a->env, env, err) < 0 ||
	    set_limits(context, a, &options.spec.limits, err) < 0)
		return -1;
	if (a->gpu != NULL &&
	    context->choose_gpu(context->ctx, a->gpu, &options.spec.gpus, err) < 0)
		return -1;
	options.name = a->name;
	options.env = env;
	if (a->idle_s >= 0)
		options.idle_s = (uint32_t)a->idle_s;
	if (a->lifetime_s >= 0)
		options.lifetime_s = (uint32_t)a->lifetime_s;
	if (a->mounts.items != NULL) {
		mounts = mem_array(a->mounts.count + 1, sizeof *mounts);
		memcpy(mounts, a->mounts.items, a->mounts.count * sizeof *mounts);
		options.mounts = mounts;
	}
	creation = mem_new(sizeof *creation);
	creation->call = call;
	if (sandbox_create(context->manager, &options, &creation->sandbox, err) < 0) {
		free(creation);
		return -1;
	}
	sandbox_hold(creation->sandbox);
	sandbox_wake(creation->sandbox, on_awake, creation);
	return 0;
}

const struct mcp_tool tool_create_sandbox = {
	.name = "create_sandbox",
	.title = "Create a sandbox",
	.help = "Make a further sandbox, for other limits or separate files; without it everything "
	        "runs in your default sandbox. Answers the id to pass as `sandbox`.",
	.more = "A sandbox sleeps when it is idle (processes end, files stay) and is deleted when "
	        "its lifetime is over.",
	.params = params,
	.args_size = sizeof(struct create_args),
	.output = output,
	.call = create_sandbox,
	.complete_schema = complete_schema,
};
