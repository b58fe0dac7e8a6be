/* catalogue.h - what belljar offers over MCP: the tables, in the order clients see them.
 *
 * One tool, one file; its record is declared here and listed in catalogue.c. What a
 * handler needs to know of the program around it comes through struct tools_context. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "engine/spec.h"
#include "mcp/server.h"

struct host;
struct manager;
struct skills;

/* A limit in force, as the manual names it. */
struct tools_limit {
	const char *name, *help;
	uint64_t value;
};

/* One layer of the isolation, as doctor reports it. */
struct tools_layer {
	const char *name, *state, *text; /* state: "on", "weaker", "off" */
};

/* Handed to every handler as mcp_call_app(). Owned by the server; one for each owner. */
struct tools_context {
	const char *version;
	const char *profile;
	const struct tools_limit *limits;
	size_t limit_count;
	uint64_t started_ms; /* of clock_now_ms() */

	struct manager *manager; /* NULL: nothing can be run here, and why_not says why */
	const char *why_not;
	const char *engine; /* "native" */
	const char *owner;  /* whose sandboxes these calls see */
	struct host *host;  /* directories that may be copied from and to; or NULL */
	struct spec spec;   /* of a sandbox, unless its maker says otherwise */
	uint32_t idle_s, lifetime_s;
	uint64_t memory_max; /* of a sandbox: what the machine has; 0: not known */
	/* A name for each device that may be wished for, and what it takes. */
	int (*choose_gpu)(void *ctx, const char *wish, uint64_t *ret, struct error *err);
	size_t (*layers)(void *ctx, const struct tools_layer **ret);
	void *ctx;
	uint32_t answer_within_ms; /* a call answers after so long, whatever still runs */
	uint32_t timeout_s;        /* of what was started without one */
	uint32_t timeout_max_s;
	size_t max_output; /* bytes of text in one answer */
	uint64_t picture_bytes;
	uint64_t copy_bytes;                /* of one copy between host and sandbox */
	const char *tools_dir, *skills_dir; /* where sandboxes see them ("/tools"), or NULL */
	const struct skills *skills;        /* found there at start, or NULL */
	/* The contents of a resource have changed; may be NULL. */
	void (*resource_changed)(void *ctx, const char *uri);
	/* And so has that of all below it: a directory was deleted; may be NULL. */
	void (*resources_below_changed)(void *ctx, const char *uri);
};

extern const struct mcp_tool tool_run_code, tool_run_command, tool_process_output,
        tool_process_input, tool_process_stop, tool_read_file, tool_write_file, tool_edit_file,
        tool_list_directory, tool_search_files, tool_delete_path, tool_copy_in, tool_copy_out,
        tool_create_sandbox, tool_list_sandboxes, tool_sandbox_info, tool_reset_sandbox,
        tool_delete_sandbox, tool_tool_help, tool_server_info;
extern const struct mcp_resource resource_server_info;
extern const struct mcp_template template_tool_manual, template_sandbox_file, template_skill;
extern const struct mcp_prompt prompt_getting_started, prompt_use_skill;

extern const struct mcp_tool *const catalogue_tools[];
extern const struct mcp_resource *const catalogue_resources[];
extern const struct mcp_template *const catalogue_templates[];
extern const struct mcp_prompt *const catalogue_prompts[];

extern const char catalogue_instructions[];
