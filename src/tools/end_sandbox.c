/* end_sandbox.c - reset_sandbox and delete_sandbox: both end everything in one. */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "mcp/content.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/support/work.h"

struct end_args {
	const char *sandbox;
};

static const struct param reset_params[] = { WORK_PARAM_SANDBOX(struct end_args, sandbox), { 0 } };

static const struct param delete_params[] = {
	{ .name = "sandbox",
	  .type = PARAM_STRING,
	  .required = true,
	  .max = 64,
	  .complete = work_complete_sandbox,
	  .offset = offsetof(struct end_args, sandbox),
	  .help = "Id or name of the sandbox." },
	{ 0 },
};

static const struct param output[] = {
	{ .name = "id", .type = PARAM_STRING, .required = true, .help = "Of the sandbox." },
	{ .name = "message", .type = PARAM_STRING, .required = true, .help = "What was done." },
	{ 0 },
};

struct ending {
	struct mcp_call *call;
	struct sandbox *sandbox;
	const char *message;
};

static void on_done(void *ctx, const struct error *why)
{
	struct ending *ending = ctx;
	struct mcp_call *call = ending->call;
	const char *message = ending->message;
	json_t *structured = json_obj(), *content = json_list();

	json_set(structured, "id", json_str(sandbox_row(ending->sandbox)->spec.id));
	json_set(structured, "message", json_str(message));
	json_push(content, mcp_text("%s: %s", sandbox_row(ending->sandbox)->spec.id, message));
	sandbox_release(ending->sandbox);
	free(ending);
	if (why == NULL) {
		mcp_respond_content(call, content, structured);
		return;
	}
	json_decref(content);
	json_decref(structured);
	mcp_respond_tool_error(call, why);
}

static int end(struct mcp_call *call, const char *name,
               void (*how)(struct sandbox *, sandbox_fn *, void *), const char *message,
               struct error *err)
{
	struct ending *ending = mem_new(sizeof *ending);

	*ending = (struct ending){ .call = call, .message = message };
	if (tools_find_sandbox(mcp_call_app(call), name, &ending->sandbox, err) < 0) {
		free(ending);
		return -1;
	}
	sandbox_hold(ending->sandbox);
	how(ending->sandbox, on_done, ending);
	return 0;
}

static int reset_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	const struct end_args *a = args;

	return end(call, a->sandbox, sandbox_reset,
	           "everything in it was ended and its files removed; it is as it was when it was "
	           "made",
	           err);
}

static int delete_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	const struct end_args *a = args;

	return end(call, a->sandbox, sandbox_delete, "deleted, with all its files", err);
}

const struct mcp_tool tool_reset_sandbox = {
	.name = "reset_sandbox",
	.title = "Reset a sandbox",
	.help = "Throw away everything in a sandbox and begin anew: all processes end, all files "
	        "and "
	        "installed packages go; id, name and limits stay. Use it when its state is beyond "
	        "repair.",
	.hints = MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
	.params = reset_params,
	.args_size = sizeof(struct end_args),
	.output = output,
	.call = reset_sandbox,
};

const struct mcp_tool tool_delete_sandbox = {
	.name = "delete_sandbox",
	.title = "Delete a sandbox",
	.help = "Delete a sandbox that is no longer needed: its processes end, its files are "
	        "removed "
	        "for good. Copy out what you want to keep first.",
	.hints = MCP_DESTRUCTIVE,
	.params = delete_params,
	.args_size = sizeof(struct end_args),
	.output = output,
	.call = delete_sandbox,
};
