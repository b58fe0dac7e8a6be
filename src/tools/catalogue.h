/* catalogue.h - the tools, resources and prompts that belljar offers over MCP.
 *
 * Each tool is one file of this folder; a tool and its counterpart (copy_in and copy_out,
 * install_packages and list_packages) share one. Its record is declared here and listed in
 * catalogue.c, in the order in which clients see it. Handlers know the program around them only
 * through struct tools_context, which the server fills. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "egress/net_policy.h"
#include "engine/spec.h"
#include "mcp/mcp_server.h"

struct host;
struct manager;
struct net_ceiling;
struct port_links;
struct skills;

/* A limit in force, under the name that the manual uses. */
struct tools_limit {
	const char *name, *help;
	uint64_t value;
};

/* One layer of the isolation, as doctor reports it. */
struct tools_layer {
	const char *name, *state, *text; /* state: "on", "weaker", "off" */
};

/* Handlers get the context from mcp_call_app(), and the owner whose sandboxes they see from
 * mcp_call_owner(). The server has one context and owns it. */
struct tools_context {
	const char *version;
	const char *profile;
	const struct tools_limit *limits;
	size_t limit_count;
	uint64_t started_ms; /* of clock_now_ms() */

	struct manager *manager; /* NULL: no engine is available, for the reason why_not */
	const char *why_not;
	const struct net_ceiling *ceiling; /* of its network; NULL: no sandbox has one */
	const char *url; /* of this server over HTTP, without a slash at the end; NULL: none */
	struct port_links *port_links; /* links that browsers open ports with; NULL: no HTTP */
	const char *pip_index, *npm_registry; /* NULL or "": the installer's own default */
	const char *engine;                   /* "native", "docker" */
	/* Where the operator can install programs for sandboxes: "on this machine". */
	const char *programs_place;
	struct host *host;                      /* directories that copies may use; or NULL */
	struct spec spec;                       /* the defaults of a new sandbox */
	bool has_memory_option, has_cpu_option; /* the operator has set these limits of it */
	bool has_images;                        /* create_sandbox may name an image */
	bool uses_roots;       /* the client's roots are among the directories for copies */
	bool allows_gpus;      /* create_sandbox may ask for graphics processors */
	bool has_mirror;       /* the indexes above are the mirror's, which passes nothing on */
	bool auto_packages;    /* what a run lacks is installed, and the run repeated */
	enum net_mode network; /* of a new sandbox */
	uint32_t idle_s, lifetime_s;         /* of a new sandbox, likewise */
	uint32_t idle_max_s, lifetime_max_s; /* what the operator set; 0: no ceiling */
	struct spec_limits limits_max;       /* the most that create_sandbox may ask for */
	/* Decodes the argument `gpu` of create_sandbox into a set of devices. */
	int (*choose_gpu)(void *ctx, const char *choice, uint64_t *ret, struct error *err);
	/* The layers of the isolation, as tested on this machine. Returns their number. */
	size_t (*layers)(void *ctx, const struct tools_layer **ret);
	void *ctx;                 /* of the callbacks of this struct */
	uint32_t answer_within_ms; /* a call is answered after this time, even if a process runs */
	uint32_t timeout_s;        /* the time limit of a process that was started without one */
	uint32_t timeout_max_s;
	size_t max_output;  /* bytes of text in one answer */
	size_t max_message; /* bytes of a whole answer, encoded (mcp_limits.max_line) */
	uint64_t picture_bytes;
	uint64_t copy_bytes;                /* of one copy between the host and a sandbox */
	const char *tools_dir, *skills_dir; /* their paths in a sandbox ("/tools"), or NULL */
	const struct skills *skills;        /* loaded when the server started, or NULL */
	bool no_persistent;     /* of the profile code-sandbox: each sandbox stands alone */
	const char *no_network; /* advice of the profile: see struct profile */
	/* Responds with an error in the shape of the profile; NULL: a result with isError. */
	void (*respond_error)(struct mcp_call *call, const struct error *why);
	char instance[17]; /* this server process, for names of sandboxes that end with it */
	/* Called after the content of an owner's resource has changed; may be NULL. */
	void (*resource_changed)(void *ctx, const char *owner, const char *uri);
	/* Called after a directory was deleted or replaced, for the resources below it; may be
	 * NULL. */
	void (*resources_below_changed)(void *ctx, const char *owner, const char *uri);
};

extern const struct mcp_tool tool_run_code, tool_run_command, tool_process_output,
        tool_process_input, tool_process_stop, tool_read_file, tool_write_file, tool_edit_file,
        tool_list_directory, tool_search_files, tool_move_path, tool_delete_path, tool_copy_in,
        tool_copy_out, tool_create_sandbox, tool_update_sandbox, tool_list_sandboxes,
        tool_sandbox_info, tool_reset_sandbox, tool_delete_sandbox, tool_request_network,
        tool_expose_port, tool_install_packages, tool_list_packages, tool_tool_help,
        tool_server_info;
extern const struct mcp_resource resource_server_info;
extern const struct mcp_template template_tool_manual, template_sandbox_file, template_skill;
extern const struct mcp_prompt prompt_getting_started, prompt_use_skill;

extern const struct mcp_tool *const catalogue_tools[];
extern const struct mcp_resource *const catalogue_resources[];
extern const struct mcp_template *const catalogue_templates[];
extern const struct mcp_prompt *const catalogue_prompts[];

extern const char catalogue_instructions[];
