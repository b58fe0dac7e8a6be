#include "tools/catalogue.h"
#include "tools/support/end_work.h"
#include "tools/support/work.h"

struct reset_args {
	const char *sandbox;
};

static const struct param params[] = { WORK_PARAM_SANDBOX(struct reset_args), { 0 } };

static int reset_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	const struct reset_args *a = args;

	return end_work_start(
	        call, a->sandbox, sandbox_reset,
	        "all its processes were ended and all its files removed; it is as it was when it "
	        "was created",
	        err);
}

const struct mcp_tool tool_reset_sandbox = {
	.name = "reset_sandbox",
	.title = "Reset a sandbox",
	.help = "Remove all processes, files and installed packages of a sandbox; its id, name and "
	        "limits stay.",
	.hints = MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
	.scope = MCP_SCOPE_RUN,
	.params = params,
	.args_size = sizeof(struct reset_args),
	.output = end_work_output,
	.call = reset_sandbox,
};
