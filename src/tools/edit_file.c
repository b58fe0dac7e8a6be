#include <inttypes.h>

#include "base/buf.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/files/edit_text.h"
#include "tools/files/file_text.h"
#include "tools/files/file_work.h"
#include "tools/support/params.h"

enum {
	FILE_MAX = 10 * 1024 * 1024,
	EDITS_MAX = 100,
	UNSIZED_MAX = 64 * 1024, /* read of files that report a size of 0, as in /proc */
	TEXT_MAX = 1024 * 1024,
	DIFF_MAX = 6000,
	SHOWN = 160,
	REPLY_MAX = 1024,
};

struct edit_file_args {
	const char *path, *sandbox;
	struct param_records edits; /* struct edit */
	struct edit one;            /* instead of `edits`; `old.ptr` is NULL without it */
};

static const struct param edit_fields[] = {
	ARG_REQUIRED(struct edit, old, TEXT, "The exact text to replace, without line numbers.",
	             .max = TEXT_MAX,
	             .also = PARAM_ALSO("old_string", "old_str", "old_text", "oldText")),
	ARG_REQUIRED(struct edit, new, TEXT, "", .more = "The text in its place.", .max = TEXT_MAX,
	             .also = PARAM_ALSO("new_string", "new_str", "new_text", "newText")),
	ARG(struct edit, all, BOOL, "", .more = "Replace every occurrence.",
	    .also = PARAM_ALSO("replace_all")),
	{ 0 },
};

static const struct param params[] = {
	ARG_PATH(struct edit_file_args, path, "", .required = true),
	ARG(struct edit_file_args, edits, RECORDS, "Made in order: all of them or none.",
	    .more = "A single edit may also be given by `old_string`, `new_string` and "
	            "`replace_all` beside `path`.",
	    .min = 1, .max = EDITS_MAX, .fields = edit_fields, .record_size = sizeof(struct edit)),
	{ .name = "old_string",
	  .type = PARAM_TEXT,
	  .hidden = true,
	  .max = TEXT_MAX,
	  .also = PARAM_ALSO("old", "old_str", "old_text", "oldText"),
	  .offset = offsetof(struct edit_file_args, one.old) },
	{ .name = "new_string",
	  .type = PARAM_TEXT,
	  .hidden = true,
	  .max = TEXT_MAX,
	  .also = PARAM_ALSO("new", "new_str", "new_text", "newText"),
	  .offset = offsetof(struct edit_file_args, one.new) },
	{ .name = "replace_all",
	  .type = PARAM_BOOL,
	  .hidden = true,
	  .also = PARAM_ALSO("all"),
	  .offset = offsetof(struct edit_file_args, one.all) },
	WORK_PARAM_SANDBOX(struct edit_file_args),
	{ 0 },
};

static const struct param output[] = {
	FIELD_PATH,
	FIELD("replacements", INT, "How many replacements were made."),
	FIELD("size", INT, "Bytes of the file now."),
	FIELD("diff", STRING, "Changed lines before (-) and after (+), as many as fit."),
	FIELD("diff_is_whole", BOOL, "The diff has every change."),
	{ 0 },
};

struct edit_file {
	struct file_work file;
	const struct edit *edits;
	size_t count;
	uint64_t size, modified_ms; /* from the stat before the file was read */
	struct buf text, diff;
	size_t replaced;
};

static void on_written(struct file_work *file, const struct files_reply *reply)
{
	struct edit_file *e = container_of(file, struct edit_file, file);
	bool whole = e->diff.max == DIFF_MAX;
	json_t *structured = json_obj(), *content = json_list();
	char shown[SHOWN];

	json_set(structured, "path", json_str(file->path));
	json_set(structured, "replacements", json_int((json_int_t)e->replaced));
	json_set(structured, "size", json_int((json_int_t)reply->done.total));
	json_set(structured, "diff", json_str_view(buf_view(&e->diff)));
	json_set(structured, "diff_is_whole", json_boolean(whole));
	json_push(content,
	          mcp_text("%zu replacement%s in '%s', which has %" PRIu64 " bytes now\n%s%s",
	                   e->replaced, e->replaced == 1 ? "" : "s",
	                   utf8_escape(view_of(file->path), shown, sizeof shown), reply->done.total,
	                   buf_text(&e->diff), whole ? "" : "... (not all changes are shown)\n"));
	file_report_change(&file->work, file->path, false);
	work_answer(&file->work, content, structured);
}

/* The edit lock does not stop programs in the sandbox: a program may have written the file since it
 * was read. Writing now would undo that program's change, so size and time must still be the
 * same. */
static void on_second_stat(struct file_work *file, const struct files_reply *reply)
{
	struct edit_file *e = container_of(file, struct edit_file, file);
	const struct wire_message request = {
		.type = WIRE_WRITE,
		.write = { .mode = WIRE_WRITE_REPLACE,
		           .perm = 0644,
		           .max = FILE_MAX,
		           .path = view_of(file->path) },
	};
	const struct wire_entry now = file_work_entry(reply);

	if (now.size != e->size || now.modified_ms != e->modified_ms) {
		file_work_fail(
		        file, ERR_INVALID,
		        "'%s' was changed by another program meanwhile, so nothing was edited: "
		        "read it again and try again",
		        UTF8_ESCAPED(view_of(file->path), SHOWN));
		return;
	}
	file_work_request(file, &request, buf_view(&e->text), REPLY_MAX, on_written);
}

static bool is_ascii(struct view text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] > 127)
			return false;
	return true;
}

/* Edits are UTF-8. In a file of another encoding characters other than ASCII would not be found, or
 * would become bytes of a second encoding. */
