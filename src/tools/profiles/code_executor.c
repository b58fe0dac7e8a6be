/* code_executor.c - the profile code-executor: executors with a working directory, in which code
 * runs and files are kept until the executor is deleted or the server stops. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "kernels/languages.h"
#include "tools/catalogue.h"
#include "tools/files/file_tree.h"
#include "tools/profiles/internal.h"
#include "tools/support/create_work.h"
#include "tools/support/end_work.h"
#include "tools/support/params.h"

enum {
	EXIT_TIMEOUT = 124, /* as of timeout(1) */
	EXIT_FAILED = 1,    /* nothing was run */
	EXIT_UNKNOWN = 127, /* as of a shell that does not find a program */
	TIMEOUT_S = 30,
	TREE_ENTRIES = 5000,
	TREE_MAX = 4 * 1024 * 1024,
	SHOWN = 160,
};

#define IMAGE "python:3-slim"

struct executor_args {
	const char *executor_id, *docker_image, *language, *file_path, *path, *dir_path;
	struct view code, content;
	int64_t timeout;
};

#define A struct executor_args
#define EXECUTOR_ID                                                                                \
	ARG_REQUIRED(A, executor_id, STRING, "From create_executor.", .max = PROFILE_ID_MAX)
static const struct param create_params[] = {
	ARG(A, docker_image, STRING, "The image that programs come from.", .max = 255,
	    .fallback.text = IMAGE),
	ARG(A, timeout, INT, "Seconds until a later run is ended.", .min = 1, .max = 86400,
	    .fallback.integer = TIMEOUT_S),
	{ 0 },
};
static const struct param execute_params[] = {
	EXECUTOR_ID,
	PROFILE_TEXT(A, code, "", .required = true),
	ARG(A, language, STRING, "python, bash, javascript ...", .max = 64,
	    .fallback.text = "python"),
	{ 0 },
};
static const struct param delete_params[] = { EXECUTOR_ID, { 0 } };
static const struct param write_params[] = {
	EXECUTOR_ID,
	PROFILE_PATH(A, file_path, "Relative to /workspace.", .required = true),
	PROFILE_TEXT(A, content, "", .required = true),
	{ 0 },
};
static const struct param read_params[] = {
	EXECUTOR_ID,
	PROFILE_PATH(A, file_path, "Relative to /workspace.", .required = true),
	{ 0 },
};
static const struct param list_params[] = {
	EXECUTOR_ID,
	PROFILE_PATH(A, path, "Relative to /workspace.", .fallback.text = "."),
	{ 0 },
};
static const struct param directory_params[] = {
	EXECUTOR_ID,
	PROFILE_PATH(A, dir_path, "Relative to /workspace.", .required = true),
	{ 0 },
};
#undef A

static const char not_found[] = "Executor not found";

static bool is_execute(const struct mcp_call *call);

/* Code that could not be run has an output and an exit code too: callers read both. */
static void respond_error(struct mcp_call *call, const struct error *why)
{
	json_t *object = profile_result(false, "message", "%s", why->msg);

	if (is_execute(call) && strcmp(why->msg, not_found) != 0) {
		json_set(object, "output", json_str(why->msg));
		json_set(object, "exit_code", json_int(EXIT_FAILED));
	}
	mcp_respond_content(call, NULL, object);
}

static int find_executor(const struct mcp_call *call, const struct executor_args *a,
                         struct sandbox **ret, struct error *err)
{
	if (profile_find_sandbox(call, a->executor_id, ret, err) == 0)
		return 0;
	return err->kind != ERR_NOT_FOUND ? -1 : error_set(err, ERR_NOT_FOUND, "%s", not_found);
}

/* Continues with the tool's work when the executor is awake. */
static int start_in_executor(struct mcp_call *call, const void *args, struct error *err)
{
	struct sandbox *sandbox;

	if (find_executor(call, args, &sandbox, err) < 0)
		return profile_refuse(call, err);
	profile_work_start(call, sandbox, profile_tool_begin(call), args);
	return 0;
}

/* --- executors --------------------------------------------------------------------------- */

