#include "tools/catalogue.h"

const struct mcp_tool *const catalogue_tools[] = {
	&tool_server_info,
	&tool_wait,
	NULL,
};

const struct mcp_resource *const catalogue_resources[] = { &resource_server_info, NULL };
const struct mcp_template *const catalogue_templates[] = { &template_tool_manual, NULL };
const struct mcp_prompt *const catalogue_prompts[] = { &prompt_getting_started, NULL };

const char catalogue_instructions[] =
        "Belljar runs code in sandboxes on this machine. Call server_info first: it tells which "
        "engines, limits and profile are in force here. Each tool's manual is the resource "
        "belljar://tools/{name}.";
