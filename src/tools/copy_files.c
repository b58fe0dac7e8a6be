#include "tools/catalogue.h"
#include "tools/files/copy_work.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

struct copy_in_args {
	const char *source, *path, *sandbox;
	bool gitignore, overwrite;
};

static const struct param copy_in_params[] = {
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
	WORK_PARAM_SANDBOX(struct copy_in_args),
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
	.params = copy_in_params,
	.args_size = sizeof(struct copy_in_args),
	.output = copy_work_output,
	.call = copy_in,
};

struct copy_out_args {
	const char *path, *target, *sandbox;
	bool overwrite, preview;
};

static const struct param copy_out_params[] = {
	ARG_REQUIRED(
	        struct copy_out_args, path, STRING, "",
	        .more = "File or directory of the sandbox. Absolute, or relative to /workspace.",
	        .also = PARAM_ALSO("source", "file_path"), .min = 1, .max = TOOL_PATH_MAX),
	ARG_REQUIRED(
	        struct copy_out_args, target, STRING, "Path on the host.",
	        .more = "Absolute, or relative to the first allowed directory. If it is an "
	                "existing directory, a file is copied into it; a directory is copied into "
	                "it if the target ends with a slash.",
	        .also = PARAM_ALSO("destination"), .min = 1, .max = TOOL_PATH_MAX),
	ARG(struct copy_out_args, overwrite, BOOL, "",
	    .more = "Replace existing files. In a directory, those of the same names. If false, "
	            "nothing is copied when the target exists."),
	ARG(struct copy_out_args, preview, BOOL, "Only answer what would change."),
	WORK_PARAM_SANDBOX(struct copy_out_args),
	{ 0 },
};

static int copy_out(struct mcp_call *call, const void *args, struct error *err)
{
	const struct copy_out_args *a = args;
	const struct copy_work_options options = { .is_out = true,
		                                   .sandbox = a->sandbox,
		                                   .host = a->target,
		                                   .inside = a->path,
		                                   .overwrite = a->overwrite,
		                                   .preview = a->preview };

	return copy_work_start(call, NULL, &options, err);
}

const struct mcp_tool tool_copy_out = {
	.name = "copy_out",
	.title = "Copy files out of the sandbox",
	.help = "Copy a file or directory of the sandbox to the host. Files that programs of the "
	        "host trust by themselves (.git/hooks, .bashrc ...) are left out and named.",
	.more = "Only into directories that belljar was started with (--allow-path) or that are "
	        "the client's roots. Existing files are not replaced unless overwrite is true. "
	        "Files that programs of the host execute or trust are left out, and new files are "
	        "not executable.",
	.is_offered = copy_work_is_offered,
	.hints = MCP_DESTRUCTIVE,
	.scope = MCP_SCOPE_ADMIN,
	.params = copy_out_params,
	.args_size = sizeof(struct copy_out_args),
	.output = copy_work_output,
	.call = copy_out,
};
