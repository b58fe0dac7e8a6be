#include "mcp/content.h"
#include "tools/catalogue.h"

struct getting_started_args {
	const char *task;
};

static const struct param params[] = {
	{ .name = "task",
	  .type = PARAM_STRING,
	  .max = 4000,
	  .offset = offsetof(struct getting_started_args, task),
	  .help = "What you want done, in your own words." },
	{ 0 },
};

static int getting_started(struct mcp_call *call, const void *args, struct error *err)
{
	const struct getting_started_args *a = args;
	json_t *messages = json_list();

	(void)err;
	json_push(messages,
	          mcp_message("user",
	                      mcp_text("You are connected to Belljar. Call server_info and tell me "
	                               "in two sentences what this server can do here.%s%s",
	                               a->task != NULL ? " Then do this: " : "",
	                               a->task != NULL ? a->task : "")));
	mcp_answer_messages(call, "A first look at Belljar", messages);
	return 0;
}

const struct mcp_prompt prompt_getting_started = {
	.name = "getting_started",
	.title = "Getting started",
	.help = "Look around on this server, then begin a task.",
	.params = params,
	.args_size = sizeof(struct getting_started_args),
	.get = getting_started,
};