static json_t *describe_executor(const struct mcp_call *call, const struct sandbox_row *row,
                                 const void *args)
{
	const struct executor_args *a = args;
	char note[PROFILE_IMAGE_NOTE_SIZE];
	json_t *object = json_obj();

	json_set(object, "executor_id", json_str(row->spec.id));
	json_set(object, "message",
	         json_format("Executor created; runs end after %s seconds.%s",
	                     sandbox_label(row, "timeout"),
	                     profile_image_note(call, a->docker_image, IMAGE, note)));
	return object;
}

static int create_executor(struct mcp_call *call, const void *args, struct error *err)
{
	const struct executor_args *a = args;
	struct sandbox_options options = profile_options(call);
	char labels[64] = "";

	(void)snprintf(labels, sizeof labels - 1, "profile=code-executor%ctimeout=%" PRId64, '\0',
	               a->timeout);
	options.labels = labels;
	options.temporary = true;
	if (profile_set_image(call, a->docker_image, IMAGE, &options.spec, err) < 0 ||
	    create_work_start(call, &options, describe_executor, a, err) < 0)
		return profile_refuse(call, err);
	return 0;
}

static int delete_executor(struct mcp_call *call, const void *args, struct error *err)
{
	struct sandbox *sandbox;

	if (find_executor(call, args, &sandbox, err) < 0)
		return profile_refuse(call, err);
	end_work_start_in(call, sandbox, sandbox_delete, NULL,
	                  profile_result(true, "message", "Executor deleted"));
	return 0;
}

/* --- code -------------------------------------------------------------------------------- */

static uint32_t timeout_of(const struct profile_work *w)
{
	const char *text = sandbox_label(sandbox_row(w->file.work.sandbox), "timeout");
	long seconds = text != NULL ? strtol(text, NULL, 10) : TIMEOUT_S;

	return seconds > 0 && seconds <= 86400 ? (uint32_t)seconds : TIMEOUT_S;
}

static void answer_run(struct profile_work *w, struct view output, int exit_code)
{
	json_t *object = json_obj();

	json_set(object, "output", json_str_view(output));
	json_set(object, "exit_code", json_int(exit_code));
	json_set(object, "success", json_boolean(exit_code == 0));
	profile_answer(w, object);
}

static void on_executed(struct profile_work *w, const struct profile_run *run)
{
	AUTO_BUF struct buf output;

	buf_init(&output, run->out.len + run->errors.len + SHOWN);
	buf_put(&output, run->out);
	if (run->errors.len != 0) {
		buf_putf(&output, "\n--- stderr ---\n");
		buf_put(&output, run->errors);
	}
	if (run->timed_out)
		buf_putf(&output, "%sExecution timed out after %" PRIu32 " seconds",
		         output.len != 0 ? "\n" : "", timeout_of(w));
	answer_run(w, buf_view(&output), run->timed_out ? EXIT_TIMEOUT : run->exit_code);
}

static void begin_execute(struct profile_work *w)
{
	const struct executor_args *a = w->args;
	struct process_options options = { .code = a->code, .deadline_ms = timeout_of(w) * 1000 };
	struct error err;

	if (profile_find_language(a->language, &options.language, &err) < 0)
		answer_run(w, view_of(err.msg), EXIT_UNKNOWN);
	else
		profile_run(w, &options, on_executed);
}

/* --- files ------------------------------------------------------------------------------- */

/* Sets file.path, or answers with the error. */
static bool take_path(struct profile_work *w, const char *path)
{
	struct error err;

	if (profile_set_path(w, SPEC_WORKSPACE, path, &err) == 0)
		return true;
	work_fail(&w->file.work, &err);
	return false;
}

static void on_written(struct file_work *file, const struct files_reply *reply)
{
	struct profile_work *w = container_of(file, struct profile_work, file);
	const struct executor_args *a = w->args;

	(void)reply;
	file_report_change(&file->work, file->path, false);
	profile_answer(w, profile_result(true, "message", "File written: %.900s", a->file_path));
}

static void begin_write(struct profile_work *w)
{
	const struct executor_args *a = w->args;

	w->file.is_for_file = true;
	if (take_path(w, a->file_path))
		file_work_write(&w->file, w->file.path, a->content, on_written);
}

static void on_read(struct file_work *file, const struct files_reply *reply)
{
	struct profile_work *w = container_of(file, struct profile_work, file);
	json_t *object = json_obj();

	json_set(object, "success", json_true());
	json_set(object, "content", json_str_view(reply->bytes));
	profile_answer(w, object);
}

