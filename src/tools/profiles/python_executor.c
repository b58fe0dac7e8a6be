/* python_executor.c - the profile python-executor: one Python sandbox for each caller, with a
 * virtual environment of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "kernels/kernels.h"
#include "sandbox/run/code_dir.h"
#include "tools/catalogue.h"
#include "tools/profiles/internal.h"
#include "tools/support/end_work.h"
#include "tools/support/params.h"

enum {
	TIMEOUT_S = 60,
	TIMEOUT_MIN_S = 1,
	TIMEOUT_MAX_S = 300,
	SETUP_MS = 60000,
};

#define PYTHON SPEC_PYTHON "/bin/python"

struct python_args {
	struct view code;
	const char *package_name;
	double timeout;
};

static const struct param execute_params[] = {
	PROFILE_TEXT(struct python_args, code, "", .required = true),
	/* As in the original, a number beyond the bounds stands for the nearest bound. */
	ARG(struct python_args, timeout, NUMBER, "Seconds, at most 300.", .min = -INT64_MAX,
	    .max = INT64_MAX - 1, .fallback.number = TIMEOUT_S),
	{ 0 },
};

static const struct param install_params[] = {
	ARG_REQUIRED(struct python_args, package_name, STRING,
	             "One or several, with spaces between: \"pandas requests>=2.28\".", .min = 1,
	             .max = 8000, .also = PARAM_ALSO("package_names")),
	{ 0 },
};

static bool is_execute(const struct mcp_call *call);

/* Code that could not be run has the members of a run too: callers read them. */
static void respond_error(struct mcp_call *call, const struct error *why)
{
	json_t *object = json_obj();

	json_set(object, "status", json_str("error"));
	json_set(object, "error", json_str(why->msg));
	if (is_execute(call)) {
		json_set(object, "stdout", json_str(""));
		json_set(object, "stderr", json_str(why->msg));
		json_set(object, "exit_code", json_int(-1));
		json_set(object, "duration", json_num(0));
	}
	mcp_respond_content(call, NULL, object);
}

/* --- the environment --------------------------------------------------------------------- */

static void on_environment(struct profile_work *w, const struct profile_run *run)
{
	if (run->exit_code == 0 && !run->timed_out)
		w->after(w);
	else
		file_work_fail(&w->file, ERR_UNSUPPORTED,
		               "the virtual environment " SPEC_PYTHON " cannot be made: %s",
		               UTF8_ESCAPED(view_trim(run->errors), 400));
}

static void on_python(struct file_work *file, const struct files_reply *reply)
{
	struct profile_work *w = container_of(file, struct profile_work, file);

	(void)reply;
	w->after(w);
}

static void on_no_python(struct file_work *file, const struct error *why)
{
	(void)why;
	profile_run(container_of(file, struct profile_work, file),
	            &(struct process_options){
	                    .argv = (const char *const[]){ "python3", "-c", packages_python_text,
	                                                   "environment", "", "", NULL },
	                    .deadline_ms = SETUP_MS },
	            on_environment);
}

/* The environment, which other sandboxes have from the first installation on, is made at the first
 * use, and again after a reset. */
static void check_environment(struct profile_work *w)
{
	w->file.path = PYTHON;
	file_work_stat_or(&w->file, PYTHON, true, on_python, on_no_python);
}

static int find_own(const struct mcp_call *call, struct sandbox **ret, struct error *err)
{
	struct sandbox_options options = profile_options(call);

	options.name = "python-executor";
	options.labels = "profile=python-executor\0";
	options.env = "VIRTUAL_ENV=" SPEC_PYTHON "\0";
	return profile_get_sandbox(mcp_call_app(call), &options, ret, err);
}

/* Continues with the tool's work when the sandbox is awake and has its environment. */
static int start_in_environment(struct mcp_call *call, const void *args, struct error *err)
{
	struct sandbox *sandbox;

	if (find_own(call, &sandbox, err) < 0)
		return profile_refuse(call, err);
	profile_work_start(call, sandbox, check_environment, args)->after = profile_tool_begin(
	        call);
	return 0;
}

/* Runs a program text with the environment's Python and nothing of the caller's in its way. */
static void run_text(struct profile_work *w, const char *text, profile_ran_fn *ran)
{
	static const char python[] = PYTHON;

	profile_run(w,
	            &(struct process_options){
	                    .argv = (const char *const[]){ python, "-I", "-c", text, NULL },
	                    .deadline_ms = SETUP_MS },
	            ran);
}