static bool edits_are_ascii(const struct edit_file *e)
{
	for (size_t i = 0; i < e->count; i++)
		if (!is_ascii(e->edits[i].old) || !is_ascii(e->edits[i].new))
			return false;
	return true;
}

static void fail_not_utf8(struct file_work *file)
{
	file_work_fail(
	        file, ERR_INVALID,
	        "'%s' was not changed: it is not UTF-8 text, and in such a file only an ASCII "
	        "text that it has can be replaced. Read it with encoding \"latin-1\" or "
	        "\"utf-16\" and write all of it with write_file and that encoding, or change "
	        "it with a program",
	        UTF8_ESCAPED(view_of(file->path), SHOWN));
}

static void on_text(struct file_work *file, const struct files_reply *reply)
{
	struct edit_file *e = container_of(file, struct edit_file, file);
	struct view text = reply->bytes.len != 0 ? reply->bytes : view_of("");
	bool is_text = file_is_text(&(struct view){ text.ptr, text.len }, false);
	struct error err;

	if (!is_text && !edits_are_ascii(e)) {
		fail_not_utf8(file);
		return;
	}
	if (edit_text(text, e->edits, e->count, &e->text, &e->diff, &e->replaced, &err) < 0) {
		if (!is_text && err.kind == ERR_NOT_FOUND) {
			fail_not_utf8(file);
			return;
		}
		(void)error_wrap(&err, "'%s' was not changed",
		                 UTF8_ESCAPED(view_of(file->path), SHOWN));
		work_fail(&file->work, &err);
		return;
	}
	if (file_work_reserve(file, e->text.cap))
		file_work_stat(file, file->path, true, on_second_stat);
}

static void on_stat(struct file_work *file, const struct files_reply *reply)
{
	struct edit_file *e = container_of(file, struct edit_file, file);
	struct wire_message request = { .type = WIRE_READ };
	const struct wire_entry entry = file_work_entry(reply);

	e->size = entry.size;
	e->modified_ms = entry.modified_ms;
	if (entry.type == WIRE_FILE_REGULAR && entry.size > FILE_MAX) {
		file_work_fail(file, ERR_LIMIT,
		               "'%s' has %" PRIu64 " bytes, and files of at most %d can be edited: "
		               "change it with a program, for example sed",
		               UTF8_ESCAPED(view_of(file->path), SHOWN), entry.size, FILE_MAX);
		return;
	}
	/* If the file grows between this stat and the read, the second stat shows the new size. */
	request.read = (struct wire_read){
		.unit = WIRE_UNIT_BYTES,
		.count = entry.size > UNSIZED_MAX ? entry.size : UNSIZED_MAX,
		.max = entry.size > UNSIZED_MAX ? entry.size : UNSIZED_MAX,
		.path = view_of(file->path),
	};
	if (file_work_reserve(file, (size_t)request.read.max))
		file_work_request(file, &request, (struct view){ 0 }, (size_t)request.read.max,
		                  on_text);
}

static void on_locked(struct file_work *file)
{
	file_work_stat(file, file->path, true, on_stat);
}

static int lock_file(struct work *work, struct error *err)
{
	struct edit_file *e = container_of(work, struct edit_file, file.work);

	(void)err;
	buf_init(&e->text, FILE_MAX);
	buf_init(&e->diff, DIFF_MAX);
	file_work_lock(&e->file, on_locked);
	return 0;
}

static void free_edit(struct work *work)
{
	struct edit_file *e = container_of(work, struct edit_file, file.work);

	file_work_done(work);
	buf_done(&e->text);
	buf_done(&e->diff);
}

static const struct work_callbacks callbacks = { lock_file, work_cancel, free_edit };

/* Models that know other tools pass one edit without the list around it. */
static int check_edits(const struct edit_file_args *a, struct error *err)
{
	bool has_one = a->one.old.ptr != NULL || a->one.new.ptr != NULL;

	if (a->edits.count == 0 && !has_one)
		return error_set(
		        err, ERR_INVALID,
		        "argument 'edits' is missing: expected [{\"old\": ..., \"new\": ...}]");
	if (a->edits.count != 0 && (has_one || a->one.all))
		return error_set(err, ERR_INVALID,
		                 "arguments 'edits' and 'old_string': give one of them");
	if (has_one && (a->one.old.ptr == NULL || a->one.new.ptr == NULL))
		return error_set(err, ERR_INVALID,
		                 "argument '%s' is missing: an edit has both texts",
		                 a->one.old.ptr == NULL ? "old_string" : "new_string");
	return 0;
}

static int edit_file(struct mcp_call *call, const void *args, struct error *err)
{
	const struct edit_file_args *a = args;
	struct edit_file *e;
	struct work *work;

	if (check_edits(a, err) < 0 || work_check_path(a->path, err) < 0 ||
	    work_start(call, sizeof *e, &callbacks, a->sandbox, &work, err) < 0)
		return -1;
	e = container_of(work, struct edit_file, file.work);
	e->file.path = a->path;
	e->file.is_for_file = true;
	e->edits = a->edits.count != 0 ? a->edits.items : &a->one;
	e->count = a->edits.count != 0 ? a->edits.count : 1;
	return 0;
}

const struct mcp_tool tool_edit_file = {
	.name = "edit_file",
	.title = "Edit a file",
	.help = "Replace exact texts in a file of the sandbox. Each old text must be unique in the "
	        "file unless `all` is true.",
	.more = "The answer shows the changed lines; an error says which edit did not match, how "
	        "often its text was found, and where. Read the file first.",
	.hints = MCP_DESTRUCTIVE,
	.scope = MCP_SCOPE_FILES,
	.params = params,
	.args_size = sizeof(struct edit_file_args),
	.output = output,
	.call = edit_file,
};
