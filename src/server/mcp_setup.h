/* mcp_setup.h - what belljar tells the MCP core about itself: name, icon, tables, limits.
 *
 *   mcp_setup_init -> mcp_setup_config -> mcp_server_new ... mcp_server_free -> mcp_setup_done */
#pragma once
#include "mcp/mcp_server.h"

struct options;
struct profile;
struct skills;

/* The profile's tables, followed by those of the skills. */
struct mcp_setup {
	const struct profile *profile;
	void **prompts, **resources;
};

/* skills: or NULL */
void mcp_setup_init(struct mcp_setup *setup, const struct profile *profile,
                    const struct skills *skills);
void mcp_setup_done(struct mcp_setup *setup);
/* The configuration without its callbacks and their `app`. `instructions` and the setup must
 * outlive the MCP server. */
struct mcp_config mcp_setup_config(const struct mcp_setup *setup, const struct options *options,
                                   const char *instructions);
