#include "tools/support/end_work.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

const struct param end_work_output[] = {
	FIELD("id", STRING, "The sandbox's id."),
	FIELD("message", STRING, "What was done."),
	{ 0 },
};

struct end_work {
	struct mcp_call *call;
	struct sandbox *sandbox; /* held */
	const char *message;
};

static void on_ended(void *ctx, const struct error *why)
{
	struct end_work *end = ctx;
	struct mcp_call *call = end->call;
	const char *id = sandbox_row(end->sandbox)->spec.id;
	json_t *structured = json_obj(), *content = json_list();

	json_set(structured, "id", json_str(id));
	json_set(structured, "message", json_str(end->message));
	json_push(content, mcp_text("%s: %s", id, end->message));
	sandbox_release(end->sandbox);
	free(end);
	if (why == NULL) {
		mcp_respond_content(call, content, structured);
		return;
	}
	json_decref(content);
	json_decref(structured);
	mcp_respond_tool_error(call, why);
}

int end_work_start(struct mcp_call *call, const char *name, end_work_fn *end, const char *message,
                   struct error *err)
{
	struct sandbox *sandbox;
	struct end_work *state;

	if (tools_find_sandbox(mcp_call_app(call), name, &sandbox, err) < 0)
		return -1;
	state = mem_new(sizeof *state);
	*state = (struct end_work){ .call = call, .sandbox = sandbox, .message = message };
	sandbox_hold(sandbox);
	end(sandbox, on_ended, state);
	return 0;
}
