#include "tools/profiles/profiles.h"

#include <string.h>

#include "tools/catalogue.h"
#include "tools/profiles/internal.h"

static const struct profile profile_default = {
	.name = "default",
	.server = "belljar",
	.title = "Belljar",
	.help = "Runs untrusted code in isolated sandboxes on this machine.",
	.tools = catalogue_tools,
	.resources = catalogue_resources,
	.templates = catalogue_templates,
	.prompts = catalogue_prompts,
	.has_skills = true,
};

const struct profile *const profiles[] = {
	&profile_default,
	&profile_code_executor,
	&profile_sandbox_interpreter,
	&profile_code_sandbox,
	&profile_execution_client,
	&profile_python_executor,
	NULL,
};

const struct profile *profile_find(const char *name)
{
	for (size_t i = 0; profiles[i] != NULL; i++)
		if (strcmp(profiles[i]->name, name) == 0)
			return profiles[i];
	return NULL;
}

void profile_apply(const struct profile *profile, struct tools_context *context)
{
	struct spec_limits *limits = &context->spec.limits;

	context->profile = profile->name;
	context->no_network = profile->no_network;
	context->respond_error = profile->respond_error;
	if (profile->memory != 0 && !context->has_memory_option)
		limits->memory = profile->memory;
	if (profile->cpu != 0 && !context->has_cpu_option)
		limits->cpu = profile->cpu;
	if (limits->memory > context->limits_max.memory)
		limits->memory = context->limits_max.memory;
	if (limits->cpu > context->limits_max.cpu)
		limits->cpu = context->limits_max.cpu;
}
