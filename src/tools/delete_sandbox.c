#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "mcp/ask/ask.h"
#include "mcp/content.h"
#include "sandbox/channel/files.h"
#include "tools/catalogue.h"
#include "tools/support/end_work.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

struct delete_args {
	const char *sandbox;
};

static const struct param params[] = {
	ARG_REQUIRED(struct delete_args, sandbox, STRING, "", .more = "Id or name.", .max = 64,
	             .also = PARAM_ALSO("sandbox_id", "id", "name"),
	             .complete = work_complete_sandbox),
	{ 0 },
};

/* Looks for files in a sandbox that is awake. */
struct file_check {
	struct mcp_call *call;
	const struct delete_args *args;
	struct sandbox *sandbox; /* held */
	struct files_op *op;
};

static struct mcp_call *free_check(struct file_check *check)
{
	struct mcp_call *call = check->call;

	files_cancel(check->op);
	sandbox_release(check->sandbox);
	free(check);
	mcp_call_on_cancel(call, NULL, NULL);
	return call;
}

static int start_deletion(struct mcp_call *call, const struct delete_args *a, struct error *err)
{
	return end_work_start(call, a->sandbox, sandbox_delete, "deleted, with all its files", err);
}

static void respond_kept(struct mcp_call *call, const struct delete_args *a)
{
	json_t *structured = json_obj(), *content = json_list();
	static const char message[] = "not deleted: the user declined, and all files are kept";

	json_set(structured, "id", json_str(a->sandbox));
	json_set(structured, "message", json_str(message));
	json_push(content, mcp_text("%s: %s", UTF8_ESCAPED(view_of(a->sandbox), 80), message));
	mcp_respond_content(call, content, structured);
}

/* The user of the client is asked, unless the client turns out not to know the question. */
static int ask_then_delete(struct mcp_call *call, const struct delete_args *a, struct error *err)
{
	static const char key[] = "confirm_delete";
	AUTO_FREE char *message = NULL;

	message = mem_format("Delete the sandbox '%s' with all its files? They cannot be restored.",
	                     UTF8_ESCAPED(view_of(a->sandbox), 80));
	mcp_ask(call, key, MCP_ASK_FORM, mcp_form(message, json_obj()));
	if (!mcp_await_answers(call))
		return 0;
	if (mcp_answer(call, key) != NULL && !mcp_answer_is_accepted(call, key)) {
		respond_kept(call, a);
		return 0;
	}
	return start_deletion(call, a, err);
}

static void on_entries(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct file_check *check = ctx;
	const struct delete_args *a = check->args;
	bool is_empty = why == NULL && reply->bytes.len == 0;
	struct mcp_call *call;
	struct error err;
	int result;

	check->op = NULL;
	call = free_check(check);
	result = is_empty ? start_deletion(call, a, &err) : ask_then_delete(call, a, &err);
	if (result < 0)
		mcp_respond_tool_error(call, &err);
}

static void on_cancel(struct mcp_call *call, void *ctx)
{
	(void)free_check(ctx);
	mcp_respond_content(call, json_list(), NULL);
}

/* Only names that do not begin with a dot count: Belljar itself makes hidden ones. */
static int start_check(struct mcp_call *call, const struct delete_args *a, struct sandbox *sandbox,
                       struct error *err)
{
	const struct wire_message request = {
		.type = WIRE_TREE,
		.tree = { .depth = 1, .limit = 1, .path = view_of(SPEC_WORKSPACE) },
	};
	struct file_check *check = mem_new(sizeof *check);

	*check = (struct file_check){ .call = call, .args = a, .sandbox = sandbox };
	sandbox_hold(sandbox);
	mcp_call_on_cancel(call, on_cancel, check);
	if (files_start(sandbox_channel(sandbox), &request, (struct view){ 0 }, 64 * 1024,
	                on_entries, check, &check->op, err) == 0)
		return 0;
	return ask_then_delete(free_check(check), a, err);
}

/* A sandbox that is asleep is not woken for the question: it has been used, and so has files. */
static int delete_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	const struct delete_args *a = args;
	struct sandbox *sandbox;

	if (!mcp_can_ask(call, MCP_ASK_FORM))
		return start_deletion(call, a, err);
	if (tools_find_sandbox(mcp_call_app(call), mcp_call_owner(call), a->sandbox, &sandbox,
	                       err) < 0)
		return -1;
	if (sandbox_channel(sandbox) == NULL)
		return ask_then_delete(call, a, err);
	return start_check(call, a, sandbox, err);
}

const struct mcp_tool tool_delete_sandbox = {
	.name = "delete_sandbox",
	.title = "Delete a sandbox",
	.help = "Delete a sandbox with all its processes and files.",
	.more = "If it has files and the client can ask its user, the user has to accept; if the "
	        "user declines, nothing is deleted, and the answer says so.",
	.hints = MCP_DESTRUCTIVE,
	.scope = MCP_SCOPE_RUN,
	.params = params,
	.args_size = sizeof(struct delete_args),
	.output = end_work_output,
	.call = delete_sandbox,
};
