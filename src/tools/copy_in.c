#include "tools/catalogue.h"
#include "tools/files/copy_work.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

struct copy_in_args {
	const char *source, *path, *sandbox;
	bool gitignore, overwrite;
};

static const struct param params[] = {
	ARG_REQUIRED(
	        struct copy_in_args, source, STRING, "",
	        .more = "File or directory of the host. Absolute, or relative to the first allowed "
	                "directory.",
	        .min = 1, .max = TOOL_PATH_MAX),
	ARG(struct copy_in_args, path, STRING, "Target in the sandbox; default: in /workspace.",
	    .more = "Absolute, or relative to /workspace. If it is an existing directory, a file "
	            "is copied into it; a directory is copied into it if the path ends with a "
	            "slash. Without it: /workspace and the name of the source.",
	    .also = PARAM_ALSO("target", "destination"), .min = 1, .max = TOOL_PATH_MAX),
	ARG(struct copy_in_args, gitignore, BOOL, "Leave out .git and what .gitignore files name."),
	ARG(struct copy_in_args, overwrite, BOOL, "",
	    .more = "Replace existing files. Other files of the directory stay. If false, nothing "
	            "is copied when the target exists.",
	    .fallback.boolean = true),
	WORK_PARAM_SANDBOX(struct copy_in_args, sandbox),
	{ 0 },
};

static int copy_in(struct mcp_call *call, const void *args, struct error *err)
{
	const struct copy_in_args *a = args;
	const struct copy_work_options options = { .sandbox = a->sandbox,
		                                   .host = a->source,
		                                   .inside = a->path,
		                                   .overwrite = a->overwrite,
		                                   .gitignore = a->gitignore };

	return copy_work_start(call, NULL, &options, err);
}

const struct mcp_tool tool_copy_in = {
	.name = "copy_in",
	.title = "Copy files into the sandbox",
	.help = "Copy a file or directory of the host into the sandbox; the host's files are not "
	        "changed.",
	.more = "Only from directories that belljar was started with (--allow-path) or that are "
	        "the client's roots; links out of them are not followed. Bring results back with "
	        "copy_out.",
	.is_offered = copy_work_is_offered,
	.hints = MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
	.scope = MCP_SCOPE_ADMIN,
	.params = params,
	.args_size = sizeof(struct copy_in_args),
	.output = copy_work_output,
	.call = copy_in,
};
