#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/text/base64.h"
#include "base/text/encoding.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/files/file_work.h"
#include "tools/support/params.h"

enum {
	CONTENT_MAX = 8 * 1024 * 1024, /* a request of more than max_line (10 MiB) is refused */
	SHOWN = 160,
	REPLY_MAX = 1024,
};

struct write_file_args {
	const char *path, *encoding, *sandbox;
	struct view content;
	bool append, executable;
};

static const struct param params[] = {
	ARG_PATH(struct write_file_args, path,
	         "Missing directories are created; one that ends in / is a directory.",
	         .required = true),
	ARG(struct write_file_args, content, TEXT, "",
	    .more = "All of the new content, or what to append.", .max = CONTENT_MAX,
	    .also = PARAM_ALSO("contents", "file_text", "text", "data")),
	ARG_ENCODING(struct write_file_args, encoding, ""),
	ARG(struct write_file_args, append, BOOL, "", .more = "Add to the end instead."),
	ARG(struct write_file_args, executable, BOOL, "", .more = "Make it a program."),
	WORK_PARAM_SANDBOX(struct write_file_args),
	{ 0 },
};

static const struct param output[] = {
	FIELD_PATH,
	FIELD("bytes", INT, "Bytes that were written."),
	FIELD("size", INT, "Bytes of the file now."),
	FIELD("created", BOOL, "The file did not exist before."),
	{ 0 },
};

struct write_file {
	struct file_work file;
	const struct write_file_args *args;
	struct view content;
	char *decoded;   /* what `content` points to, if it was Base64, */
	struct buf text; /* or if it was text for another encoding */
	char *temporary; /* the path that is written first and then renamed, or NULL */
	bool exists;
	uint64_t bytes, size;
};

static void answer_write(struct write_file *w)
{
	json_t *structured = json_obj();
	json_t *content = json_list();

	json_set(structured, "path", json_str(w->file.path));
	json_set(structured, "bytes", json_int((json_int_t)w->bytes));
	json_set(structured, "size", json_int((json_int_t)w->size));
	json_set(structured, "created", json_boolean(!w->exists));
	json_push(content, mcp_text("%s '%s': %" PRIu64 " bytes%s, the file has %" PRIu64,
	                            !w->exists        ? "created"
	                            : w->args->append ? "appended to"
	                                              : "replaced",
	                            UTF8_ESCAPED(view_of(w->file.path), SHOWN), w->bytes,
	                            w->args->append ? " added" : "", w->size));
	file_report_change(&w->file.work, w->file.path, false);
	work_answer(&w->file.work, content, structured);
}

static void on_renamed(struct file_work *file, const struct files_reply *reply)
{
	(void)reply;
	answer_write(container_of(file, struct write_file, file));
}

static void on_written(struct file_work *file, const struct files_reply *reply)
{
	struct write_file *w = container_of(file, struct write_file, file);
	struct wire_message request = { .type = WIRE_RENAME };

	w->bytes = reply->done.bytes;
	w->size = reply->done.total;
	if (w->temporary == NULL) {
		answer_write(w);
		return;
	}
	request.rename = (struct wire_rename){ .flags = WIRE_RENAME_REPLACE,
		                               .from = view_of(w->temporary),
		                               .to = view_of(file->path) };
	file_work_request(file, &request, (struct view){ 0 }, REPLY_MAX, on_renamed);
}

/* The agent keeps the permissions of a file that it replaces. A file that is to become executable
 * is therefore written under a new name beside the old one and renamed over it. For a symbolic link
 * that would replace the link itself, and an appended file would lose its old content: both are
 * refused. */
static int choose_temporary(struct write_file *w, const struct wire_entry *old, struct error *err)
{
	if (!w->args->executable || old->type == WIRE_FILE_DIRECTORY ||
	    (old->type == WIRE_FILE_REGULAR && (old->perm & 0111) != 0))
		return 0;
	if (w->args->append || old->type != WIRE_FILE_REGULAR)
		return error_set(err, ERR_INVALID,
		                 "'%s' exists and keeps its permissions when it is %s: leave "
		                 "executable out, and run chmod +x",
		                 UTF8_ESCAPED(view_of(w->file.path), SHOWN),
		                 w->args->append ? "appended to" : "written through a link");
	w->temporary = mem_format("%s.%08" PRIx32, w->file.path, (uint32_t)random_number());
	return 0;
}

static void request_write(struct write_file *w)
{
	const char *path = w->temporary != NULL ? w->temporary : w->file.path;
	const struct wire_message request = {
		.type = WIRE_WRITE,
		.write = { .mode = w->temporary != NULL ? WIRE_WRITE_CREATE
		                   : w->args->append    ? WIRE_WRITE_APPEND
		                                        : WIRE_WRITE_REPLACE,
		           .flags = WIRE_PARENTS,
		           .perm = w->args->executable ? 0755 : 0644,
		           .max = w->content.len,
		           .path = view_of(path) },
	};

	file_work_request(&w->file, &request, w->content, REPLY_MAX, on_written);
}

static void on_stat(struct file_work *file, const struct files_reply *reply)
{
	struct write_file *w = container_of(file, struct write_file, file);
	const struct wire_entry old = file_work_entry(reply);
	struct error err;

	w->exists = true;
	if (choose_temporary(w, &old, &err) < 0)
		work_fail(&file->work, &err);
	else
		request_write(w);
}