static void begin_read(struct profile_work *w)
{
	const struct executor_args *a = w->args;

	if (take_path(w, a->file_path))
		profile_read(w, on_read);
}

static void on_listed(struct profile_work *w, const struct profile_run *run)
{
	json_t *object = json_obj();
	const bool success = run->exit_code == 0 && !run->timed_out;

	json_set(object, "success", json_boolean(success));
	if (success)
		json_set(object, "output", json_str_view(run->out));
	else
		json_set(object, "message", json_str_view(view_trim(run->errors)));
	profile_answer(w, object);
}

/* The arguments go to ls(1) without a shell. */
static void begin_list(struct profile_work *w)
{
	const struct executor_args *a = w->args;

	if (take_path(w, a->path))
		profile_run(
		        w,
		        &(struct process_options){
		                .argv = (const char *const[]){ "ls", "-la", "--", a->path, NULL },
		                .deadline_ms = timeout_of(w) * 1000 },
		        on_listed);
}

static void on_directory(struct file_work *file, const struct files_reply *reply)
{
	struct profile_work *w = container_of(file, struct profile_work, file);
	const struct executor_args *a = w->args;

	(void)reply;
	file_report_change(&file->work, file->path, false);
	profile_answer(w,
	               profile_result(true, "message", "Directory created: %.900s", a->dir_path));
}

static void begin_directory(struct profile_work *w)
{
	const struct executor_args *a = w->args;

	if (take_path(w, a->dir_path))
		file_work_make_directory(&w->file, w->file.path, on_directory);
}

/* The directory relative to /workspace, "" for /workspace itself. A directory elsewhere stays
 * absolute. The result points into `out`, a copy of the path. */
static const char *relative_root(char *out)
{
	const size_t len = strlen(SPEC_WORKSPACE);
	char *end = out + strlen(out);

	if (strncmp(out, SPEC_WORKSPACE, len) == 0 && (out[len] == '/' || out[len] == '\0'))
		out += len + (out[len] == '/');
	while (strncmp(out, "./", 2) == 0)
		out += 2;
	while (end > out + 1 && end[-1] == '/')
		*--end = '\0';
	return strcmp(out, ".") == 0 ? "" : out;
}

static void draw_tree(const struct wire_entry *entries, size_t count, const char *root,
                      struct buf *out)
{
	struct file_tree tree;

	buf_putf(out, "%s/\n", root[0] == '\0' ? "workspace" : root);
	file_tree_init(&tree, entries, count);
	for (size_t i = 0; i < count; i++) {
		char prefix[FILE_TREE_PREFIX_SIZE];

		buf_putf(out, "%s%s%s\n", file_tree_prefix(&tree, i, prefix),
		         UTF8_ESCAPED(file_tree_name(&entries[i]), 1100),
		         entries[i].type == WIRE_FILE_DIRECTORY ? "/" : "");
	}
	file_tree_done(&tree);
}

/* Paths are those that read_file takes, so they are relative to /workspace. */
static json_t *list_files(const struct wire_entry *entries, size_t count, const char *root)
{
	json_t *files = json_list();

	for (size_t i = 0; i < count; i++)
		if (entries[i].type != WIRE_FILE_DIRECTORY)
			json_push(files, root[0] == '\0' ? json_str_view(entries[i].path)
			                                 : json_format("%s/%.*s", root,
			                                               (int)entries[i].path.len,
			                                               entries[i].path.ptr));
	return files;
}

static void on_tree(struct file_work *file, const struct files_reply *reply)
{
	struct profile_work *w = container_of(file, struct profile_work, file);
	struct wire_entry *entries = mem_array(TREE_ENTRIES, sizeof *entries);
	const char *root = relative_root(w->path);
	struct view rest = reply->bytes;
	json_t *object = json_obj();
	AUTO_BUF struct buf text;
	size_t count = 0;

	while (count < TREE_ENTRIES && files_next_entry(&rest, &entries[count]))
		count++;
	buf_init(&text, TREE_MAX);
	draw_tree(entries, count, root, &text);
	json_set(object, "success", json_true());
	json_set(object, "tree", json_str_view(view_trim(buf_view(&text))));
	json_set(object, "files", list_files(entries, count, root));
	if ((reply->done.flags & WIRE_DONE_MORE) != 0)
		json_set(object, "message",
		         json_format("Only %zu entries and %d levels of directories are shown: for "
		                     "others pass a directory as path",
		                     count, FILE_TREE_DEPTH_MAX));
	free(entries);
	profile_answer(w, object);
}

