/* code_sandbox_files.c - the file tools of the profile code-sandbox. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "sandbox/copy/copy.h"
#include "tools/files/copy_work.h"
#include "tools/profiles/code_sandbox.h"

/* --- write_file_sandbox ------------------------------------------------------------------ */

static void on_written(struct file_work *file, const struct files_reply *reply)
{
	struct profile_work *w = container_of(file, struct profile_work, file);
	json_t *object = json_obj();

	(void)reply;
	file_report_change(&file->work, file->path, false);
	json_set(object, "success", json_true());
	json_set(object, "file_path", json_str(file->path));
	profile_answer(w, object);
}

/* The name is below dest_dir, which is below the workspace. */
static void begin_write(struct profile_work *w)
{
	const struct code_sandbox_args *a = w->args;
	const char *dest_dir = code_sandbox_given(a->dest_dir);
	AUTO_FREE char *directory = NULL, *path = NULL;
	struct error err;

	w->file.is_for_file = true;
	if (code_sandbox_resolve(w->base, dest_dir != NULL ? dest_dir : ".", &directory, &err) <
	            0 ||
	    code_sandbox_resolve(w->base, a->file_name, &path, &err) < 0 ||
	    profile_set_path(w, dest_dir != NULL ? directory : w->base, a->file_name, &err) < 0)
		work_fail(&w->file.work, &err);
	else
		file_work_write(&w->file, w->file.path, a->file_contents, on_written);
}

/* --- copies ------------------------------------------------------------------------------ */

static json_t *describe_copy(const struct mcp_call *call, const char *key,
                             const struct copy_done *done)
{
	json_t *object = json_obj();
	AUTO_BUF struct buf text;

	buf_init(&text, COPY_NOTES_MAX + 4 * CODE_SANDBOX_TEXT_SIZE);
	json_set(object, "success", json_true());
	json_set(object, key, json_str(done->target));
	json_set(object, "message", json_str(code_sandbox_copied(call, done, &text)));
	return object;
}

static json_t *describe_file(const struct mcp_call *call, const struct copy_done *done)
{
	return describe_copy(call, "file_path", done);
}

static json_t *describe_project(const struct mcp_call *call, const struct copy_done *done)
{
	return describe_copy(call, "dest_dir", done);
}

static json_t *describe_local(const struct mcp_call *call, const struct copy_done *done)
{
	json_t *object = describe_copy(call, "local_path", done);

	json_set(object, "file_size", json_int((json_int_t)done->result->moved.bytes));
	return object;
}

static const char *last_name_of(char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	return copy_last_name(path);
}

/* Copies options->host to options->inside, which is below the workspace; NULL: to the workspace
 * itself, under the same name. */
static int copy_into(struct mcp_call *call, const struct code_sandbox_args *a,
                     struct copy_work_options options, struct error *err)
{
	AUTO_FREE char *name = mem_dup(options.host), *target = NULL;
	char base[CODE_SANDBOX_BASE_SIZE];
	struct sandbox *sandbox;

	if (code_sandbox_find(call, a, &sandbox, base, err) < 0 ||
	    code_sandbox_resolve(base, options.inside != NULL ? options.inside : last_name_of(name),
	                         &target, err) < 0)
		return profile_refuse(call, err);
	options.inside = target;
	options.overwrite = true;
	return copy_work_start(call, sandbox, &options, err) < 0 ? profile_refuse(call, err) : 0;
}

static int copy_file(struct mcp_call *call, const void *args, struct error *err)
{
	const struct code_sandbox_args *a = args;

	return copy_into(call, a,
	                 (struct copy_work_options){ .host = a->local_src_file,
	                                             .host_argument = "local_src_file",
	                                             .inside = code_sandbox_given(a->dest_path),
	                                             .inside_argument = "dest_path",
	                                             .answer = describe_file },
	                 err);
}

