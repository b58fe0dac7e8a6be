/* execution_client.c - the profile execution-client: one sandbox for each user, made at the first
 * use and kept between calls. The prompt is in execution_prompt.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "sandbox/manager.h"
#include "tools/catalogue.h"
#include "tools/profiles/internal.h"
#include "tools/support/end_work.h"
#include "tools/support/params.h"

enum {
	SHOWN = 160,
	TIMEOUT_MAX_S = 86400,
	CLEANUP_MAX = 1000,
	ALL_LINES = -1, /* below the parameter's minimum, so the schema has no default */
};

#define PROFILE_LABEL "profile=execution-client"

struct execution_args {
	const char *command, *user_id, *file_path, *module_path, *function_name;
	struct view content;
	double timeout;
	int64_t offset, line_count;
};

#define A       struct execution_args
#define USER_ID PROFILE_ID(A, user_id, .more = "Another user has another sandbox.")
static const struct param bash_params[] = {
	ARG_REQUIRED(A, command, STRING, "", .max = PROFILE_TEXT_MAX),
	ARG(A, timeout, NUMBER, "Seconds.", .max = TIMEOUT_MAX_S, .fallback.number = 30),
	USER_ID,
	{ 0 },
};
static const struct param read_params[] = {
	PROFILE_PATH(A, file_path, "Absolute.", .required = true),
	ARG(A, offset, INT, "The first line to read, from 0.", .max = INT64_MAX - 1,
	    .shows_zero = true),
	ARG(A, line_count, INT, "How many lines; without it all.", .max = INT64_MAX - 1,
	    .fallback.integer = ALL_LINES),
	USER_ID,
	{ 0 },
};
static const struct param write_params[] = {
	PROFILE_PATH(A, file_path, "Absolute.", .required = true),
	PROFILE_TEXT(A, content, "", .required = true),
	USER_ID,
	{ 0 },
};
static const struct param docstring_params[] = {
	ARG(A, module_path, STRING, "A module below /tools: \"tools.example\".", .min = 1,
	    .max = 200),
	PROFILE_PATH(A, file_path, "Or the file of the module."),
	ARG_REQUIRED(A, function_name, STRING, "", .min = 1, .max = 200),
	USER_ID,
	{ 0 },
};
static const struct param user_params[] = { USER_ID, { 0 } };
#undef USER_ID
#undef A

/* --- users ------------------------------------------------------------------------------- */

/* The name of a user's sandbox. Names of sandboxes have letters, digits and "._-": every other byte
 * of the user's id, and the escape character itself, becomes "_XX", so two users never share a
 * name. */
static int user_sandbox_name(const char *user, char out[SANDBOX_NAME_MAX + 1], struct error *err)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	                            ".-";
	size_t used = (size_t)snprintf(out, SANDBOX_NAME_MAX + 1, "%s",
	                               user != NULL && user[0] != '\0' ? "user-"
	                                                               : "execution-client");

	for (; user != NULL && *user != '\0'; user++) {
		const bool is_plain = strchr(plain, *user) != NULL;

		if (used + (is_plain ? 1 : 3) > SANDBOX_NAME_MAX)
			return error_set(err, ERR_LIMIT,
			                 "argument 'user_id' is too long: use at most %zu letters, "
			                 "digits, '.' or '-'",
			                 SANDBOX_NAME_MAX - strlen("user-"));
		used += (size_t)snprintf(out + used, SANDBOX_NAME_MAX + 1 - used,
		                         is_plain ? "%c" : "_%02X", (unsigned char)*user);
	}
	return 0;
}

static int find_user_sandbox(const struct mcp_call *call, const char *user, struct sandbox **ret,
                             struct error *err)
{
	char name[SANDBOX_NAME_MAX + 1];

	if (user_sandbox_name(user, name, err) < 0)
		return -1;
	return profile_find_sandbox(call, name, ret, err);
}

int profile_execution_sandbox(const struct tools_context *context, const char *owner,
                              const char *user, struct sandbox **ret, struct error *err)
{
	struct sandbox_options options = tools_sandbox_options(context, owner);
	char name[SANDBOX_NAME_MAX + 1];

	if (user_sandbox_name(user, name, err) < 0)
		return -1;
	options.name = name;
	options.labels = PROFILE_LABEL "\0";
	/* "/" makes `import tools.example` work, "/tools" makes `import example` work. */
	options.env = "PYTHONPATH=/tools:/\0";
	return profile_get_sandbox(context, &options, ret, err);
}

