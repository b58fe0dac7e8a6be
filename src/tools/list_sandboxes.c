#include "base/cleanup.h"
#include "base/error.h"
#include "mcp/content.h"
#include "sandbox/manager.h"
#include "tools/catalogue.h"
#include "tools/support/sandbox_json.h"
#include "tools/support/work.h"

struct list_args {
	int64_t offset, limit;
};

static const struct param params[] = {
	{ .name = "offset",
	  .type = PARAM_INT,
	  .min = 0,
	  .max = 1000000,
	  .offset = offsetof(struct list_args, offset),
	  .help = "Leave out so many of the newest." },
	{ .name = "limit",
	  .type = PARAM_INT,
	  .min = 1,
	  .max = 1000,
	  .fallback.integer = 100,
	  .offset = offsetof(struct list_args, limit),
	  .help = "Most to list." },
	{ 0 },
};

static const struct param fields[] = { SANDBOX_FIELDS, { 0 } };

static const struct param output[] = {
	{ .name = "sandboxes",
	  .type = PARAM_RECORDS,
	  .required = true,
	  .fields = fields,
	  .help = "Newest first." },
	{ .name = "total", .type = PARAM_INT, .required = true, .help = "How many there are." },
	{ 0 },
};

struct listing {
	const struct list_args *args;
	int64_t total;
	json_t *all;
	json_t *text;
};

static bool add(void *ctx, const struct sandbox_row *row)
{
	struct listing *listing = ctx;
	int64_t at = listing->total++ - listing->args->offset;

	if (at >= 0 && at < listing->args->limit) {
		AUTO_FREE char *line = sandbox_line(row);

		json_push(listing->all, sandbox_json(row));
		json_push(listing->text, json_str(line));
	}
	return true;
}

static json_t *as_text(json_t *lines, int64_t total)
{
	AUTO_JSON json_t *all = json_format("%lld sandbox%s%s", (long long)total,
	                                    total == 1 ? "" : "es",
	                                    total == 0 ? ": the first call makes one" : "");
	size_t i;
	json_t *line;

	json_array_foreach (lines, i, line) {
		json_t *longer = json_format("%s\n%s", json_string_value(all),
		                             json_string_value(line));

		json_decref(all);
		all = longer;
	}
	return mcp_text_view(view_of(json_string_value(all)));
}

static int list_sandboxes(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct listing listing = { .args = args };
	AUTO_JSON json_t *text = json_list();
	json_t *content, *structured;

	if (tools_check_manager(context, err) < 0)
		return -1;
	listing.all = json_list();
	listing.text = text;
	if (manager_each(context->manager, context->owner, add, &listing, err) < 0) {
		json_decref(listing.all);
		return -1;
	}
	structured = json_obj();
	json_set(structured, "sandboxes", listing.all);
	json_set(structured, "total", json_int(listing.total));
	content = json_list();
	json_push(content, as_text(text, listing.total));
	mcp_respond_content(call, content, structured);
	return 0;
}

const struct mcp_tool tool_list_sandboxes = {
	.name = "list_sandboxes",
	.title = "List sandboxes",
	.help = "List your sandboxes: ids, names, states, when they expire. Use it to find one "
	        "again. "
	        "Asleep ones wake by themselves when they are used.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.params = params,
	.args_size = sizeof(struct list_args),
	.output = output,
	.call = list_sandboxes,
};