static int copy_project(struct mcp_call *call, const void *args, struct error *err)
{
	const struct code_sandbox_args *a = args;

	return copy_into(call, a,
	                 (struct copy_work_options){ .host = a->local_src_dir,
	                                             .host_argument = "local_src_dir",
	                                             .inside = code_sandbox_given(a->dest_dir),
	                                             .inside_argument = "dest_dir",
	                                             .only_directory = true,
	                                             .answer = describe_project },
	                 err);
}

static int copy_out(struct mcp_call *call, const void *args, struct error *err)
{
	const struct code_sandbox_args *a = args;
	const char *target = code_sandbox_given(a->local_dest_path);
	AUTO_FREE char *source = NULL, *name = NULL;
	char base[CODE_SANDBOX_BASE_SIZE];
	struct sandbox *sandbox;

	if (code_sandbox_find(call, a, &sandbox, base, err) < 0 ||
	    code_sandbox_resolve(base, a->container_src_path, &source, err) < 0)
		return profile_refuse(call, err);
	name = mem_dup(source);
	if (copy_work_start(call, sandbox,
	                    &(struct copy_work_options){
	                            .is_out = true,
	                            .host = target != NULL ? target : last_name_of(name),
	                            .host_argument = "local_dest_path",
	                            .inside = source,
	                            .inside_argument = "container_src_path",
	                            .overwrite = true,
	                            .answer = describe_local },
	                    err) < 0)
		return profile_refuse(call, err);
	return 0;
}

/* --- the records ------------------------------------------------------------------------- */

#define A                                   struct code_sandbox_args
#define MAY_BE_EMPTY(args_, member_, help_) ARG(args_, member_, STRING, help_, .max = TOOL_PATH_MAX)
static const struct param write_params[] = {
	CODE_SANDBOX_CONTAINER,
	PROFILE_PATH(A, file_name, "", .required = true),
	PROFILE_TEXT(A, file_contents, "", .required = true),
	CODE_SANDBOX_WORKSPACE,
	MAY_BE_EMPTY(A, dest_dir, "Below the workspace."),
	{ 0 },
};
static const struct param copy_file_params[] = {
	CODE_SANDBOX_CONTAINER,
	PROFILE_PATH(A, local_src_file, "A file of the host.", .required = true),
	CODE_SANDBOX_WORKSPACE,
	MAY_BE_EMPTY(A, dest_path, "Below the workspace; without it, under the same name."),
	{ 0 },
};
static const struct param copy_project_params[] = {
	CODE_SANDBOX_CONTAINER,
	PROFILE_PATH(A, local_src_dir, "A directory of the host.", .required = true),
	CODE_SANDBOX_WORKSPACE,
	MAY_BE_EMPTY(A, dest_dir, "Below the workspace; without it, under the same name."),
	{ 0 },
};
static const struct param copy_out_params[] = {
	CODE_SANDBOX_CONTAINER,
	PROFILE_PATH(A, container_src_path, "Below the workspace.", .required = true),
	CODE_SANDBOX_WORKSPACE,
	MAY_BE_EMPTY(A, local_dest_path, "A path of the host."),
	{ 0 },
};
#undef A

#define HOST_PATHS                                                                                 \
	"The host's path must be below a directory of --allow-path, or a root of the client."
CODE_SANDBOX_TOOL(write_file_sandbox, code_sandbox_start, begin_write, write_params,
                  MCP_SCOPE_FILES, MCP_DESTRUCTIVE,
                  "Write a file in a workspace. Missing directories are created.");
CODE_SANDBOX_TOOL(copy_file, copy_file, NULL, copy_file_params, MCP_SCOPE_ADMIN, MCP_DESTRUCTIVE,
                  "Copy a file of the host into a workspace.", .more = HOST_PATHS);
CODE_SANDBOX_TOOL(copy_project, copy_project, NULL, copy_project_params, MCP_SCOPE_ADMIN,
                  MCP_DESTRUCTIVE, "Copy a directory of the host into a workspace.",
                  .more = HOST_PATHS);
CODE_SANDBOX_TOOL(copy_file_from_sandbox, copy_out, NULL, copy_out_params, MCP_SCOPE_ADMIN,
                  MCP_DESTRUCTIVE, "Copy a file of a workspace to the host.", .more = HOST_PATHS);
