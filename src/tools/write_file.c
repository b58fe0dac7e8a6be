#include <inttypes.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/support/file_work.h"
#include "tools/support/params.h"

enum {
	CONTENT_MAX = 8 * 1024 * 1024, /* max_line is 10 MiB, unless somebody says otherwise */
	SHOWN = 160,
};

struct write_file_args {
	const char *path, *encoding, *sandbox;
	struct view content;
	bool append, executable;
};

static const char *const encodings[] = { "utf-8", "base64", NULL };

static const struct param params[] = {
	ARG_PATH(struct write_file_args, path,
	         "The file; directories that are missing above it are made.", .required = true),
	{ .name = "content",
	  .type = PARAM_TEXT,
	  .required = true,
	  .max = CONTENT_MAX,
	  .offset = offsetof(struct write_file_args, content),
	  .help = "All of the new content (with append: what is added)." },
	{ .name = "encoding",
	  .type = PARAM_ENUM,
	  .values = encodings,
	  .fallback.text = "utf-8",
	  .offset = offsetof(struct write_file_args, encoding),
	  .help = "\"base64\": content is decoded first, for bytes that are not text." },
	{ .name = "append",
	  .type = PARAM_BOOL,
	  .offset = offsetof(struct write_file_args, append),
	  .help = "Add to the end of the file instead of replacing it." },
	{ .name = "executable",
	  .type = PARAM_BOOL,
	  .offset = offsetof(struct write_file_args, executable),
	  .help = "Make it a program that can be started." },
	WORK_PARAM_SANDBOX(struct write_file_args, sandbox),
	{ 0 },
};

static const struct param output[] = {
	{ .name = "path", .type = PARAM_STRING, .required = true, .help = "As it was given." },
	{ .name = "bytes", .type = PARAM_INT, .required = true, .help = "Written." },
	{ .name = "size", .type = PARAM_INT, .required = true, .help = "Of the file now." },
	{ .name = "created",
	  .type = PARAM_BOOL,
	  .required = true,
	  .help = "It was not there before." },
	{ 0 },
};

struct writing {
	struct file_work file;
	const struct write_file_args *args;
	struct view content;
	char *decoded; /* what `content` points to, if it was base64 */
	char *beside;  /* where it is written before it is renamed, or NULL */
	bool exists;
	uint64_t bytes, size;
};

static void answer(struct writing *w)
{
	json_t *structured = json_obj();
	json_t *content = json_list();
	char shown[SHOWN];

	json_set(structured, "path", json_str(w->file.path));
	json_set(structured, "bytes", json_int((json_int_t)w->bytes));
	json_set(structured, "size", json_int((json_int_t)w->size));
	json_set(structured, "created", json_boolean(!w->exists));
	json_push(content, mcp_text("%s '%s': %" PRIu64 " bytes%s, the file has %" PRIu64,
	                            !w->exists        ? "created"
	                            : w->args->append ? "appended to"
	                                              : "replaced",
	                            utf8_escape(view_of(w->file.path), shown, sizeof shown),
	                            w->bytes, w->args->append ? " added" : "", w->size));
	file_report_change(&w->file.work, w->file.path, false);
	work_answer(&w->file.work, content, structured);
}

static void on_renamed(struct file_work *file, const struct files_reply *said,
                       const struct error *why)
{
	(void)said;
	if (why != NULL)
		file_work_fail_path(file, why);
	else
		answer(container_of(file, struct writing, file));
}

static void on_written(struct file_work *file, const struct files_reply *said,
                       const struct error *why)
{
	struct writing *w = container_of(file, struct writing, file);
	struct wire_message request = { .type = WIRE_RENAME };

	if (why != NULL) {
		file_work_fail_path(file, why);
		return;
	}
	w->bytes = said->done.bytes;
	w->size = said->done.total;
	if (w->beside == NULL) {
		answer(w);
		return;
	}
	request.rename = (struct wire_rename){ .flags = WIRE_RENAME_REPLACE,
		                               .from = view_of(w->beside),
		                               .to = view_of(file->path) };
	file_work_request(file, &request, (struct view){ 0 }, 1024, on_renamed);
}

