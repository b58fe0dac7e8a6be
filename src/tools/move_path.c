#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "sandbox/copy/copy.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/files/file_work.h"
#include "tools/support/params.h"

enum { SHOWN = 160, REPLY_MAX = 1024 };

struct move_path_args {
	const char *path, *target, *to_sandbox, *sandbox;
	bool copy, overwrite;
};

static const struct param params[] = {
	ARG(struct move_path_args, path, STRING, "", .required = true,
	    .more = "File, link or directory. Absolute, or relative to /workspace.",
	    .also = PARAM_ALSO("file_path", "source", "from"), .min = 1, .max = TOOL_PATH_MAX),
	ARG(struct move_path_args, target, STRING, "The new path, or a directory.",
	    .required = true,
	    .more = "In a directory the name stays. Missing directories are created.",
	    .also = PARAM_ALSO("destination", "new_path", "to"), .min = 1, .max = TOOL_PATH_MAX),
	ARG(struct move_path_args, copy, BOOL, "Keep the source."),
	ARG(struct move_path_args, to_sandbox, STRING, "Copy it into this sandbox.", .max = 64,
	    .complete = work_complete_sandbox),
	ARG(struct move_path_args, overwrite, BOOL, "", .more = "Replace an existing file."),
	WORK_PARAM_SANDBOX(struct move_path_args),
	{ 0 },
};

static const struct param output[] = {
	FIELD_PATH,
	FIELD("target", STRING, "The new path."),
	FIELD_OPTIONAL("entries", INT, "Files, directories and links that were copied."),
	FIELD_OPTIONAL("bytes", INT, "Bytes in the files."),
	FIELD_OPTIONAL("skipped", INT, "Entries that could not be copied."),
	FIELD_OPTIONAL("first_skipped", STRING, "The first of these."),
	{ 0 },
};

struct move_path {
	struct file_work file;
	const struct move_path_args *args;
	char *source;          /* without slashes at the end; file.path points here */
	char *target;          /* the new path itself */
	struct sandbox *other; /* where a copy goes; held; NULL: the same sandbox */
	struct copy *copy;     /* NULL: not under way */
	bool is_waking;        /* sandbox_wake() of `other` has not called back yet */
	bool is_moving;        /* the source is removed after the copy */
	bool made_parents;
	uint64_t entries, bytes, skipped; /* of the copy */
	char first_skipped[SHOWN];        /* printable */
};

/* --- the answer ----------------------------------------------------------------------------- */

static void answer_move(struct move_path *m)
{
	const bool is_copy = m->args->copy || m->other != NULL;
	json_t *structured = json_obj(), *content = json_list();
	char from[SHOWN], to[SHOWN];

	(void)utf8_escape(view_of(m->source), from, sizeof from);
	(void)utf8_escape(view_of(m->target), to, sizeof to);
	json_set(structured, "path", json_str(m->source));
	json_set(structured, "target", json_str(m->target));
	if (is_copy) {
		json_set(structured, "entries", json_int((json_int_t)m->entries));
		json_set(structured, "bytes", json_int((json_int_t)m->bytes));
		json_push(content,
		          mcp_text("copied '%s' to '%s': %" PRIu64 " %s, %" PRIu64 " bytes", from,
		                   to, m->entries, m->entries == 1 ? "entry" : "entries",
		                   m->bytes));
		if (m->skipped != 0) {
			json_set(structured, "skipped", json_int((json_int_t)m->skipped));
			json_set(structured, "first_skipped", json_str(m->first_skipped));
			json_push(content,
			          mcp_text("[" COPY_SKIPPED "]", m->skipped, m->first_skipped));
		}
	} else {
		json_push(content, mcp_text("moved '%s' to '%s'", from, to));
		file_report_change(&m->file.work, m->source, true);
	}
	if (m->other == NULL)
		file_report_change(&m->file.work, m->target, true);
	work_answer(&m->file.work, content, structured);
}

/* --- copying -------------------------------------------------------------------------------- */

static void on_removed(struct file_work *file, const struct files_reply *reply)
{
	(void)reply;
	answer_move(container_of(file, struct move_path, file));
}