static void begin_tree(struct profile_work *w)
{
	const struct executor_args *a = w->args;
	struct wire_message request = { .type = WIRE_TREE };

	if (!take_path(w, a->path) || !file_work_reserve(&w->file, TREE_MAX))
		return;
	request.tree = (struct wire_tree){ .depth = FILE_TREE_DEPTH_MAX,
		                           .limit = TREE_ENTRIES,
		                           .path = view_of(w->file.path) };
	file_work_request(&w->file, &request, (struct view){ 0 }, TREE_MAX, on_tree);
}

/* --- the records ------------------------------------------------------------------------- */

#define TOOL(name_, handler_, begin_, ...)                                                         \
	PROFILE_TOOL(struct executor_args, name_, handler_, begin_, __VA_ARGS__)
TOOL(create_executor, create_executor, NULL, create_params, MCP_SCOPE_RUN, 0,
     "Create an executor: an isolated place with files and a working directory. Answers its id.");
TOOL(execute_code, start_in_executor, begin_execute, execute_params, MCP_SCOPE_RUN, MCP_DESTRUCTIVE,
     "Run code in an executor. It starts in /workspace.");
TOOL(delete_executor, delete_executor, NULL, delete_params, MCP_SCOPE_RUN, MCP_DESTRUCTIVE,
     "Delete an executor with its files.");
TOOL(write_file, start_in_executor, begin_write, write_params, MCP_SCOPE_FILES, MCP_DESTRUCTIVE,
     "Write a file of an executor. Missing directories are created.");
TOOL(read_file, start_in_executor, begin_read, read_params, MCP_SCOPE_FILES, MCP_READ_ONLY,
     "Read a file of an executor.");
TOOL(list_directory, start_in_executor, begin_list, list_params, MCP_SCOPE_FILES, MCP_READ_ONLY,
     "List a directory of an executor, as ls -la.");
TOOL(create_directory, start_in_executor, begin_directory, directory_params, MCP_SCOPE_FILES, 0,
     "Create a directory of an executor. Missing directories above it are created.");
TOOL(project_structure, start_in_executor, begin_tree, list_params, MCP_SCOPE_FILES, MCP_READ_ONLY,
     "Draw the files below a directory of an executor as a tree, and list them.");
#undef TOOL

static bool is_execute(const struct mcp_call *call)
{
	return mcp_call_record(call) == &record_execute_code.record;
}

static const struct mcp_tool *const tools[] = {
	&record_create_executor.record,
	&record_execute_code.record,
	&record_delete_executor.record,
	&record_write_file.record,
	&record_read_file.record,
	&record_list_directory.record,
	&record_create_directory.record,
	&record_project_structure.record,
	NULL,
};

static int read_status(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	char text[600];

	(void)args;
	(void)err;
	if (context->manager != NULL)
		(void)snprintf(text, sizeof text, "Docker Code Executor is running");
	else
		(void)snprintf(text, sizeof text,
		               "Docker Code Executor is running, but cannot create executors: %s",
		               context->why_not);
	mcp_respond_text(call, "text/plain", view_of(text));
	return 0;
}

static const struct mcp_resource resource_status = {
	.uri = "system://status",
	.name = "status",
	.title = "Status",
	.help = "Whether the server runs.",
	.mime_type = "text/plain",
	.read = read_status,
};

static const struct mcp_resource *const resources[] = { &resource_status, NULL };

static const struct profile_setting settings[] = { { "images", NULL, IMAGE }, { 0 } };

const struct profile profile_code_executor = {
	.name = "code-executor",
	.server = "Docker Code Executor",
	.title = "Docker Code Executor",
	.help = "Runs code in isolated executors.",
	.instructions = "Call create_executor first. Its id is the first argument of every other "
	                "tool. Code and paths begin in /workspace; there is no network. Delete the "
	                "executor when the work is done.",
	.tools = tools,
	.resources = resources,
	.settings = settings,
	.memory = SPEC_MIB(256),
	.cpu = 1000,
	.no_network = PROFILE_NO_PACKAGES,
	.respond_error = respond_error,
};
