#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "mcp/content.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
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

#define AT(member) .offset = offsetof(struct create_args, member)
static const struct param params[] = {
	{ .name = "name",
	  .type = PARAM_STRING,
	  .max = SANDBOX_NAME_MAX,
	  AT(name),
	  .help = "A name to use instead of the id, unique among your sandboxes: letters, digits, "
	          ". _ -" },
	{ .name = "image",
	  .type = PARAM_STRING,
	  .max = 255,
	  .values = images,
	  AT(image),
	  .help = "Where its programs come from. \"host\": this machine's own, read-only." },
	{ .name = "memory_mb",
	  .type = PARAM_INT,
	  .min = 16,
	  .max = 1024 * 1024,
	  AT(memory_mb),
	  .help = "Memory of all its processes, in MiB." },
	{ .name = "cpus",
	  .type = PARAM_NUMBER,
	  .min = 0,
	  .max = 1024,
	  AT(cpus),
	  .help = "Processors it may keep busy; 0.5 is half of one." },
	{ .name = "disk_mb",
	  .type = PARAM_INT,
	  .min = 1,
	  .max = 16 * 1024 * 1024,
	  AT(disk_mb),
	  .help = "What its files may take, in MiB." },
	{ .name = "pids",
	  .type = PARAM_INT,
	  .min = 16,
	  .max = 65536,
	  AT(pids),
	  .help = "Processes and threads it may have." },
	{ .name = "network",
	  .type = PARAM_STRING,
	  .max = 255,
	  .values = networks,
	  AT(network),
	  .help = "What it may reach. \"none\": nothing but itself." },
	{ .name = "gpu",
	  .type = PARAM_STRING,
	  .max = 255,
	  AT(gpu),
	  .help = "Graphics processors it may use: none, auto for all, a number, or a name." },
	{ .name = "env",
	  .type = PARAM_MAP,
	  .max = 100,
	  .item_max = SANDBOX_ENV_MAX,
	  AT(env),
	  .help = "Variables in the environment of everything that runs in it." },
	{ .name = "mounts",
	  .type = PARAM_STRINGS,
	  .max = SPEC_MOUNTS_MAX,
	  .item_max = SPEC_TARGET_MAX,
	  AT(mounts),
	  .help = "Of the directories this server shows to sandboxes (/tools, /skills ...), those "
	          "it sees; leave it out for all of them." },
	{ .name = "idle_s",
	  .type = PARAM_INT,
	  .min = 0,
	  .max = IDLE_MAX_S,
	  .fallback.integer = -1,
	  AT(idle_s),
	  .help = "It sleeps after so many seconds without work; 0 is never." },
	{ .name = "lifetime_s",
	  .type = PARAM_INT,
	  .min = 0,
	  .max = LIFETIME_MAX_S,
	  .fallback.integer = -1,
	  AT(lifetime_s),
	  .help = "It is deleted, files and all, so many seconds after it was made; 0 is never." },
	{ 0 },
};
#undef AT

static const struct param output[] = {
	SANDBOX_FIELDS,
	{ .name = "limits",
	  .type = PARAM_RECORD,
	  .required = true,
	  .fields = sandbox_limit_fields,
	  .help = "What it may use." },
	{ 0 },
};

struct creation {
	struct mcp_call *call;
	struct sandbox *sandbox;
};

static void on_ready(void *ctx, const struct error *why)
{
	struct creation *creation = ctx;
	struct mcp_call *call = creation->call;
	const struct sandbox_row *row = sandbox_row(creation->sandbox);
	json_t *info = NULL;

	if (why == NULL) {
		info = sandbox_json(row);
		json_set(info, "limits", sandbox_limits_json(row));
	}
	sandbox_release(creation->sandbox);
	free(creation);
	if (why != NULL)
		mcp_respond_tool_error(call, why);
	else
		mcp_respond_content(call, NULL, info);
}