/* Continues with the tool's work when the user's sandbox is awake. */
static int start_for_user(struct mcp_call *call, const void *args, struct error *err)
{
	const struct execution_args *a = args;
	char name[SANDBOX_NAME_MAX + 1];
	struct sandbox *sandbox;

	if (user_sandbox_name(a->user_id, name, err) < 0) /* a wrong argument */
		return -1;
	if (profile_execution_sandbox(mcp_call_app(call), mcp_call_owner(call), a->user_id,
	                              &sandbox, err) < 0)
		return profile_refuse(call, err);
	profile_work_start(call, sandbox, profile_tool_begin(call), a);
	return 0;
}

/* --- commands ---------------------------------------------------------------------------- */

static bool is_execute(const struct mcp_call *call);

/* A command that could not be run is answered like one that failed, as in the original. */
static void respond_error(struct mcp_call *call, const struct error *why)
{
	json_t *object;

	if (!is_execute(call)) {
		mcp_respond_tool_error(call, why);
		return;
	}
	object = json_obj();
	json_set(object, "exit_code", json_int(-1));
	json_set(object, "stdout", json_str(""));
	json_set(object, "stderr", json_format("Error: %s", why->msg));
	mcp_respond_content(call, NULL, object);
}

static void on_executed(struct profile_work *w, const struct profile_run *run)
{
	const struct execution_args *a = w->args;
	json_t *object = json_obj();

	json_set(object, "exit_code", json_int(run->timed_out ? -1 : run->exit_code));
	json_set(object, "stdout", json_str_view(run->timed_out ? view_of("") : run->out));
	json_set(object, "stderr",
	         run->timed_out ? json_format("Command timed out after %.10g seconds", a->timeout)
	                        : json_str_view(run->errors));
	profile_answer(w, object);
}

static void begin_execute(struct profile_work *w)
{
	const struct execution_args *a = w->args;

	profile_run(w,
	            &(struct process_options){ .command = a->command,
	                                       .deadline_ms = (uint32_t)(a->timeout * 1000) + 1 },
	            on_executed);
}

/* --- files ------------------------------------------------------------------------------- */

static void on_read(struct file_work *file, const struct files_reply *reply)
{
	profile_answer_text(container_of(file, struct profile_work, file), reply->bytes);
}

static void begin_read(struct profile_work *w)
{
	const struct execution_args *a = w->args;

	w->file.path = a->file_path;
	if (a->line_count == 0)
		profile_answer_text(w, view_of(""));
	else
		profile_read_lines(w, (uint64_t)a->offset + 1,
		                   a->line_count == ALL_LINES ? INT64_MAX : (uint64_t)a->line_count,
		                   on_read);
}

static void on_written(struct file_work *file, const struct files_reply *reply)
{
	struct profile_work *w = container_of(file, struct profile_work, file);
	AUTO_FREE char *text = mem_format("Successfully wrote %" PRIu64 " bytes to %s",
	                                  reply->done.bytes, file->path);

	file_report_change(&file->work, file->path, false);
	profile_answer_text(w, view_of(text));
}

static void begin_write(struct profile_work *w)
{
	const struct execution_args *a = w->args;

	w->file.path = a->file_path;
	w->file.is_for_file = true;
	file_work_write(&w->file, w->file.path, a->content, on_written);
}

static int check_path(const char *path, struct error *err)
{
	AUTO_FREE char *unused = NULL;

	if (path[0] != '/')
		return error_set(err, ERR_INVALID,
		                 "argument 'file_path': '%s' is not absolute; files of yours are "
		                 "below /workspace",
		                 UTF8_ESCAPED(view_of(path), SHOWN));
	return profile_resolve("/", path, &unused, err);
}

static int start_with_path(struct mcp_call *call, const void *args, struct error *err)
{
	const struct execution_args *a = args;

	return check_path(a->file_path, err) < 0 ? -1 : start_for_user(call, a, err);
}

/* --- docstrings -------------------------------------------------------------------------- */

