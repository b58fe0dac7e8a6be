#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/text/utf8.h"
#include "tools/catalogue.h"
#include "tools/files/file_text.h"
#include "tools/files/file_work.h"
#include "tools/support/params.h"

enum { CONTENTS_MAX = 1024 * 1024, LIST_COUNT = 500, LIST_MAX = 512 * 1024, SHOWN = 300 };

struct sandbox_file_args {
	const char *id, *path;
};

static const struct param params[] = {
	ARG_REQUIRED(struct sandbox_file_args, id, STRING, "Id or name of the sandbox.", .min = 1,
	             .max = 64, .complete = work_complete_sandbox),
	ARG_REQUIRED(struct sandbox_file_args, path, STRING,
	             "The path from the root of the sandbox: workspace/notes.txt.", .max = 4094),
	{ 0 },
};

struct sandbox_file {
	struct file_work file;
	char path[4096];  /* the URI's path, which has no slash in front, behind a slash */
	struct error why; /* the path could not be read as a file */
};

static void on_contents(struct file_work *file, const struct files_reply *reply)
{
	struct view bytes = reply->bytes.len != 0 ? reply->bytes : view_of("");
	struct mcp_call *call;
	const char *mime_type;

	if ((reply->done.flags & WIRE_DONE_MORE) != 0 || reply->done.total > CONTENTS_MAX) {
		file_work_fail(file, ERR_LIMIT,
		               "'%s' has %" PRIu64
		               " bytes, and a resource at most %d: use the tool read_file, which "
		               "reads parts",
		               UTF8_ESCAPED(view_of(file->path), SHOWN), reply->done.total,
		               CONTENTS_MAX);
		return;
	}
	mime_type = file_mime_type(file->path, bytes);
	call = work_take_call(&file->work);
	if (file_is_text(&bytes, false))
		mcp_respond_text(call, mime_type, bytes);
	else
		mcp_respond_blob(call, mime_type, bytes);
}

/* One name a line; names of directories end in a slash. */
static void on_listed(struct file_work *file, const struct files_reply *reply)
{
	struct view rest = reply->bytes;
	AUTO_BUF struct buf text;
	struct wire_entry entry;

	buf_init(&text, LIST_MAX);
	while (files_next_entry(&rest, &entry))
		buf_putf(&text, "%s%s\n", UTF8_ESCAPED(entry.path, SHOWN),
		         entry.type == WIRE_FILE_DIRECTORY ? "/" : "");
	if ((reply->done.flags & WIRE_DONE_MORE) != 0)
		buf_putf(&text, "[there is more: use the tool list_directory]\n");
	mcp_respond_text(work_take_call(&file->work), "text/plain", view_of(buf_text(&text)));
}

static void on_no_directory(struct file_work *file, const struct error *why)
{
	(void)why;
	file_work_fail_path(file, &container_of(file, struct sandbox_file, file)->why);
}

/* A directory cannot be read as a file. */
static void on_unreadable(struct file_work *file, const struct error *why)
{
	const struct wire_message request = {
		.type = WIRE_LIST,
		.list = { .limit = LIST_COUNT, .path = view_of(file->path), .cursor = view_of("") },
	};

	container_of(file, struct sandbox_file, file)->why = *why;
	if (why->kind == ERR_INVALID)
		file_work_request_or(file, &request, (struct view){ 0 }, LIST_MAX, on_listed,
		                     on_no_directory);
	else
		file_work_fail_path(file, why);
}

static int request_contents(struct work *work, struct error *err)
{
	struct file_work *file = container_of(work, struct file_work, work);
	const struct wire_message request = {
		.type = WIRE_READ,
		.read = { .unit = WIRE_UNIT_BYTES,
		          .count = CONTENTS_MAX + 1,
		          .max = CONTENTS_MAX,
		          .path = view_of(file->path) },
	};

	if (file_memory_reserve(&file->reserved, CONTENTS_MAX, err) < 0)
		return -1;
	file_work_request_or(file, &request, (struct view){ 0 }, CONTENTS_MAX, on_contents,
	                     on_unreadable);
	return 0;
}

static const struct work_callbacks calls = { request_contents, work_cancel, file_work_done };

static int read_sandbox_file(struct mcp_call *call, const void *args, struct error *err)
{
	const struct sandbox_file_args *a = args;
	struct sandbox_file *l;
	struct work *work;

	if (work_start(call, sizeof *l, &calls, a->id, &work, err) < 0)
		return -1;
	l = container_of(work, struct sandbox_file, file.work);
	(void)snprintf(l->path, sizeof l->path, "/%s", a->path);
	l->file.path = l->path;
	l->file.is_for_file = true;
	return 0;
}

static int check_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	const struct sandbox_file_args *a = args;
	struct sandbox *sandbox;

	return tools_find_sandbox(mcp_call_app(call), mcp_call_owner(call), a->id, &sandbox, err);
}

const struct mcp_template template_sandbox_file = {
	.uri_template = "sandbox://{id}/{+path}",
	.name = "sandbox-file",
	.title = "File of a sandbox",
	.help = "A file of one of your sandboxes, at most 1 MiB of text or bytes, for example "
	        "sandbox://ID/workspace/notes.txt, or the names in a directory. Subscribers are "
	        "notified of changes; those of a directory get the URIs of what changed in it.",
	.scope = MCP_SCOPE_FILES,
	.params = params,
	.args_size = sizeof(struct sandbox_file_args),
	.read = read_sandbox_file,
	.check = check_sandbox,
};
