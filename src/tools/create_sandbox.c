#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/support/create_work.h"
#include "tools/support/params.h"
#include "tools/support/sandbox_args.h"
#include "tools/support/sandbox_json.h"
#include "tools/support/work.h"

struct create_args {
	const char *name, *image, *network, *gpu;
	struct sandbox_limit_args limits;
	int64_t idle_s, lifetime_s;
	struct param_map env, labels;
	struct param_strings mounts, network_allow;
};

static const struct param params[] = {
	ARG(struct create_args, name, STRING, "Instead of the id: letters, digits, . _ -",
	    .more = "Unique among your sandboxes.", .max = SANDBOX_NAME_MAX),
	ARG(struct create_args, image, STRING, "Image of the root file system, such as python:3.",
	    .max = SPEC_IMAGE_MAX,
	    .more = "The programs of the sandbox come from it. The native engine has \"host\" "
	            "only: this machine, read-only."),
	SANDBOX_ARG_LIMITS(struct create_args, limits),
	SANDBOX_ARG_LIMIT(struct create_args, limits, disk_mb, INT, "Disk space, in MiB.", 1,
	                  16 * 1024 * 1024),
	SANDBOX_ARG_NETWORK(struct create_args),
	ARG(struct create_args, gpu, STRING,
	    "Graphics processors: none, auto for all, a number, or a name.", .max = 255),
	ARG(struct create_args, env, MAP, "", .more = "Environment of every program.", .max = 100,
	    .item_max = SANDBOX_ENV_MAX),
	ARG(struct create_args, labels, MAP, "", .more = "For finding it with list_sandboxes.",
	    .max = 20, .item_max = SANDBOX_LABELS_MAX),
	ARG(struct create_args, mounts, STRINGS,
	    "Which of the server's shared directories are mounted; default: all.",
	    .more = "They are /tools, /skills and those of --mounts.", .max = SPEC_MOUNTS_MAX,
	    .item_max = SPEC_TARGET_MAX),
	ARG(struct create_args, idle_s, INT, "Seconds without work until it sleeps; 0: never.",
	    .max = IDLE_MAX_S, .fallback.integer = -1),
	ARG(struct create_args, lifetime_s, INT, "Seconds until it is deleted; 0: never.",
	    .max = LIFETIME_MAX_S, .fallback.integer = -1),
	{ 0 },
};

static const struct param output[] = {
	SANDBOX_FIELDS,
	FIELD("limits", RECORD, "What the sandbox may use.", .fields = sandbox_limit_fields),
	{ 0 },
};

static json_t *describe_sandbox(const struct mcp_call *call, const struct sandbox_row *row,
                                const void *args)
{
	json_t *info = sandbox_json(row);

	(void)call;
	(void)args;
	json_set(info, "limits", sandbox_limits_json(&row->spec.limits));
	return info;
}

/* An image that this server does not have is refused, never replaced by another. */
static int check_image(const struct tools_context *context, const struct create_args *a,
                       struct spec *spec, struct error *err)
{
	bool is_host = a->image != NULL && strcmp(a->image, "host") == 0;

	if (a->image != NULL && !context->has_images && !is_host)
		return error_set(
		        err, ERR_UNSUPPORTED,
		        "image: the native engine of this server has \"host\" only: leave the "
		        "argument out");
	if (a->image != NULL && context->has_images && (is_host || !spec_is_image(a->image)))
		return error_set(err, ERR_INVALID,
		                 "image: '%.80s' is not the name of an image, such as python:3",
		                 a->image);
	if (a->image != NULL && context->has_images)
		(void)snprintf(spec->image, sizeof spec->image, "%s", a->image);
	return 0;
}

/* The schema shows the defaults and ceilings of this server instead of the table's ranges. */
static void complete_schema(const void *app, json_t *properties)
{
	const struct tools_context *context = app;

	sandbox_args_show_limits(context, properties);
	/* A model need not read about an argument that has only one legal value. */
	if (!context->has_images)
		(void)json_object_del(properties, "image");
	if (!context->allows_gpus)
		(void)json_object_del(properties, "gpu");
	if (context->spec.mount_count == 0)
		(void)json_object_del(properties, "mounts");
}

static int create_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	const struct create_args *a = args;
	struct sandbox_options options = tools_sandbox_options(context, mcp_call_owner(call));
	AUTO_FREE const char **mounts = NULL;
	char env[SANDBOX_ENV_MAX] = "", labels[SANDBOX_LABELS_MAX] = "";
	char hosts[SANDBOX_HOSTS_MAX] = "";
	int network;

	if (tools_check_manager(context, err) < 0 ||
	    check_image(context, a, &options.spec, err) < 0 ||
	    sandbox_args_pack(&a->env, "env", env, sizeof env, err) < 0 ||
	    sandbox_args_pack(&a->labels, "labels", labels, sizeof labels, err) < 0 ||
	    sandbox_args_limits(context, &a->limits, &options.spec.limits, err) < 0 ||
	    sandbox_args_network(context, a->network, &a->network_allow, &network, hosts, err) < 0)
		return -1;
	if (network >= 0) {
		options.network = (enum net_mode)network;
		options.network_allow = hosts;
	}
	if (a->gpu != NULL &&
	    context->choose_gpu(context->ctx, a->gpu, &options.spec.gpus, err) < 0)
		return -1;
	options.name = a->name;
	options.env = env;
	options.labels = labels;
	if (sandbox_args_times(context, a->idle_s, a->lifetime_s, err) < 0)
		return -1;
	if (a->idle_s >= 0)
		options.idle_s = (uint32_t)a->idle_s;
	if (a->lifetime_s >= 0)
		options.lifetime_s = (uint32_t)a->lifetime_s;
	if (a->mounts.items != NULL) {
		mounts = mem_array(a->mounts.count + 1, sizeof *mounts);
		memcpy(mounts, a->mounts.items, a->mounts.count * sizeof *mounts);
		options.mounts = mounts;
	}
	return create_work_start(call, &options, describe_sandbox, a, err);
}

const struct mcp_tool tool_create_sandbox = {
	.name = "create_sandbox",
	.title = "Create a sandbox",
	.help = "Make a further sandbox, for other limits or separate files; without it everything "
	        "runs in your default sandbox. Answers the id to pass as `sandbox`.",
	.more = "A sandbox sleeps when it is idle (processes end, files stay) and is deleted when "
	        "its lifetime is over.",
	.scope = MCP_SCOPE_RUN,
	.params = params,
	.args_size = sizeof(struct create_args),
	.output = output,
	.call = create_sandbox,
	.complete_schema = complete_schema,
};