static void on_docstring(void *ctx, const struct module_reply *reply, const struct error *why)
{
	struct profile_work *w = ctx;
	const struct execution_args *a = w->args;
	const char *module = a->module_path != NULL ? a->module_path : a->file_path;
	const struct module_item *items;

	if (why != NULL) {
		work_fail(&w->file.work, why);
		return;
	}
	items = reply->functions.items;
	if (reply->problem != NULL)
		file_work_fail(&w->file, ERR_INVALID, "'%s' is not valid Python: %.200s", module,
		               reply->problem);
	else if (reply->missing != NULL && strcmp(reply->missing, "module") == 0)
		file_work_fail(&w->file, ERR_NOT_FOUND, "there is no module '%s'", module);
	else if (reply->functions.count == 0)
		file_work_fail(&w->file, ERR_NOT_FOUND, "'%s' has no function '%s'%s%.100s%s",
		               module, a->function_name,
		               reply->nearest != NULL ? "; did you mean '" : "",
		               reply->nearest != NULL ? reply->nearest : "",
		               reply->nearest != NULL ? "'?" : "");
	else
		profile_answer_text(w, view_of(items[0].doc));
}

/* A file's directory and its name without ".py" are a directory and a module too. */
static void begin_docstring(struct profile_work *w)
{
	const struct execution_args *a = w->args;
	AUTO_FREE char *directory = mem_dup(a->file_path != NULL ? a->file_path : "/tools");
	const char *module = a->module_path;
	char *slash = strrchr(directory, '/'), *dot;
	struct error err;

	if (module != NULL) {
		module += strncmp(module, "tools.", 6) == 0 ? 6 : 0;
	} else {
		*slash = '\0';
		module = slash + 1;
		dot = strrchr(slash + 1, '.');
		if (dot != NULL && strcmp(dot, ".py") == 0)
			*dot = '\0';
	}
	if (module_help_start(
	            &w->help, &w->file.work,
	            &(struct module_query){ .directory = directory[0] != '\0' ? directory : "/",
	                                    .module = module,
	                                    .function = a->function_name },
	            on_docstring, w, &err) < 0)
		work_fail(&w->file.work, &err);
}

static int read_docstring(struct mcp_call *call, const void *args, struct error *err)
{
	const struct execution_args *a = args;

	if ((a->module_path == NULL) == (a->file_path == NULL))
		return error_set(err, ERR_INVALID,
		                 "pass either 'module_path', such as \"tools.example\", or "
		                 "'file_path', and not both");
	if (a->module_path != NULL && !module_is_dotted_name(a->module_path))
		return error_set(err, ERR_INVALID,
		                 "argument 'module_path': expected names with dots between them, "
		                 "such as \"tools.example\"");
	if (!module_is_dotted_name(a->function_name))
		return error_set(err, ERR_INVALID,
		                 "argument 'function_name': expected a name, such as \"greet\"");
	if (a->file_path != NULL && check_path(a->file_path, err) < 0)
		return -1;
	return start_for_user(call, a, err);
}

/* --- the end of sandboxes ---------------------------------------------------------------- */

static int end_sandbox(struct mcp_call *call, const char *user, end_work_fn *end, const char *done,
                       struct error *err)
{
	struct sandbox *sandbox;

	if (find_user_sandbox(call, user, &sandbox, err) < 0) {
		if (err->kind != ERR_NOT_FOUND)
			return -1;
		profile_respond_text(call, "There is no container for this user");
		return 0;
	}
	end_work_start_in(call, sandbox, end, json_list_of(mcp_text("%s", done)), NULL);
	return 0;
}

static int stop_container(struct mcp_call *call, const void *args, struct error *err)
{
	const struct execution_args *a = args;

	return end_sandbox(call, a->user_id, sandbox_sleep, "Container stopped; its files are kept",
	                   err);
}

static int cleanup_container(struct mcp_call *call, const void *args, struct error *err)
{
	const struct execution_args *a = args;

	return end_sandbox(call, a->user_id, sandbox_delete,
	                   "Container stopped and removed, with its files", err);
}

/* The caller's sandboxes of this profile, which are deleted one after the other. */
struct cleanup {
	struct mcp_call *call;
	struct sandbox *sandbox; /* the one that is being deleted, held; or NULL */
	size_t count, at;
	char ids[CLEANUP_MAX][SPEC_ID_LEN + 1];
};

static bool add_own(void *ctx, const struct sandbox_row *row)
{
	struct cleanup *cleanup = ctx;

	if (strcmp(row->labels, PROFILE_LABEL) == 0 && row->state != SANDBOX_DELETING)
		(void)snprintf(cleanup->ids[cleanup->count++], SPEC_ID_LEN + 1, "%s", row->spec.id);
	return cleanup->count < CLEANUP_MAX;
}

