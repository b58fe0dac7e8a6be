#include "tools/catalogue.h"
#include "tools/support/copy_work.h"
#include "tools/support/work.h"

struct copy_in_args {
	const char *source, *path, *sandbox;
	bool gitignore, overwrite;
};

static const struct param params[] = {
	{ .name = "source",
	  .type = PARAM_STRING,
	  .required = true,
	  .min = 1,
	  .max = 4095,
	  .offset = offsetof(struct copy_in_args, source),
	  .help = "A file or directory of the host: absolute, or relative to the first directory "
	          "that is allowed." },
	{ .name = "path",
	  .type = PARAM_STRING,
	  .min = 1,
	  .max = 4095,
	  .offset = offsetof(struct copy_in_args, path),
	  .help = "Where it is to be in the sandbox: absolute, or relative to /workspace. A file "
	          "goes "
	          "into a directory that is there; with a slash at the end a directory does too. "
	          "Without it: /workspace and the source's own name." },
	{ .name = "gitignore",
	  .type = PARAM_BOOL,
	  .offset = offsetof(struct copy_in_args, gitignore),
	  .help = "Leave out .git and what the .gitignore files in the directory say." },
	{ .name = "overwrite",
	  .type = PARAM_BOOL,
	  .fallback.boolean = true,
	  .offset = offsetof(struct copy_in_args, overwrite),
	  .help = "Replace files that are there; other files of the directory stay. If false, "
	          "nothing is copied when the target exists." },
	WORK_PARAM_SANDBOX(struct copy_in_args, sandbox),
	{ 0 },
};

static int copy_in(struct mcp_call *call, const void *args, struct error *err)
{
	const struct copy_in_args *a = args;
	const struct copy_work_options wish = { .sandbox = a->sandbox,
		                                .host = a->source,
		                                .inside = a->path,
		                                .overwrite = a->overwrite,
		                                .gitignore = a->gitignore };

	return copy_work_begin(call, &wish, err);
}

const struct mcp_tool tool_copy_in = {
	.name = "copy_in",
	.title = "Copy files into the sandbox",
	.help = "Copy a file or a whole directory from the host into the sandbox, so that code can "
	        "work on it there. Only from directories that belljar was started with "
	        "(--allow-path) or that are the client's roots; links out of them are not "
	        "followed. "
	        "The host's files stay as they are: bring results back with copy_out.",
	.hints = MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
	.params = params,
	.args_size = sizeof(struct copy_in_args),
	.output = copy_work_output,
	.call = copy_in,
};