static void on_no_stat(struct file_work *file, const struct error *why)
{
	if (why->kind == ERR_NOT_FOUND)
		request_write(container_of(file, struct write_file, file));
	else
		file_work_fail_path(file, why);
}

static void on_locked(struct file_work *file)
{
	file_work_stat_or(file, file->path, false, on_stat, on_no_stat);
}

static void on_directory(struct file_work *file, const struct files_reply *reply)
{
	const struct write_file *w = container_of(file, struct write_file, file);
	json_t *structured = json_obj(), *content = json_list();

	(void)reply;
	json_set(structured, "path", json_str(file->path));
	json_set(structured, "bytes", json_int(0));
	json_set(structured, "size", json_int(0));
	json_set(structured, "created", json_boolean(!w->exists));
	json_push(content,
	          mcp_text("the directory '%s' exists %s", UTF8_ESCAPED(view_of(file->path), SHOWN),
	                   w->exists ? "already" : "now"));
	file_report_change(&file->work, file->path, false);
	work_answer(&file->work, content, structured);
}

static void on_old_directory(struct file_work *file, const struct files_reply *reply)
{
	(void)reply;
	container_of(file, struct write_file, file)->exists = true;
	file_work_make_directory(file, file->path, on_directory);
}

static void on_no_directory(struct file_work *file, const struct error *why)
{
	(void)why; /* if the error is not a missing directory, MKDIR fails with the same error */
	file_work_make_directory(file, file->path, on_directory);
}

static bool is_directory_path(const char *path)
{
	return path[strlen(path) - 1] == '/';
}

/* Converts the argument to the bytes of the file. */
static int convert_content(struct write_file *w, struct error *err)
{
	const char *encoding = w->args->encoding;
	int converted = 0;

	if (encoding == encoding_names[ENCODING_BASE64]) {
		converted = base64_decode(w->args->content, &w->decoded, &w->content.len, err);
		w->content.ptr = w->decoded;
	} else if (encoding == encoding_names[ENCODING_LATIN1]) {
		converted = latin1_encode(w->args->content, &w->text, err);
		w->content = buf_view(&w->text);
	} else if (encoding == encoding_names[ENCODING_UTF16]) {
		if (!w->args->append) /* The byte order mark tells programs that it is UTF-16. */
			converted = utf16_encode(view_of("\xef\xbb\xbf"), &w->text, err);
		if (converted == 0)
			converted = utf16_encode(w->args->content, &w->text, err);
		w->content = buf_view(&w->text);
	}
	return converted == 0 ? 0 : error_wrap(err, "argument 'content'");
}

static int lock_file(struct work *work, struct error *err)
{
	struct file_work *file = container_of(work, struct file_work, work);
	struct write_file *w = container_of(file, struct write_file, file);

	w->content = w->args->content;
	buf_init(&w->text, 2 * CONTENT_MAX + 2);
	if (is_directory_path(file->path)) {
		file_work_stat_or(file, file->path, true, on_old_directory, on_no_directory);
		return 0;
	}
	if (file_memory_reserve(&file->reserved, w->content.len, err) < 0)
		return -1;
	if (convert_content(w, err) < 0)
		return -1;
	file_work_lock(file, on_locked);
	return 0;
}

static void free_write(struct work *work)
{
	struct write_file *w = container_of(work, struct write_file, file.work);

	file_work_done(work);
	free(w->decoded);
	buf_done(&w->text);
	free(w->temporary);
}

static const struct work_callbacks callbacks = { lock_file, work_cancel, free_write };

static int write_file(struct mcp_call *call, const void *args, struct error *err)
{
	const struct write_file_args *a = args;
	struct write_file *w;
	struct work *work;

	if (work_check_path(a->path, err) < 0)
		return -1;
	if (is_directory_path(a->path) && a->content.len != 0)
		return error_set(err, ERR_INVALID,
		                 "path: '%.80s' ends in a slash and would be a directory, which "
		                 "has no content: give the name of the file",
		                 a->path);
	if (!is_directory_path(a->path) && a->content.ptr == NULL)
		return error_set(err, ERR_INVALID, "argument 'content' is missing");
	if (work_start(call, sizeof *w, &callbacks, a->sandbox, &work, err) < 0)
		return -1;
	w = container_of(work, struct write_file, file.work);
	w->file.path = a->path;
	w->file.is_for_file = true;
	w->args = a;
	return 0;
}

const struct mcp_tool tool_write_file = {
	.name = "write_file",
	.title = "Write a file",
	.help = "Create a file in the sandbox, replace all of it, or append to it. For small "
	        "changes use edit_file.",
	.more = "A file is replaced whole or not at all. With base64, `content` is the Base64 of "
	        "bytes. utf-16 is written in little-endian byte order with a byte order mark, "
	        "which appended text does not get. For files of the host use copy_in.",
	.hints = MCP_DESTRUCTIVE,
	.scope = MCP_SCOPE_FILES,
	.params = params,
	.args_size = sizeof(struct write_file_args),
	.output = output,
	.call = write_file,
};