static void on_copied(void *ctx, const struct copy_result *result, const struct error *why)
{
	struct move_path *m = ctx;
	const struct wire_message request = {
		.type = WIRE_REMOVE,
		.remove = { .flags = WIRE_RECURSIVE, .path = view_of(m->source) },
	};

	m->copy = NULL;
	if (why != NULL) {
		work_fail(&m->file.work, why);
		return;
	}
	m->entries = result->moved.entries;
	m->bytes = result->moved.bytes;
	m->skipped = result->moved.skipped;
	(void)utf8_escape(view_of(result->moved.first_skipped), m->first_skipped,
	                  sizeof m->first_skipped);
	free(m->target);
	m->target = mem_dup(result->target);
	/* The source stays if a part of it could not be copied. */
	if (m->is_moving && result->moved.skipped == 0)
		file_work_request(&m->file, &request, (struct view){ 0 }, REPLY_MAX, on_removed);
	else if (m->is_moving)
		file_work_fail(&m->file, ERR_INVALID,
		               "'%s' was copied to another file system, but stays, because %" PRIu64
		               " entries could not be copied: the first is '%s'",
		               m->source, result->moved.skipped, result->moved.first_skipped);
	else
		answer_move(m);
}

static int start_copy(struct move_path *m, struct error *err)
{
	static const struct copy_events events = { .ended = on_copied };
	struct sandbox *own = m->file.work.sandbox;
	const struct copy_options options = {
		.from = copy_sandbox_endpoint(own, m->source, "path"),
		.to = copy_sandbox_endpoint(m->other != NULL ? m->other : own, m->target, "target"),
		.name = copy_last_name(m->source),
		.into = true,
		.overwrite = m->args->overwrite,
		.max_bytes = m->file.work.context->copy_bytes,
		.max_count = COPY_ENTRIES_MAX,
	};

	return copy_start(&options, &events, m, &m->copy, err);
}

static void start_copy_or_fail(struct move_path *m)
{
	struct error err;

	if (start_copy(m, &err) < 0)
		work_fail(&m->file.work, &err);
}

static void on_other_awake(void *ctx, const struct error *why)
{
	struct move_path *m = ctx;

	m->is_waking = false;
	if (m->file.work.is_cancelled)
		work_cancel(&m->file.work);
	else if (why != NULL)
		work_fail(&m->file.work, why);
	else
		start_copy_or_fail(m);
}

/* --- moving --------------------------------------------------------------------------------- */

static void on_renamed(struct file_work *file, const struct files_reply *reply);
static void on_not_renamed(struct file_work *file, const struct error *why);

static void request_rename(struct move_path *m)
{
	const struct wire_message request = {
		.type = WIRE_RENAME,
		.rename = { .flags = m->args->overwrite ? WIRE_RENAME_REPLACE : 0,
		            .from = view_of(m->source),
		            .to = view_of(m->target) },
	};

	file_work_request_or(&m->file, &request, (struct view){ 0 }, REPLY_MAX, on_renamed,
	                     on_not_renamed);
}

static void on_renamed(struct file_work *file, const struct files_reply *reply)
{
	(void)reply;
	answer_move(container_of(file, struct move_path, file));
}

static void on_parents(struct file_work *file, const struct files_reply *reply)
{
	(void)reply;
	request_rename(container_of(file, struct move_path, file));
}

/* rename(2) does not say which of the two directories it may not change. */
static void fail_permission(struct move_path *m)
{
	const char *home = m->file.home != NULL ? m->file.home : SPEC_WORKSPACE;
	char to[SHOWN];

	file_work_fail(&m->file, ERR_INVALID,
	               "the sandbox's user may not move '%s' to '%s': files below %s and /tmp may "
	               "be moved, and copy: true leaves the source as it is",
	               UTF8_ESCAPED(view_of(m->source), SHOWN),
	               utf8_escape(view_of(m->target), to, sizeof to), home);
}

/* The source exists, so ERR_NOT_FOUND means that the target's directory does not. */
static void on_not_renamed(struct file_work *file, const struct error *why)
{
	struct move_path *m = container_of(file, struct move_path, file);
	const char *slash = strrchr(m->target, '/');

	if (why->kind == ERR_NOT_FOUND && !m->made_parents && slash != NULL && slash != m->target) {
		AUTO_FREE char *above = mem_format("%.*s", (int)(slash - m->target), m->target);

		m->made_parents = true;
		file_work_make_directory(file, above, on_parents);
	} else if (why->errnum == EXDEV) {
		m->is_moving = true;
		start_copy_or_fail(m);
	} else if (why->errnum == EEXIST || why->errnum == ENOTEMPTY) {
		file_work_fail(file, ERR_INVALID, "'%s' exists already: %s",
		               UTF8_ESCAPED(view_of(m->target), SHOWN),
		               m->args->overwrite ? "delete it first"
		                                  : "set overwrite to true to replace it");
	} else if (why->errnum == EACCES || why->errnum == EPERM || why->errnum == EROFS) {
		fail_permission(m);
	} else {
		work_fail(&file->work, why);
	}
}

