#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text/utf8.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/files/file_work.h"
#include "tools/support/params.h"

enum { SHOWN = 160, REPLY_MAX = 1024 };

struct delete_path_args {
	const char *path, *sandbox;
	bool recursive;
};

static const struct param params[] = {
	ARG_PATH(struct delete_path_args, path, "", .required = true),
	ARG(struct delete_path_args, recursive, BOOL, "",
	    .more = "Delete a directory with all it has."),
	WORK_PARAM_SANDBOX(struct delete_path_args),
	{ 0 },
};

static const struct param output[] = {
	FIELD_PATH,
	FIELD("deleted", INT, "Files and directories that were deleted."),
	{ 0 },
};

struct delete_path {
	struct file_work file;
	const struct delete_path_args *args;
};

static void on_removed(struct file_work *file, const struct files_reply *reply)
{
	const bool recursive = container_of(file, struct delete_path, file)->args->recursive;
	json_t *structured = json_obj(), *content = json_list();

	json_set(structured, "path", json_str(file->path));
	json_set(structured, "deleted", json_int((json_int_t)reply->done.count));
	json_push(content, mcp_text("deleted '%s' (%" PRIu64 " %s)",
	                            UTF8_ESCAPED(view_of(file->path), SHOWN), reply->done.count,
	                            reply->done.count == 1 ? "entry" : "entries"));
	file_report_change(&file->work, file->path, recursive);
	work_answer(&file->work, content, structured);
}

static void on_failed(struct file_work *file, const struct error *why)
{
	if (why->errnum == ENOTEMPTY)
		file_work_fail(file, ERR_INVALID,
		               "'%s' is a directory that is not empty: set recursive to true to "
		               "delete everything in it",
		               UTF8_ESCAPED(view_of(file->path), SHOWN));
	else
		file_work_fail_path(file, why);
}

static int start_removal(struct work *work, struct error *err)
{
	struct delete_path *d = container_of(work, struct delete_path, file.work);
	const struct wire_message request = {
		.type = WIRE_REMOVE,
		.remove = { .flags = d->args->recursive ? WIRE_RECURSIVE : 0,
		            .path = view_of(d->file.path) },
	};

	(void)err;
	file_work_request_or(&d->file, &request, (struct view){ 0 }, REPLY_MAX, on_removed,
	                     on_failed);
	return 0;
}

static const struct work_callbacks callbacks = { start_removal, work_cancel, file_work_done };

/* The agent refuses to delete these directories under any name. Refusing the common names here
 * saves making or waking a sandbox. */
static int check_deletable(const char *path, struct error *err)
{
	static const char *const kept[] = { "/", ".", "./", "/workspace", "/workspace/" };

	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (strcmp(path, kept[i]) == 0)
			return error_set(
			        err, ERR_INVALID,
			        "'%s' itself cannot be deleted: delete the files in it, or "
			        "use reset_sandbox to remove everything",
			        path);
	return 0;
}

static int delete_path(struct mcp_call *call, const void *args, struct error *err)
{
	const struct delete_path_args *a = args;
	struct delete_path *d;
	struct work *work;

	if (work_check_path(a->path, err) < 0 || check_deletable(a->path, err) < 0 ||
	    work_start(call, sizeof *d, &callbacks, a->sandbox, &work, err) < 0)
		return -1;
	d = container_of(work, struct delete_path, file.work);
	d->file.path = a->path;
	d->args = a;
	return 0;
}

const struct mcp_tool tool_delete_path = {
	.name = "delete_path",
	.title = "Delete a file or directory",
	.help = "Delete a file, link or directory of the sandbox for good.",
	.more = "A directory that is not empty needs recursive. A link is deleted, never the file "
	        "it leads to; /workspace itself stays (reset_sandbox empties it).",
	.hints = MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
	.scope = MCP_SCOPE_FILES,
	.params = params,
	.args_size = sizeof(struct delete_path_args),
	.output = output,
	.call = delete_path,
};
