#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "mcp/content.h"
#include "sandbox/manager.h"
#include "tools/catalogue.h"
#include "tools/support/params.h"
#include "tools/support/sandbox_args.h"
#include "tools/support/sandbox_json.h"
#include "tools/support/work.h"

enum { LIMIT_MAX = 1000, TEXT_MAX = LIMIT_MAX * 480 }; /* a line has at most 460 bytes */

struct list_args {
	int64_t offset, limit;
	struct param_map labels;
};

static const struct param params[] = {
	ARG(struct list_args, offset, INT, "", .more = "How many of the newest to skip.",
	    .max = 1000000),
	ARG(struct list_args, limit, INT, "", .more = "Most sandboxes.", .min = 1, .max = LIMIT_MAX,
	    .fallback.integer = 100),
	ARG(struct list_args, labels, MAP, "Only those with these labels.", .max = 20,
	    .item_max = SANDBOX_LABELS_MAX),
	{ 0 },
};

static const struct param fields[] = { SANDBOX_FIELDS, { 0 } };

static const struct param output[] = {
	FIELD("sandboxes", RECORDS, "The sandboxes, newest first.", .fields = fields),
	FIELD("total", INT, "The number of your sandboxes."),
	{ 0 },
};

struct sandbox_list {
	const struct list_args *args;
	int64_t total;
	json_t *sandboxes;
	struct buf lines;
};

static bool add_sandbox(void *ctx, const struct sandbox_row *row)
{
	struct sandbox_list *list = ctx;
	int64_t at;

	if (!sandbox_args_match(&list->args->labels, row->labels))
		return true;
	at = list->total++ - list->args->offset;
	if (at >= 0 && at < list->args->limit) {
		AUTO_FREE char *line = sandbox_line(row);

		json_push(list->sandboxes, sandbox_json(row));
		buf_putf(&list->lines, "\n%s", line);
	}
	return true;
}

static void answer_list(struct mcp_call *call, const struct sandbox_list *list)
{
	json_t *structured = json_obj(), *content = json_list();

	json_set(structured, "sandboxes", json_incref(list->sandboxes));
	json_set(structured, "total", json_int(list->total));
	json_push(content, mcp_text("%lld sandbox%s%s%s", (long long)list->total,
	                            list->total == 1 ? "" : "es",
	                            list->total == 0 && list->args->labels.count == 0
	                                    ? ": the first call makes one"
	                                    : "",
	                            buf_text(&list->lines)));
	mcp_respond_content(call, content, structured);
}

static int list_sandboxes(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct sandbox_list list = { .args = args };
	int result;

	if (tools_check_manager(context, err) < 0)
		return -1;
	buf_init(&list.lines, TEXT_MAX);
	list.sandboxes = json_list();
	result = manager_each(context->manager, mcp_call_owner(call), add_sandbox, &list, err);
	if (result == 0)
		answer_list(call, &list);
	json_decref(list.sandboxes);
	buf_done(&list.lines);
	return result;
}

const struct mcp_tool tool_list_sandboxes = {
	.name = "list_sandboxes",
	.title = "List sandboxes",
	.help = "List your sandboxes: ids, names, states. "
	        "One that is asleep wakes when it is used.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.params = params,
	.args_size = sizeof(struct list_args),
	.output = output,
	.call = list_sandboxes,
};