/* --- code -------------------------------------------------------------------------------- */

static double timeout_of(const struct python_args *a)
{
	return a->timeout < TIMEOUT_MIN_S   ? TIMEOUT_MIN_S
	       : a->timeout > TIMEOUT_MAX_S ? TIMEOUT_MAX_S
	                                    : a->timeout;
}

static void on_executed(struct profile_work *w, const struct profile_run *run)
{
	const struct python_args *a = w->args;
	json_t *object = json_obj();

	json_set(object, "status",
	         json_str(run->timed_out        ? "timeout"
	                  : run->exit_code == 0 ? "success"
	                                        : "error"));
	json_set(object, "stdout", json_str_view(run->out));
	json_set(object, "stderr", json_str_view(run->errors));
	json_set(object, "exit_code", json_int(run->timed_out ? -1 : run->exit_code));
	json_set(object, "duration", json_num((double)run->elapsed_ms / 1000));
	if (run->timed_out)
		json_set(object, "error",
		         json_format("Execution timed out after %.10g seconds", timeout_of(a)));
	profile_answer(w, object);
}

/* The code is a file, so that tracebacks have its lines and sys.path begins with /workspace. */
static void begin_execute(struct profile_work *w)
{
	const struct python_args *a = w->args;
	char path[sizeof w->code.path + sizeof "/main.py"];

	code_dir_choose(&w->code, CODE_DIR_DISK);
	(void)snprintf(path, sizeof path, "%s/main.py", w->code.path);
	profile_run(w,
	            &(struct process_options){
	                    .argv = (const char *const[]){ PYTHON, path, NULL },
	                    .files = &(struct process_file){ path, a->code },
	                    .file_count = 1,
	                    .env = (const char *const[]){ "PYTHONPATH=" SPEC_WORKSPACE, NULL },
	                    .deadline_ms = (uint32_t)(timeout_of(a) * 1000) + 1 },
	            on_executed);
}

/* --- packages ---------------------------------------------------------------------------- */

static const char list_program[] =
        "import importlib.metadata as m, sysconfig\n"
        "path = [sysconfig.get_path('purelib')]\n"
        "for d in sorted(m.distributions(path=path), key=lambda d: d.metadata['Name'].lower()):\n"
        "    print(d.metadata['Name'], d.version)\n";

static void on_listed(struct profile_work *w, const struct profile_run *run)
{
	json_t *object = json_obj(), *packages = json_list();
	struct view rest = run->out, line;

	while (view_next_line(&rest, &line)) {
		json_t *package = json_obj();

		json_set(package, "name", json_str_view(view_cut(&line, ' ')));
		json_set(package, "version", json_str_view(view_trim(line)));
		json_push(packages, package);
	}
	json_set(object, "status", json_str(run->exit_code == 0 ? "success" : "error"));
	if (run->exit_code != 0)
		json_set(object, "error", json_str_view(run->errors));
	json_set(object, "packages", packages);
	profile_answer(w, object);
}

static void begin_list(struct profile_work *w)
{
	run_text(w, list_program, on_listed);
}

static void on_installed(void *ctx, const struct package_reply *reply, const struct error *why)
{
	struct profile_work *w = ctx;
	json_t *object, *installed;

	if (why != NULL) {
		work_fail(&w->file.work, why);
		return;
	}
	object = json_obj();
	installed = json_list();
	for (size_t i = 0; i < reply->installed.count; i++)
		json_push(installed, json_str(reply->installed.items[i]));
	json_set(object, "status", json_str("success"));
	json_set(object, "message",
	         json_str(reply->installed.count != 0
	                          ? "Installed"
	                          : "Everything that was asked for is there already"));
	json_set(object, "installed", installed);
	profile_answer(w, object);
}

static bool is_operator(char c)
{
	return c != '\0' && strchr("<>=!~,", c) != NULL;
}

/* Spaces separate the specifiers, and PEP 508 also allows them around the operators of one
 * ("requests >= 2.28, < 3"): these are removed. */
