/* catalogue.h - what belljar offers over MCP: the tables, in the order clients see them.
 *
 * One tool, one file; its record is declared here and listed in catalogue.c. What a
 * handler needs to know of the program around it comes through struct tools_context. */
#pragma once
#include <stdint.h>

#include "mcp/server.h"

/* A limit in force, as the manual names it. */
struct tools_limit {
	const char *name, *help;
	uint64_t value;
};

/* Handed to every handler as mcp_call_app(). Owned by the server, constant. */
struct tools_context {
	const char *version;
	const char *profile;
	const struct tools_limit *limits;
	size_t limit_count;
	uint64_t started_ms; /* of clock_now_ms() */
};

extern const struct mcp_tool tool_server_info, tool_wait;
extern const struct mcp_resource resource_server_info;
extern const struct mcp_template template_tool_manual;
extern const struct mcp_prompt prompt_getting_started;

extern const struct mcp_tool *const catalogue_tools[];
extern const struct mcp_resource *const catalogue_resources[];
extern const struct mcp_template *const catalogue_templates[];
extern const struct mcp_prompt *const catalogue_prompts[];

extern const char catalogue_instructions[];
