#include "tools/catalogue.h"
#include "tools/support/copy_work.h"
#include "tools/support/work.h"

struct copy_out_args {
	const char *path, *target, *sandbox;
	bool overwrite;
};

static const struct param params[] = {
	{ .name = "path",
	  .type = PARAM_STRING,
	  .required = true,
	  .min = 1,
	  .max = 4095,
	  .offset = offsetof(struct copy_out_args, path),
	  .help = "A file or directory of the sandbox: absolute, or relative to /workspace." },
	{ .name = "target",
	  .type = PARAM_STRING,
	  .required = true,
	  .min = 1,
	  .max = 4095,
	  .offset = offsetof(struct copy_out_args, target),
	  .help = "Where it is to be on the host: absolute, or relative to the first directory "
	          "that "
	          "is allowed. A file goes into a directory that is there; with a slash at the end "
	          "a directory does too." },
	{ .name = "overwrite",
	  .type = PARAM_BOOL,
	  .offset = offsetof(struct copy_out_args, overwrite),
	  .help = "Replace what is there; of a directory, the files of the same names. Without it "
	          "nothing is copied when the target exists." },
	WORK_PARAM_SANDBOX(struct copy_out_args, sandbox),
	{ 0 },
};

static int copy_out(struct mcp_call *call, const void *args, struct error *err)
{
	const struct copy_out_args *a = args;
	const struct copy_work_options wish = { .is_out = true,
		                                .sandbox = a->sandbox,
		                                .host = a->target,
		                                .inside = a->path,
		                                .overwrite = a->overwrite };

	return copy_work_begin(call, &wish, err);
}

const struct mcp_tool tool_copy_out = {
	.name = "copy_out",
	.title = "Copy files out of the sandbox",
	.help = "Copy a file or a whole directory from the sandbox to the host, such as results "
	        "the "
	        "user wants to keep. Only into directories that belljar was started with "
	        "(--allow-path) or that are the client's roots. What is there already is not "
	        "overwritten unless you say so.",
	.hints = MCP_DESTRUCTIVE,
	.params = params,
	.args_size = sizeof(struct copy_out_args),
	.output = copy_work_output,
	.call = copy_out,
};
