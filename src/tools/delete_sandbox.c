#include "tools/catalogue.h"
#include "tools/support/end_work.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

struct delete_args {
	const char *sandbox;
};

static const struct param params[] = {
	ARG_REQUIRED(struct delete_args, sandbox, STRING, "Id or name.", .max = 64,
	             .also = PARAM_ALSO("sandbox_id"), .complete = work_complete_sandbox),
	{ 0 },
};

static int delete_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	const struct delete_args *a = args;

	return end_work_start(call, a->sandbox, sandbox_delete, "deleted, with all its files", err);
}

const struct mcp_tool tool_delete_sandbox = {
	.name = "delete_sandbox",
	.title = "Delete a sandbox",
	.help = "Delete a sandbox with all its processes and files.",
	.hints = MCP_DESTRUCTIVE,
	.params = params,
	.args_size = sizeof(struct delete_args),
	.output = end_work_output,
	.call = delete_sandbox,
};
