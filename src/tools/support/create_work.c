#include "tools/support/create_work.h"

#include <stdlib.h>

#include "base/mem.h"
#include "mcp/call.h"
#include "tools/catalogue.h"
#include "tools/support/wake_progress.h"
#include "tools/support/work.h"

struct creation {
	struct mcp_call *call;
	struct sandbox *sandbox; /* held until it is awake */
	create_work_answer_fn *answer;
	const void *args;
	struct wake_progress progress;
};

static void on_awake(void *ctx, const struct error *why)
{
	struct creation *creation = ctx;
	struct mcp_call *call = creation->call;
	json_t *info = why == NULL ? creation->answer(call, sandbox_row(creation->sandbox),
	                                              creation->args)
	                           : NULL;

	wake_progress_stop(&creation->progress);
	sandbox_release(creation->sandbox);
	free(creation);
	if (why != NULL)
		tools_respond_error(call, why);
	else
		mcp_respond_content(call, NULL, info);
}

int create_work_start(struct mcp_call *call, const struct sandbox_options *options,
                      create_work_answer_fn *answer, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct creation *creation;
	struct sandbox *sandbox;

	if (tools_check_manager(context, err) < 0 ||
	    sandbox_create(context->manager, options, &sandbox, err) < 0)
		return -1;
	creation = mem_new(sizeof *creation);
	*creation = (struct creation){
		.call = call, .sandbox = sandbox, .answer = answer, .args = args
	};
	sandbox_hold(sandbox);
	wake_progress_start(&creation->progress, call, sandbox);
	sandbox_wake(sandbox, on_awake, creation);
	return 0;
}