static int pack_env(const struct param_map *map, char env[SANDBOX_ENV_MAX], struct error *err)
{
	size_t used = 0;

	for (size_t i = 0; i < map->count; i++) {
		const struct param_pair *pair = &map->items[i];
		size_t len = strlen(pair->name) + 1 + strlen(pair->value) + 1;

		if (pair->name[0] == '\0' || strchr(pair->name, '=') != NULL)
			return error_set(
			        err, ERR_INVALID,
			        "env: a variable's name is not empty and has no '=' in it");
		if (used + len + 1 > SANDBOX_ENV_MAX)
			return error_set(err, ERR_LIMIT,
			                 "env: names and values have more than %d bytes together",
			                 SANDBOX_ENV_MAX - 1);
		(void)snprintf(env + used, SANDBOX_ENV_MAX - used, "%s=%s", pair->name,
		               pair->value);
		used += len;
	}
	return 0;
}

/* What is not there is not given silently in another way. */
static int check_kind(const struct create_args *a, struct error *err)
{
	if (a->image != NULL && strcmp(a->image, "host") != 0)
		return error_set(
		        err, ERR_UNSUPPORTED,
		        "image: the native engine of this server has \"host\" only: leave it "
		        "out");
	if (a->network != NULL && strcmp(a->network, "none") != 0)
		return error_set(err, ERR_UNSUPPORTED,
		                 "network: sandboxes of this server have none: leave it out");
	return 0;
}

static int set_limits(const struct tools_context *context, const struct create_args *a,
                      struct spec_limits *limits, struct error *err)
{
	if (a->memory_mb != 0)
		limits->memory = SPEC_MIB(a->memory_mb);
	if (a->disk_mb != 0)
		limits->disk = SPEC_MIB(a->disk_mb);
	if (a->pids != 0)
		limits->pids = (uint64_t)a->pids;
	if (a->cpus > 0)
		limits->cpu = (uint64_t)(a->cpus * 1000);
	if (context->memory_max != 0 && limits->memory > context->memory_max)
		return error_set(err, ERR_LIMIT,
		                 "memory_mb: %lld is more than this machine has, which is %llu",
		                 (long long)a->memory_mb,
		                 (unsigned long long)(context->memory_max >> 20));
	if (limits->file_size > limits->disk)
		limits->file_size = limits->disk;
	return 0;
}

static int create_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	const struct create_args *a = args;
	struct sandbox_options wish = tools_sandbox_options(context);
	AUTO_FREE const char **mounts = NULL;
	char env[SANDBOX_ENV_MAX] = "";
	struct creation *creation;

	if (tools_check_manager(context, err) < 0 || check_kind(a, err) < 0 ||
	    pack_env(&a->env, env, err) < 0 || set_limits(context, a, &wish.spec.limits, err) < 0)
		return -1;
	if (a->gpu != NULL && context->choose_gpu(context->ctx, a->gpu, &wish.spec.gpus, err) < 0)
		return -1;
	wish.name = a->name;
	wish.env = env;
	if (a->idle_s >= 0)
		wish.idle_s = (uint32_t)a->idle_s;
	if (a->lifetime_s >= 0)
		wish.lifetime_s = (uint32_t)a->lifetime_s;
	if (a->mounts.items != NULL) {
		mounts = mem_array(a->mounts.count + 1, sizeof *mounts);
		memcpy(mounts, a->mounts.items, a->mounts.count * sizeof *mounts);
		wish.mounts = mounts;
	}
	creation = mem_new(sizeof *creation);
	creation->call = call;
	if (sandbox_create(context->manager, &wish, &creation->sandbox, err) < 0) {
		free(creation);
		return -1;
	}
	sandbox_hold(creation->sandbox);
	sandbox_wake(creation->sandbox, on_ready, creation);
	return 0;
}

const struct mcp_tool tool_create_sandbox = {
	.name = "create_sandbox",
	.title = "Create a sandbox",
	.help = "Make a further sandbox, when one task must not see another's files, or needs "
	        "other "
	        "limits. Without it everything runs in your default sandbox, so it is rarely "
	        "needed. Answers with the id to pass as 'sandbox'. A sandbox sleeps when it is "
	        "idle "
	        "(processes end, files stay) and is deleted when its lifetime is over.",
	.params = params,
	.args_size = sizeof(struct create_args),
	.output = output,
	.call = create_sandbox,
};
