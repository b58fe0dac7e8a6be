/* profiles.h - sets of tools under the names that clients of other servers expect.
 *
 * A profile is one table of tools, resources and prompts. Its handlers use the same layer as the
 * default tools (tools/support, tools/run, tools/files); only names, parameters and the form of
 * answers are the profile's own. doc/profiles.md describes each profile for its users. */
#pragma once
#include <stdint.h>

#include "base/attr.h"
#include "mcp/mcp_server.h"

struct error;
struct mcp_call;
struct tools_context;

/* The value of an option of the server if neither the operator nor the configuration sets it: that
 * of an environment variable that the profile's users know, else `value`, else the usual
 * default. */
struct profile_setting {
	const char *option, *variable, *value;
};

struct profile {
	const char *name;                    /* of --profile, and of the path /p/NAME/mcp */
	const char *server, *title;          /* as clients see the server */
	const char *help, *instructions;     /* instructions NULL: those of the default set */
	const struct mcp_tool *const *tools; /* tables that end in NULL, as in mcp_config */
	const struct mcp_resource *const *resources;
	const struct mcp_template *const *templates;
	const struct mcp_prompt *const *prompts;
	bool has_skills;      /* each skill is a prompt and a resource too */
	bool has_side_paths;  /* over HTTP: /skills, /artifacts (server/http/side_paths.h) */
	uint64_t memory, cpu; /* limits of its sandboxes unless the operator sets them; or 0 */
	const struct profile_setting *settings; /* ends with option NULL; or NULL */
	/* Advice about packages, for a program that reaches no host because its sandbox has no
	 * network; NULL for the default set, whose hints are those of run_hint.c. */
	const char *no_network;
	/* Responds with an error in the profile's shape; NULL: a result with isError. */
	void (*respond_error)(struct mcp_call *call, const struct error *why);
};

/* The default set is the first one; NULL ends the list. */
extern const struct profile *const profiles[];
/* NULL: there is no such profile. */
const struct profile *profile_find(const char *name);
/* All names, for texts that are constants; a unit test compares them with the list. */
#define PROFILE_NAMES                                                                              \
	"default, code-executor, sandbox-interpreter, code-sandbox, execution-client, "            \
	"python-executor"

/* Finds or creates the sandbox of a user of the profile execution-client; user NULL: of the owner
 * itself. */
struct sandbox;
MUST_CHECK int profile_execution_sandbox(const struct tools_context *context, const char *owner,
                                         const char *user, struct sandbox **ret, struct error *err);

/* Sets the parts of the context that depend on the profile. */
void profile_apply(const struct profile *profile, struct tools_context *context);