/* A file that is replaced keeps its permissions, so one that is to become a program is written
 * beside the old one and takes its place. Through a link that would replace the link. */
static int choose_beside(struct writing *w, const struct wire_entry *old, struct error *err)
{
	uint32_t number;
	char shown[SHOWN];

	if (!w->args->executable || old->type == WIRE_FILE_DIRECTORY ||
	    (old->type == WIRE_FILE_REGULAR && (old->perm & 0111) != 0))
		return 0;
	if (w->args->append || old->type != WIRE_FILE_REGULAR)
		return error_set(err, ERR_INVALID,
		                 "'%s' exists and keeps its permissions when it is %s: leave "
		                 "executable out, and run chmod +x",
		                 utf8_escape(view_of(w->file.path), shown, sizeof shown),
		                 w->args->append ? "appended to" : "written through a link");
	if (getrandom(&number, sizeof number, 0) != sizeof number)
		return error_sys(err, "get a random number");
	w->beside = mem_format("%s.%08" PRIx32, w->file.path, number);
	return 0;
}

static void on_old(struct file_work *file, const struct files_reply *said, const struct error *why)
{
	struct writing *w = container_of(file, struct writing, file);
	struct wire_message request = { .type = WIRE_WRITE };
	struct error err;

	if (why != NULL && why->kind != ERR_NOT_FOUND) {
		file_work_fail_path(file, why);
		return;
	}
	w->exists = why == NULL;
	if (w->exists) {
		const struct wire_entry old = file_work_entry(said);

		if (choose_beside(w, &old, &err) < 0) {
			work_fail(&file->work, &err);
			return;
		}
	}
	request.write = (struct wire_write){
		.mode = w->beside != NULL ? WIRE_WRITE_CREATE
		        : w->args->append ? WIRE_WRITE_APPEND
		                          : WIRE_WRITE_REPLACE,
		.flags = WIRE_PARENTS,
		.perm = w->args->executable ? 0755 : 0644,
		.max = w->content.len,
		.path = view_of(w->beside != NULL ? w->beside : file->path),
	};
	file_work_request(file, &request, w->content, 1024, on_written);
}

static void begin(struct file_work *file)
{
	file_work_stat(file, file->path, false, on_old);
}

static int start(struct work *work, struct error *err)
{
	struct file_work *file = container_of(work, struct file_work, work);
	struct writing *w = container_of(file, struct writing, file);

	w->content = w->args->content;
	if (file_memory_reserve(&file->reserved, w->content.len, err) < 0)
		return -1;
	if (w->args->encoding == encodings[1]) {
		if (base64_decode(w->args->content, &w->decoded, &w->content.len, err) < 0)
			return error_wrap(err, "argument 'content'");
		w->content.ptr = w->decoded;
	}
	file_work_lock(file, begin);
	return 0;
}

static void done(struct work *work)
{
	struct writing *w = container_of(work, struct writing, file.work);

	file_work_done(work);
	free(w->decoded);
	free(w->beside);
}

static const struct work_callbacks calls = { start, file_work_cancel, done };

static int write_file(struct mcp_call *call, const void *args, struct error *err)
{
	const struct write_file_args *a = args;
	struct writing *w;
	struct work *work;

	if (work_check_path(a->path, err) < 0 ||
	    work_start(call, sizeof *w, &calls, a->sandbox, &work, err) < 0)
		return -1;
	w = container_of(work, struct writing, file.work);
	w->file.path = a->path;
	w->file.is_for_file = true;
	w->args = a;
	return 0;
}

const struct mcp_tool tool_write_file = {
	.name = "write_file",
	.title = "Write a file",
	.help = "Make a file in the sandbox, or replace all of it, or append to it. Missing "
	        "directories are made, and a file is replaced whole or not at all. For small "
	        "changes "
	        "to a file that exists use edit_file; for files of the host use copy_in.",
	.hints = MCP_DESTRUCTIVE,
	.params = params,
	.args_size = sizeof(struct write_file_args),
	.output = output,
	.call = write_file,
};