static char *join_versions(const char *text)
{
	char *joined = mem_dup(text), *end = joined;

	while (*text != '\0') {
		const size_t spaces = strspn(text, " \t\r\n");
		const bool is_within = end != joined &&
		                       (is_operator(end[-1]) || is_operator(text[spaces]));

		text += spaces;
		if (spaces != 0 && !is_within)
			*end++ = ' ';
		if (*text != '\0')
			*end++ = *text++;
	}
	*end = '\0';
	return joined;
}

static void begin_install(struct profile_work *w)
{
	const struct python_args *a = w->args;
	AUTO_FREE char *names = join_versions(a->package_name);
	struct package_request request = { .action = PACKAGE_INSTALL,
		                           .language = package_languages[0],
		                           .argument = "package_name" };
	struct error err;

	if (profile_split(w, names, &request.packages, &err) < 0 ||
	    (request.packages.count == 0 &&
	     error_set(&err, ERR_INVALID,
	               "argument 'package_name' names no package: pass one or several, such as "
	               "\"requests\"") < 0) ||
	    package_step_prepare(&w->packages, w->file.work.context, &request, &err) < 0 ||
	    package_step_start(&w->packages, &w->file.work, 0, on_installed, w, &err) < 0)
		work_fail(&w->file.work, &err);
}

/* --- the sandbox ------------------------------------------------------------------------- */

static void on_info(struct profile_work *w, const struct profile_run *run)
{
	json_t *object = json_obj();

	json_set(object, "status", json_str(run->exit_code == 0 ? "ready" : "error"));
	json_set(object, "python_version", json_str_view(view_trim(run->out)));
	json_set(object, "python_path", json_str(PYTHON));
	json_set(object, "venv_path", json_str(SPEC_PYTHON));
	json_set(object, "sandbox_id", json_str(sandbox_row(w->file.work.sandbox)->spec.id));
	profile_answer(w, object);
}

static void begin_info(struct profile_work *w)
{
	run_text(w, "import platform; print(platform.python_version())", on_info);
}

static int reset_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	json_t *object;
	struct sandbox *sandbox;

	(void)args;
	if (find_own(call, &sandbox, err) < 0)
		return profile_refuse(call, err);
	object = json_obj();
	json_set(object, "status", json_str("success"));
	json_set(object, "message",
	         json_str("The sandbox is clean: it has no files and no installed packages"));
	end_work_start_in(call, sandbox, sandbox_reset, NULL, object);
	return 0;
}

/* --- the records ------------------------------------------------------------------------- */

#define TOOL(name_, handler_, begin_, params_, ...)                                                \
	PROFILE_TOOL(struct python_args, name_, handler_, begin_, params_, MCP_SCOPE_RUN,          \
	             __VA_ARGS__)
TOOL(execute_python, start_in_environment, begin_execute, execute_params, MCP_DESTRUCTIVE,
     "Run Python code in your sandbox, which has no network. It starts in /workspace, whose files "
     "stay.");
TOOL(install_package, start_in_environment, begin_install, install_params, MCP_OPEN_WORLD,
     "Install Python packages in your sandbox.");
TOOL(list_installed_packages, start_in_environment, begin_list, NULL, MCP_READ_ONLY,
     "The packages of the sandbox's virtual environment.");
TOOL(reset_sandbox, reset_sandbox, NULL, NULL, MCP_DESTRUCTIVE,
     "Remove all files and installed packages.");
TOOL(get_sandbox_info, start_in_environment, begin_info, NULL, MCP_READ_ONLY,
     "Python's version, the paths of the interpreter and of the virtual environment.");
#undef TOOL

static bool is_execute(const struct mcp_call *call)
{
	return mcp_call_record(call) == &record_execute_python.record;
}

static const struct mcp_tool *const tools[] = {
	&record_execute_python.record,          &record_install_package.record,
	&record_list_installed_packages.record, &record_reset_sandbox.record,
	&record_get_sandbox_info.record,        NULL,
};

const struct profile profile_python_executor = {
	.name = "python-executor",
	.server = "Python Code Executor",
	.title = "Python Code Executor",
	.help = "Runs Python code in an isolated environment.",
	.instructions = "Code runs with a virtual environment of its own, without network, and "
	                "starts in /workspace, whose files stay. Install packages with "
	                "install_package, not with pip.",
	.tools = tools,
	.memory = SPEC_MIB(2048),
	.cpu = 2000,
	.no_network = "install_package installs packages",
	.respond_error = respond_error,
};
