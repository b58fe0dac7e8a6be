#include "server/context.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "egress/mirror/mirror.h"
#include "engine/engine.h"
#include "server/doctor/doctor.h"
#include "server/runtime/network.h"
#include "server/runtime/runtime.h"

enum { TIMEOUT_MAX_S = 86400 };

/* The limits that server_info shows: numbers and sizes of the server. Times after which sandboxes
 * sleep or are deleted are shown with each sandbox, and the grace period is no limit. */
static bool is_shown_limit(size_t id)
{
	const struct option_spec *spec = &option_specs[id];

	return (spec->type == OPTION_TYPE_NUMBER || spec->type == OPTION_TYPE_SIZE) &&
	       (spec->verbs & FOR_SERVE) != 0 && id != OPTION_GRACE && id != OPTION_IDLE &&
	       id != OPTION_LIFETIME;
}

/* `ceilings` has the values that depend on the machine; NULL: not known yet. Returns the number of
 * limits. */
static size_t fill_limits(struct server_context *context, const struct options *options,
                          const struct ceilings *ceilings)
{
	struct options in_force = *options;
	size_t count = 0;

	if (ceilings != NULL) {
		in_force.limits = ceilings->initial;
		in_force.limits_max = ceilings->max;
		in_force.owner.memory = ceilings->owner_memory;
		in_force.owner.disk = ceilings->owner_disk;
	}
	for (size_t id = 0; id < OPTION_COUNT; id++) {
		const struct option_spec *spec = &option_specs[id];
		struct tools_limit *limit = &context->limits[count];

		if (!is_shown_limit(id))
			continue;
		limit->name = option_key(spec, context->limit_names[count]);
		limit->help = spec->help;
		memcpy(&limit->value, (const char *)&in_force + spec->offset, sizeof limit->value);
		count++;
	}
	return count;
}

static size_t get_layers(void *ctx, const struct tools_layer **ret)
{
	const struct server_context *context = ctx;

	*ret = context->layers;
	return context->layer_count;
}

static int choose_gpu(void *ctx, const char *which, uint64_t *ret, struct error *err)
{
	const struct server_context *context = ctx;

	return runtime_choose_gpu(context->runtime, which, ret, err);
}

static void notify_changed(void *ctx, const char *owner, const char *uri)
{
	const struct server_context *context = ctx;

	if (context->mcp != NULL)
		mcp_server_resource_updated(context->mcp, owner, uri);
}

static void notify_changed_below(void *ctx, const char *owner, const char *uri)
{
	const struct server_context *context = ctx;
	char prefix[8192];

	if (context->mcp == NULL ||
	    snprintf(prefix, sizeof prefix, "%s/", uri) >= (int)sizeof prefix)
		return;
	mcp_server_resources_updated(context->mcp, owner, prefix);
}

/* A time that the operator gave is a ceiling, like a limit. */
static uint32_t find_time_max(const struct options *options, enum option_id id, uint64_t seconds)
{
	return options->sources[id] != OPTION_FROM_TABLE ? (uint32_t)seconds : 0;
}

void server_context_init(struct server_context *context, const struct options *options)
{
	context->options = options;
	context->tools = (struct tools_context){
		.version = BELLJAR_VERSION,
		.profile = options->profile,
		.limits = context->limits,
		.limit_count = fill_limits(context, options, NULL),
		.started_ms = clock_now_ms(),
		.engine = "native",
		.programs_place = "on this machine",
		.spec = spec_default(),
		.has_memory_option = options->sources[OPTION_MEMORY] != OPTION_FROM_TABLE,
		.has_cpu_option = options->sources[OPTION_CPU] != OPTION_FROM_TABLE,
		.limits_max = spec_largest_limits(),
		.idle_s = (uint32_t)options->idle_s,
		.lifetime_s = (uint32_t)options->lifetime_s,
		.idle_max_s = find_time_max(options, OPTION_IDLE, (uint64_t)options->idle_s),
		.lifetime_max_s = find_time_max(options, OPTION_LIFETIME,
		                                (uint64_t)options->lifetime_s),
		.choose_gpu = choose_gpu,
		.layers = get_layers,
		.no_persistent = options->no_persistent,
		.auto_packages = !options->no_auto_packages,
		.max_message = options->max_line,
		.ctx = context,
		.resource_changed = notify_changed,
		.resources_below_changed = notify_changed_below,
		.answer_within_ms = (uint32_t)options->answer_ms,
		.timeout_s = (uint32_t)options->run_timeout_s,
		.timeout_max_s = TIMEOUT_MAX_S,
		.max_output = options->max_output,
		.picture_bytes = options->picture_bytes,
		.copy_bytes = options->copy_size,
		.tools_dir = options->tools_dir != NULL ? "/tools" : NULL,
		.skills_dir = options->skills_dir != NULL ? "/skills" : NULL,
	};
}

int server_context_set_runtime(struct server_context *context, struct runtime *runtime,
                               const struct options *options, struct error *err)
{
	context->runtime = runtime;
	if (runtime_default_spec(runtime, options, &context->tools.spec, err) < 0)
		return -1;
	context->tools.limits_max = runtime_ceilings(runtime)->max;
	context->tools.allows_gpus = runtime_allows_gpus(runtime);
	context->tools.engine = runtime_engine(runtime)->name;
	context->tools.programs_place = runtime_engine(runtime)->programs_place;
	context->tools.has_images = runtime_has_images(runtime);
	if (runtime_network(runtime) != NULL) {
		context->tools.network = options->network;
		context->tools.ceiling = &runtime_network(runtime)->ceiling;
		context->tools.pip_index = runtime_network(runtime)->pip_index;
		context->tools.npm_registry = runtime_network(runtime)->npm_registry;
	}
	if (runtime_has_mirror(runtime)) {
		context->tools.has_mirror = true;
		context->tools.pip_index = MIRROR_PIP_INDEX;
		context->tools.npm_registry = MIRROR_NPM_REGISTRY;
	}
	context->tools.manager = runtime_manager(runtime);
	(void)fill_limits(context, options, runtime_ceilings(runtime));
	return 0;
}

void server_context_set_layers(struct server_context *context, const struct engine_report *report)
{
	/* The quotas of an owner depend on the cgroups that the engine has found. */
	(void)fill_limits(context, context->options, runtime_ceilings(context->runtime));
	for (size_t i = 0; i < report->count; i++) {
		const struct engine_layer *layer = &report->layers[i];

		context->layers[i] = (struct tools_layer){ layer->name,
			                                   check_status_words[layer->status],
			                                   layer->detail };
	}
	context->layer_count = report->count;
}

void server_context_set_unavailable(struct server_context *context, const struct error *why)
{
	(void)snprintf(context->unavailable, sizeof context->unavailable, "%s", why->msg);
	context->tools.manager = NULL;
	context->tools.why_not = context->unavailable;
}