/* A target that is a directory, or ends in a slash, gets the source under its name. */
static void choose_target(struct move_path *m, bool is_directory)
{
	size_t len = strlen(m->target);
	char *below;

	is_directory |= m->target[len - 1] == '/';
	while (len > 1 && m->target[len - 1] == '/')
		m->target[--len] = '\0';
	if (is_directory) {
		below = mem_format("%s%s%s", m->target, m->target[len - 1] == '/' ? "" : "/",
		                   copy_last_name(m->source));
		free(m->target);
		m->target = below;
	}
	request_rename(m);
}

static void on_target(struct file_work *file, const struct files_reply *reply)
{
	choose_target(container_of(file, struct move_path, file),
	              file_work_entry(reply).type == WIRE_FILE_DIRECTORY);
}

static void on_no_target(struct file_work *file, const struct error *why)
{
	(void)why; /* if the error is not a missing file, RENAME fails with the same error */
	choose_target(container_of(file, struct move_path, file), false);
}

static void on_source(struct file_work *file, const struct files_reply *reply)
{
	struct move_path *m = container_of(file, struct move_path, file);

	(void)reply;
	if (m->other == NULL && !m->args->copy) {
		file_work_stat_or(file, m->target, true, on_target, on_no_target);
	} else if (m->other == NULL) {
		start_copy_or_fail(m);
	} else {
		m->is_waking = true;
		sandbox_wake(m->other, on_other_awake, m);
	}
}

/* --- the start ------------------------------------------------------------------------------ */

static int start_move(struct work *work, struct error *err)
{
	struct move_path *m = container_of(work, struct move_path, file.work);
	const size_t len = strlen(m->source);

	/* A copy of a directory into itself would find the files it creates among those to copy,
	 * without end. */
	if (m->args->to_sandbox == NULL && strncmp(m->target, m->source, len) == 0 &&
	    m->target[len] == '/')
		return error_set(err, ERR_INVALID, "target: nothing can be put into itself");
	if (m->args->to_sandbox != NULL) {
		if (tools_find_sandbox(work->context, mcp_call_owner(work->call),
		                       m->args->to_sandbox, &m->other, err) < 0)
			return -1;
		sandbox_hold(m->other);
	}
	file_work_stat(&m->file, m->source, false, on_source);
	return 0;
}

/* sandbox_wake() cannot be cancelled: on_other_awake() answers a call that was cancelled while the
 * other sandbox wakes. */
static void cancel_move(struct work *work)
{
	if (!container_of(work, struct move_path, file.work)->is_waking)
		work_cancel(work);
}

static void free_move(struct work *work)
{
	struct move_path *m = container_of(work, struct move_path, file.work);

	file_work_done(work);
	copy_cancel(TAKE_PTR(m->copy));
	if (m->other != NULL)
		sandbox_release(m->other);
	free(m->source);
	free(m->target);
}

static const struct work_callbacks callbacks = { start_move, cancel_move, free_move };

static int move_path(struct mcp_call *call, const void *args, struct error *err)
{
	const struct move_path_args *a = args;
	struct move_path *m;
	struct work *work;

	if (work_check_path(a->path, err) < 0 || work_check_path(a->target, err) < 0 ||
	    work_start(call, sizeof *m, &callbacks, a->sandbox, &work, err) < 0)
		return -1;
	m = container_of(work, struct move_path, file.work);
	m->args = a;
	m->source = mem_dup(a->path);
	for (size_t len = strlen(m->source); len > 1 && m->source[len - 1] == '/';)
		m->source[--len] = '\0';
	m->target = mem_dup(a->target);
	m->file.path = m->source;
	return 0;
}

const struct mcp_tool tool_move_path = {
	.name = "move_path",
	.title = "Move or copy a file or directory",
	.help = "Move, rename or copy a file or directory of the sandbox.",
	.more = "An existing directory as the target gets it under its name, as with mv and cp.",
	.hints = MCP_DESTRUCTIVE,
	.scope = MCP_SCOPE_FILES,
	.params = params,
	.args_size = sizeof(struct move_path_args),
	.output = output,
	.call = move_path,
};
