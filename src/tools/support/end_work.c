#include "tools/support/end_work.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "mcp/content.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

const struct param end_work_output[] = {
	FIELD("id", STRING, "The sandbox's id."),
	FIELD("message", STRING, "What was done."),
	{ 0 },
};

struct end_work {
	struct mcp_call *call;
	struct sandbox *sandbox;      /* held */
	json_t *content, *structured; /* the answer after success */
};

static void on_ended(void *ctx, const struct error *why)
{
	struct end_work *end = ctx;
	struct mcp_call *call = end->call;
	json_t *structured = end->structured, *content = end->content;

	sandbox_release(end->sandbox);
	free(end);
	if (why == NULL) {
		mcp_respond_content(call, content, structured);
		return;
	}
	json_decref(content);
	json_decref(structured);
	tools_respond_error(call, why);
}

void end_work_start_in(struct mcp_call *call, struct sandbox *sandbox, end_work_fn *end,
                       json_t *content, json_t *structured)
{
	struct end_work *state = mem_new(sizeof *state);

	*state = (struct end_work){
		.call = call, .sandbox = sandbox, .content = content, .structured = structured
	};
	sandbox_hold(sandbox);
	end(sandbox, on_ended, state);
}

int end_work_start(struct mcp_call *call, const char *name, end_work_fn *end, const char *message,
                   struct error *err)
{
	json_t *structured, *content;
	struct sandbox *sandbox;
	const char *id;

	if (tools_find_sandbox(mcp_call_app(call), mcp_call_owner(call), name, &sandbox, err) < 0)
		return -1;
	id = sandbox_row(sandbox)->spec.id;
	structured = json_obj();
	json_set(structured, "id", json_str(id));
	json_set(structured, "message", json_str(message));
	content = json_list();
	json_push(content, mcp_text("%s: %s", id, message));
	end_work_start_in(call, sandbox, end, content, structured);
	return 0;
}
