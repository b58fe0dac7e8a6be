#include <inttypes.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/support/edit_text.h"
#include "tools/support/file_work.h"
#include "tools/support/params.h"

enum {
	FILE_MAX = 10 * 1024 * 1024,
	EDITS_MAX = 100,
	ODD_MAX = 64 * 1024, /* of what is no file and tells no size */
	TEXT_MAX = 1024 * 1024,
	DIFF_MAX = 6000,
	SHOWN = 160,
};

struct edit_file_args {
	const char *path, *sandbox;
	struct param_records edits; /* struct edit */
};

static const struct param edit_fields[] = {
	{ .name = "old",
	  .type = PARAM_TEXT,
	  .required = true,
	  .max = TEXT_MAX,
	  .offset = offsetof(struct edit, old),
	  .help = "Text that is there now, exactly, with its white space and without line "
	          "numbers." },
	{ .name = "new",
	  .type = PARAM_TEXT,
	  .required = true,
	  .max = TEXT_MAX,
	  .offset = offsetof(struct edit, new),
	  .help = "What to put in its place; \"\" removes it." },
	{ .name = "all",
	  .type = PARAM_BOOL,
	  .offset = offsetof(struct edit, all),
	  .help = "Replace it wherever it is found, not just the only one." },
	{ 0 },
};

static const struct param params[] = {
	ARG_PATH(struct edit_file_args, path, "The file, which must exist.", .required = true),
	{ .name = "edits",
	  .type = PARAM_RECORDS,
	  .required = true,
	  .min = 1,
	  .max = EDITS_MAX,
	  .fields = edit_fields,
	  .record_size = sizeof(struct edit),
	  .offset = offsetof(struct edit_file_args, edits),
	  .help = "Made one after the other; if one of them does not match, none is made." },
	WORK_PARAM_SANDBOX(struct edit_file_args, sandbox),
	{ 0 },
};

static const struct param output[] = {
	{ .name = "path", .type = PARAM_STRING, .required = true, .help = "As it was given." },
	{ .name = "replacements", .type = PARAM_INT, .required = true, .help = "How many." },
	{ .name = "size", .type = PARAM_INT, .required = true, .help = "Of the file now." },
	{ .name = "diff",
	  .type = PARAM_STRING,
	  .required = true,
	  .help = "Lines before (-) and after (+), as many as fit." },
	{ .name = "diff_is_whole",
	  .type = PARAM_BOOL,
	  .required = true,
	  .help = "Every change is in it." },
	{ 0 },
};

struct editing {
	struct file_work file;
	const struct edit_file_args *args;
	uint64_t size, modified_ms; /* when it was looked at */
	struct buf text, diff;
	size_t replaced;
};

static void on_written(struct file_work *file, const struct files_reply *answer,
                       const struct error *why)
{
	struct editing *e = container_of(file, struct editing, file);
	bool whole = e->diff.max == DIFF_MAX;
	json_t *structured, *content;
	char shown[SHOWN];

	if (why != NULL) {
		file_work_fail_path(file, why);
		return;
	}
	structured = json_obj();
	content = json_list();
	json_set(structured, "path", json_str(file->path));
	json_set(structured, "replacements", json_int((json_int_t)e->replaced));
	json_set(structured, "size", json_int((json_int_t)answer->done.total));
	json_set(structured, "diff", json_str_view(buf_view(&e->diff)));
	json_set(structured, "diff_is_whole", json_boolean(whole));
	json_push(content,
	          mcp_text("%zu replacement%s in '%s', which has %" PRIu64 " bytes now\n%s%s",
	                   e->replaced, e->replaced == 1 ? "" : "s",
	                   utf8_escape(view_of(file->path), shown, sizeof shown),
	                   answer->done.total, buf_text(&e->diff),
	                   whole ? "" : "... (not all changes are shown)\n"));
	file_report_change(&file->work, file->path, false);
	work_answer(&file->work, content, structured);
}

