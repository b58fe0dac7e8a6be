#include "server/mcp_setup.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/options/options.h"
#include "tools/profiles/profiles.h"
#include "tools/resources/resources.h"

static const char icon_svg[] =
        "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9"
        "IjAgMCAyNCAyNCIgZmlsbD0ibm9uZSIgc3Ryb2tlPSIjMzQ2IiBzdHJva2Utd2lkdGg9IjEuNSI+PHBhdGggZD0iTT"
        "YgMTlWMTBhNiA2IDAgMCAxIDEyIDB2OSIvPjxwYXRoIGQ9Ik0zIDE5aDE4djJIM3oiLz48Y2lyY2xlIGN4PSIxMiIg"
        "Y3k9IjMiIHI9IjEiLz48L3N2Zz4=";

static const struct mcp_icon icon = { .src = icon_svg,
	                              .mime_type = "image/svg+xml",
	                              .sizes = "any" };

/* Joins two NULL-terminated tables. Returns NULL if there is no first one. */
static void **join_tables(const void *const *first, const void *const *second)
{
	size_t count = 0, at = 0;
	void **all;

	if (first == NULL)
		return NULL;
	while (first[count] != NULL)
		count++;
	for (size_t i = 0; second != NULL && second[i] != NULL; i++)
		count++;
	all = mem_array(count + 1, sizeof *all);
	for (size_t i = 0; first[i] != NULL; i++)
		memcpy(&all[at++], &first[i], sizeof *all);
	for (size_t i = 0; second != NULL && second[i] != NULL; i++)
		memcpy(&all[at++], &second[i], sizeof *all);
	return all;
}

void mcp_setup_init(struct mcp_setup *setup, const struct profile *profile,
                    const struct skills *skills)
{
	if (!profile->has_skills)
		skills = NULL;
	setup->profile = profile;
	setup->prompts = join_tables((const void *const *)profile->prompts,
	                             skills != NULL ? (const void *const *)skills_prompts(skills)
	                                            : NULL);
	setup->resources = join_tables(
	        (const void *const *)profile->resources,
	        skills != NULL ? (const void *const *)skills_resources(skills) : NULL);
}

void mcp_setup_done(struct mcp_setup *setup)
{
	free(setup->prompts);
	free(setup->resources);
	*setup = (struct mcp_setup){ 0 };
}

struct mcp_config mcp_setup_config(const struct mcp_setup *setup, const struct options *options,
                                   const char *instructions)
{
	const struct profile *profile = setup->profile;

	return (struct mcp_config){
		.name = profile->server,
		.title = profile->title,
		.version = BELLJAR_VERSION,
		.help = profile->help,
		.instructions = instructions,
		.icon = &icon,
		.tools = profile->tools,
		.resources = (const struct mcp_resource *const *)setup->resources,
		.templates = profile->templates,
		.prompts = (const struct mcp_prompt *const *)setup->prompts,
		.resources_change = profile->resources != NULL,
		.cache_ms = 60000,
		.limits = {
			.json = { .depth = options->max_depth, .values = options->max_values },
			.max_line = options->max_line,
			.max_batch = options->max_batch,
			.max_calls = options->max_calls,
			.max_held = options->max_held,
			.max_subscriptions = options->max_subscriptions,
			.max_tasks = mcp_default_limits.max_tasks,
			.page_size = options->page_size,
		},
	};
}