static void delete_next(void *ctx, const struct error *why)
{
	struct cleanup *cleanup = ctx;
	struct mcp_call *call = cleanup->call;
	struct error err;

	if (cleanup->sandbox != NULL)
		sandbox_release(TAKE_PTR(cleanup->sandbox));
	while (why == NULL && cleanup->at < cleanup->count)
		/* A sandbox that is gone meanwhile is as good as deleted. */
		if (profile_find_sandbox(call, cleanup->ids[cleanup->at++], &cleanup->sandbox,
		                         &err) == 0) {
			sandbox_hold(cleanup->sandbox);
			sandbox_delete(cleanup->sandbox, delete_next, cleanup);
			return;
		}
	if (why != NULL)
		mcp_respond_tool_error(call, why);
	else
		profile_respond_text(call, "%zu container%s removed", cleanup->count,
		                     cleanup->count == 1 ? "" : "s");
	free(cleanup);
}

static int cleanup_all(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct cleanup *cleanup;

	(void)args;
	if (tools_check_manager(context, err) < 0)
		return -1;
	cleanup = mem_new(sizeof *cleanup);
	cleanup->call = call;
	if (manager_each(context->manager, mcp_call_owner(call), add_own, cleanup, err) < 0) {
		free(cleanup);
		return -1;
	}
	delete_next(cleanup, NULL);
	return 0;
}

/* --- the records ------------------------------------------------------------------------- */

#define TOOL(...) PROFILE_TOOL(struct execution_args, __VA_ARGS__)
TOOL(execute_bash, start_for_user, begin_execute, bash_params, MCP_SCOPE_RUN, MCP_DESTRUCTIVE,
     "Run a command with bash in your sandbox. It starts in /workspace, whose files stay.");
TOOL(read_file, start_with_path, begin_read, read_params, MCP_SCOPE_FILES, MCP_READ_ONLY,
     "Read a file, or some lines of it.");
TOOL(write_file, start_with_path, begin_write, write_params, MCP_SCOPE_FILES, MCP_DESTRUCTIVE,
     "Write a file. Missing directories are created.");
TOOL(read_docstring, read_docstring, begin_docstring, docstring_params, MCP_SCOPE_FILES,
     MCP_READ_ONLY, "The docstring of a Python function. The module is parsed, not run.");
TOOL(stop_container, stop_container, NULL, user_params, MCP_SCOPE_RUN, MCP_DESTRUCTIVE,
     "Stop your sandbox. Its files stay; the next call starts it again.");
TOOL(cleanup_container, cleanup_container, NULL, user_params, MCP_SCOPE_RUN, MCP_DESTRUCTIVE,
     "Remove your sandbox with its files.");
TOOL(cleanup_all, cleanup_all, NULL, NULL, MCP_SCOPE_RUN, MCP_DESTRUCTIVE,
     "Remove the sandboxes of all your users.");
#undef TOOL

static bool is_execute(const struct mcp_call *call)
{
	return mcp_call_record(call) == &record_execute_bash.record;
}

static const struct mcp_tool *const tools[] = {
	&record_execute_bash.record,   &record_read_file.record,
	&record_write_file.record,     &record_read_docstring.record,
	&record_stop_container.record, &record_cleanup_container.record,
	&record_cleanup_all.record,    NULL,
};

static const struct mcp_prompt *const prompts[] = { &execution_client_prompt, NULL };

static const struct profile_setting settings[] = {
	{ "tools-dir", "MCP_TOOLS_PATH", NULL },
	{ "skills-dir", "MCP_SKILLS_PATH", NULL },
	{ 0 },
};

const struct profile profile_execution_client = {
	.name = "execution-client",
	.server = "DockerExecutionClient",
	.title = "DockerExecutionClient",
	.help = "Runs commands in a sandbox of each user.",
	.instructions = "Commands run as the user coderunner, without network, and start in "
	                "/workspace, whose files stay. /tools and /skills are read-only; what the "
	                "user should get goes to /artifacts. The prompt agent_system_prompt lists "
	                "the skills and the functions of /tools.",
	.tools = tools,
	.prompts = prompts,
	.has_side_paths = true,
	.settings = settings,
	.no_network = PROFILE_NO_PACKAGES,
	.respond_error = respond_error,
};