/* Between reading and writing others may have written: theirs is not to be lost. */
static void on_second_look(struct file_work *file, const struct files_reply *answer,
                           const struct error *why)
{
	struct editing *e = container_of(file, struct editing, file);
	const struct wire_message request = {
		.type = WIRE_WRITE,
		.write = { .mode = WIRE_WRITE_REPLACE,
		           .perm = 0644,
		           .max = FILE_MAX,
		           .path = view_of(file->path) },
	};
	struct wire_entry now;
	char shown[SHOWN];

	if (why != NULL) {
		file_work_fail_path(file, why);
		return;
	}
	now = file_work_entry(answer);
	if (now.size != e->size || now.modified_ms != e->modified_ms) {
		file_work_fail(
		        file, ERR_INVALID,
		        "'%s' was changed by somebody else meanwhile, so nothing was edited: "
		        "read it again and try again",
		        utf8_escape(view_of(file->path), shown, sizeof shown));
		return;
	}
	file_work_request(file, &request, buf_view(&e->text), 1024, on_written);
}

static void on_text(struct file_work *file, const struct files_reply *answer,
                    const struct error *why)
{
	struct editing *e = container_of(file, struct editing, file);
	struct view text;
	struct error err;
	char shown[SHOWN];

	if (why != NULL) {
		file_work_fail_path(file, why);
		return;
	}
	text = answer->bytes.len != 0 ? answer->bytes : view_of("");
	if (edit_text(text, e->args->edits.items, e->args->edits.count, &e->text, &e->diff,
	              &e->replaced, &err) < 0) {
		(void)error_wrap(&err, "'%s' was not changed",
		                 utf8_escape(view_of(file->path), shown, sizeof shown));
		work_fail(&file->work, &err);
		return;
	}
	if (file_work_reserve(file, e->text.cap))
		file_work_stat(file, file->path, true, on_second_look);
}

static void on_look(struct file_work *file, const struct files_reply *answer,
                    const struct error *why)
{
	struct editing *e = container_of(file, struct editing, file);
	struct wire_message request = { .type = WIRE_READ };
	struct wire_entry entry;
	char shown[SHOWN];

	if (why != NULL) {
		file_work_fail_path(file, why);
		return;
	}
	entry = file_work_entry(answer);
	e->size = entry.size;
	e->modified_ms = entry.modified_ms;
	if (entry.type == WIRE_FILE_REGULAR && entry.size > FILE_MAX) {
		file_work_fail(file, ERR_LIMIT,
		               "'%s' has %" PRIu64 " bytes, and files of at most %d can be edited: "
		               "change it with a program, for example sed",
		               utf8_escape(view_of(file->path), shown, sizeof shown), entry.size,
		               FILE_MAX);
		return;
	}
	/* If it has grown meanwhile, the second look sees it. */
	request.read = (struct wire_read){
		.unit = WIRE_UNIT_BYTES,
		.count = entry.size > ODD_MAX ? entry.size : ODD_MAX,
		.max = entry.size > ODD_MAX ? entry.size : ODD_MAX,
		.path = view_of(file->path),
	};
	if (file_work_reserve(file, (size_t)request.read.max))
		file_work_request(file, &request, (struct view){ 0 }, (size_t)request.read.max,
		                  on_text);
}

static void begin(struct file_work *file)
{
	file_work_stat(file, file->path, true, on_look);
}

static int start(struct work *work, struct error *err)
{
	struct editing *e = container_of(work, struct editing, file.work);

	(void)err;
	buf_init(&e->text, FILE_MAX);
	buf_init(&e->diff, DIFF_MAX);
	file_work_lock(&e->file, begin);
	return 0;
}

static void done(struct work *work)
{
	struct editing *e = container_of(work, struct editing, file.work);

	file_work_done(work);
	buf_done(&e->text);
	buf_done(&e->diff);
}

static const struct work_callbacks calls = { start, file_work_cancel, done };

static int edit_file(struct mcp_call *call, const void *args, struct error *err)
{
	const struct edit_file_args *a = args;
	struct editing *e;
	struct work *work;

	if (work_check_path(a->path, err) < 0 ||
	    work_start(call, sizeof *e, &calls, a->sandbox, &work, err) < 0)
		return -1;
	e = container_of(work, struct editing, file.work);
	e->file.path = a->path;
	e->file.is_for_file = true;
	e->args = a;
	return 0;
}

const struct mcp_tool tool_edit_file = {
	.name = "edit_file",
	.title = "Edit a file",
	.help = "Change parts of a text file in the sandbox: each edit replaces one exact text by "
	        "another. All edits are made or none; the answer shows the changed lines, an error "
	        "says which edit did not match, how often it was found, and where. An old text "
	        "must "
	        "be unique in the file unless all is true. Read the file first.",
	.hints = MCP_DESTRUCTIVE,
	.params = params,
	.args_size = sizeof(struct edit_file_args),
	.output = output,
	.call = edit_file,
};
