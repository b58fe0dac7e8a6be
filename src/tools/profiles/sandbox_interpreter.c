/* sandbox_interpreter.c - the profile sandbox-interpreter: one sandbox for each connection, or over
 * HTTP for each caller, which exists from initialize_sandbox to stop_sandbox. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/profiles/internal.h"
#include "tools/support/end_work.h"
#include "tools/support/params.h"

enum { SHOWN = 160, CHECK_MS = 30000 };

#define IMAGE "alpine:latest"

struct interpreter_args {
	const char *image, *language;
	struct view code;
};

static const struct param initialize_params[] = {
	ARG(struct interpreter_args, image, STRING, "The image that programs come from.",
	    .max = 255, .fallback.text = IMAGE),
	{ 0 },
};
static const struct param execute_params[] = {
	PROFILE_TEXT(struct interpreter_args, code, "", .required = true),
	ARG(struct interpreter_args, language, STRING, "python, bash, javascript ...", .max = 64,
	    .fallback.text = "python"),
	{ 0 },
};

/* A server on stdio has one client, and names are unique per owner: the name is that of the
 * connection, or over HTTP of the caller. */
static const char *sandbox_name(const struct mcp_call *call, char out[SANDBOX_NAME_MAX])
{
	const struct tools_context *context = mcp_call_app(call);

	(void)snprintf(out, SANDBOX_NAME_MAX, "interpreter-%s", context->instance);
	return out;
}

static int find_own(const struct mcp_call *call, struct sandbox **ret, struct error *err)
{
	char name[SANDBOX_NAME_MAX];

	return profile_find_sandbox(call, sandbox_name(call, name), ret, err);
}

/* --- images without Python --- */

/* An image without Python gets it from its own package manager (sandbox_add_python()). If that
 * fails, an image that is the same system with Python takes its place. */
static const struct {
	const char *name, *with_python;
} substitutes[] = {
	{ "alpine", "python:3-alpine" },
	{ "debian", "python:3-slim" },
};

/* An image of the same system with Python, or NULL. An image of Docker's own library has several
 * names. */
static const char *find_substitute(const char *image)
{
	static const char *const prefixes[] = { "docker.io/", "library/" };
	size_t len;

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strncmp(image, prefixes[i], strlen(prefixes[i])) == 0)
			image += strlen(prefixes[i]);
	len = strcspn(image, ":@");
	for (size_t i = 0; i < ARRAY_LEN(substitutes); i++)
		if (strlen(substitutes[i].name) == len &&
		    strncmp(image, substitutes[i].name, len) == 0)
			return substitutes[i].with_python;
	return NULL;
}

/* A call between two sandboxes: one ends, or gets Python, and the next one has another image. */
struct initialization {
	struct mcp_call *call;
	const struct interpreter_args *args;
	struct sandbox *sandbox;        /* held */
	char image[SPEC_IMAGE_MAX + 1]; /* of the next sandbox */
	struct wake_progress progress;
	bool is_cancelled;
	struct error why; /* why Python cannot be installed; "": it can */
};

static struct initialization *initialization_new(struct mcp_call *call,
                                                 const struct interpreter_args *args,
                                                 struct sandbox *sandbox)
{
	struct initialization *init = mem_new(sizeof *init);

	init->call = call;
	init->args = args;
	init->sandbox = sandbox;
	(void)snprintf(init->image, sizeof init->image, "%s", args->image);
	sandbox_hold(sandbox);
	return init;
}

static void free_initialization(struct initialization *init)
{
	mcp_call_on_cancel(init->call, NULL, NULL);
	wake_progress_stop(&init->progress);
	sandbox_release(init->sandbox);
	free(init);
}

static void fail_initialization(struct initialization *init, const struct error *why)
{
	struct mcp_call *call = init->call;

	free_initialization(init);
	tools_respond_error(call, why);
}

static void replace_sandbox(struct initialization *init);

static void on_cancel(struct mcp_call *call, void *ctx)
{
	struct initialization *init = ctx;

	(void)call;
	init->is_cancelled = true;
	sandbox_delete(init->sandbox, NULL, NULL); /* ends the installation, too */
}

static void on_python_added(void *ctx, const char *image, const struct error *why)
{
	struct initialization *init = ctx;
	const char *substitute = find_substitute(sandbox_row(init->sandbox)->spec.image);
	struct error err;

	wake_progress_stop(&init->progress);
	mcp_call_on_cancel(init->call, NULL, NULL);
	if (image == NULL)
		init->why = *why;
	if (image == NULL && (substitute == NULL || init->is_cancelled)) {
		(void)error_set(&err, ERR_UNSUPPORTED,
		                "the sandbox was created, but its image has no Python, which "
		                "cannot be installed: %s. Other languages can be run; for Python "
		                "call initialize_sandbox with an image that has it, such as "
		                "python:3-slim",
		                why->msg);
		fail_initialization(init, &err);
		return;
	}
	(void)snprintf(init->image, sizeof init->image, "%s", image != NULL ? image : substitute);
	replace_sandbox(init);
}

/* The image that the call begins with. */
static const char *first_image(const struct profile_work *w)
{
	const struct interpreter_args *a = w->args;

	return profile_image_of(w->file.work.call, a->image, IMAGE) == PROFILE_IMAGE_OPERATOR
	               ? w->file.work.context->spec.image
	               : a->image;
}

/* The sandbox has no Python. Its image gets it, unless this is an image that should have it, or one
 * of an engine without images. */
static void handle_no_python(struct profile_work *w, struct view why)
{
	const struct interpreter_args *a = w->args;
	struct mcp_call *call = w->file.work.call;
	struct sandbox *sandbox = w->file.work.sandbox;
	struct initialization *init;
	struct error err;

	if (!w->file.work.context->has_images ||
	    strcmp(sandbox_row(sandbox)->spec.image, first_image(w)) != 0) {
		(void)error_set(&err, ERR_UNSUPPORTED,
		                "the sandbox was created, but has no Python (%s). Other languages "
		                "can be run",
		                UTF8_ESCAPED(why, SHOWN));
		work_fail(&w->file.work, &err);
		return;
	}
	init = initialization_new(call, a, sandbox);
	(void)work_take_call(&w->file.work);
	mcp_call_on_cancel(call, NULL, NULL); /* the callback of the work, which was freed */
	mcp_call_on_cancel(call, on_cancel, init);
	wake_progress_start(&init->progress, call, sandbox);
	sandbox_add_python(sandbox, on_python_added, init);
}

/* How the image came to have Python, as a sentence with a space in front; or "". */
static void write_note(const struct profile_work *w, char out[PROFILE_IMAGE_NOTE_SIZE])
{
	const struct interpreter_args *a = w->args;
	const char *image = sandbox_row(w->file.work.sandbox)->spec.image;

	(void)profile_image_note(w->file.work.call, a->image, IMAGE, out);
	if (!w->file.work.context->has_images || strcmp(image, first_image(w)) == 0)
		return;
	if (w->extra != NULL)
		(void)snprintf(out, PROFILE_IMAGE_NOTE_SIZE,
		               " The image '%.100s' has no Python, which cannot be installed "
		               "(%.250s): programs come from '%.40s', which is the same system "
		               "with Python.",
		               first_image(w), json_as_text(w->extra), image);
	else
		(void)snprintf(out, PROFILE_IMAGE_NOTE_SIZE,
		               " The image '%.100s' has no Python: it was installed by the image's "
		               "own package manager, in a copy of the image that is kept as "
		               "'%.100s'.",
		               first_image(w), image);
}

static void on_checked(struct profile_work *w, const struct profile_run *run)
{
	const struct sandbox_row *row = sandbox_row(w->file.work.sandbox);
	char note[PROFILE_IMAGE_NOTE_SIZE], shown[64], text[SHOWN + sizeof note + sizeof shown];

	if (run->exit_code != 0 || run->timed_out) {
		handle_no_python(w, view_trim(run->errors));
		return;
	}
	write_note(w, note);
	(void)snprintf(text, sizeof text, "Sandbox %s is ready (%s).%s", row->spec.id,
	               utf8_escape(view_trim(run->out), shown, sizeof shown), note);
	profile_answer_text(w, view_of(text));
}

static void check_python(struct profile_work *w)
{
	profile_run(w,
	            &(struct process_options){ .command = "python3 --version",
	                                       .deadline_ms = CHECK_MS },
	            on_checked);
}

static int create_own(struct mcp_call *call, const char *image, struct sandbox **ret,
                      struct error *err)
{
	struct sandbox_options options = profile_options(call);
	char name[SANDBOX_NAME_MAX];

	options.name = sandbox_name(call, name);
	options.labels = "profile=sandbox-interpreter\0";
	options.temporary = true;
	if (profile_set_image(call, image, IMAGE, &options.spec, err) < 0)
		return -1;
	return profile_get_sandbox(mcp_call_app(call), &options, ret, err);
}

/* The check of the new sandbox wakes it too; but a substitute that cannot be had is no answer to a
 * caller who has named another image. */
static void on_replaced(void *ctx, const struct error *why)
{
	struct initialization *init = ctx;
	struct profile_work *w;
	struct error err;

	if (why != NULL && init->why.msg[0] != '\0') {
		(void)error_set(&err, ERR_UNSUPPORTED,
		                "the image '%.80s' has no Python, which cannot be installed: "
		                "%.160s; nor can '%s' be used instead: %.120s",
		                init->args->image, init->why.msg, init->image, why->msg);
		why = &err;
	}
	if (why != NULL) {
		fail_initialization(init, why);
		return;
	}
	w = profile_work_start(init->call, init->sandbox, check_python, init->args);
	if (init->why.msg[0] != '\0')
		w->extra = json_str(init->why.msg);
	wake_progress_stop(&init->progress);
	sandbox_release(init->sandbox);
	free(init);
}

static void on_old_deleted(void *ctx, const struct error *why)
{
	struct initialization *init = ctx;
	struct sandbox *sandbox;
	struct error err;

	if (why == NULL && create_own(init->call, init->image, &sandbox, &err) < 0)
		why = &err;
	if (why != NULL) {
		fail_initialization(init, why);
		return;
	}
	sandbox_release(init->sandbox);
	init->sandbox = sandbox;
	sandbox_hold(sandbox);
	wake_progress_start(&init->progress, init->call, sandbox);
	sandbox_wake(sandbox, on_replaced, init);
}

/* Deletes the sandbox and continues with a new one of init->image. */
static void replace_sandbox(struct initialization *init)
{
	sandbox_delete(init->sandbox, on_old_deleted, init);
}

/* A second call replaces the sandbox by a new one. */
static int initialize_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	const struct interpreter_args *a = args;
	struct spec unused = { 0 };
	struct sandbox *sandbox;

	/* A call that cannot create a sandbox leaves the one that exists alone. */
	if (profile_set_image(call, a->image, IMAGE, &unused, err) < 0)
		return -1;
	if (find_own(call, &sandbox, err) == 0) {
		replace_sandbox(initialization_new(call, a, sandbox));
		return 0;
	}
	if (err->kind != ERR_NOT_FOUND || create_own(call, a->image, &sandbox, err) < 0)
		return -1;
	profile_work_start(call, sandbox, check_python, args);
	return 0;
}

static void on_executed(struct profile_work *w, const struct profile_run *run)
{
	AUTO_BUF struct buf text;

	buf_init(&text, run->out.len + run->errors.len + SHOWN);
	buf_put(&text, run->out);
	buf_put(&text, run->errors);
	if (run->timed_out)
		buf_putf(&text, "\nThe program was ended after %u seconds",
		         w->file.work.context->timeout_s);
	else if (run->exit_code != 0)
		buf_putf(&text, "\nExit code: %d", run->exit_code);
	profile_answer_text(w, buf_view(&text));
}

static void begin_execute(struct profile_work *w)
{
	const struct interpreter_args *a = w->args;
	struct process_options options = { .code = a->code,
		                           .deadline_ms = w->file.work.context->timeout_s * 1000 };
	struct error err;

	if (profile_find_language(a->language, &options.language, &err) < 0)
		work_fail(&w->file.work, &err);
	else
		profile_run(w, &options, on_executed);
}

static int execute_code(struct mcp_call *call, const void *args, struct error *err)
{
	struct sandbox *sandbox;

	if (find_own(call, &sandbox, err) < 0) {
		if (err->kind == ERR_NOT_FOUND)
			(void)error_set(err, ERR_NOT_FOUND,
			                "there is no sandbox: call initialize_sandbox first");
		return -1;
	}
	profile_work_start(call, sandbox, profile_tool_begin(call), args);
	return 0;
}

static int stop_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	struct sandbox *sandbox;

	(void)args;
	if (find_own(call, &sandbox, err) == 0) {
		end_work_start_in(call, sandbox, sandbox_delete,
		                  json_list_of(mcp_text("The sandbox was stopped and removed")),
		                  NULL);
		return 0;
	}
	if (err->kind != ERR_NOT_FOUND)
		return -1;
	profile_respond_text(call, "There is no sandbox to stop");
	return 0;
}

#define TOOL(...) PROFILE_TOOL(struct interpreter_args, __VA_ARGS__)
TOOL(initialize_sandbox, initialize_sandbox, NULL, initialize_params, MCP_SCOPE_RUN, 0,
     "Create the sandbox that execute_code uses. A second call replaces it by a new one.");
TOOL(execute_code, execute_code, begin_execute, execute_params, MCP_SCOPE_RUN, MCP_DESTRUCTIVE,
     "Run code in the sandbox, which has no network. Answers what the program wrote.");
TOOL(stop_sandbox, stop_sandbox, NULL, NULL, MCP_SCOPE_RUN, MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
     "Stop the sandbox and remove it with its files.");
#undef TOOL

static const struct mcp_tool *const tools[] = {
	&record_initialize_sandbox.record,
	&record_execute_code.record,
	&record_stop_sandbox.record,
	NULL,
};

static const struct profile_setting settings[] = {
	{ "images", NULL, IMAGE ",python:3-alpine,python:3-slim" },
	{ 0 },
};

const struct profile profile_sandbox_interpreter = {
	.name = "sandbox-interpreter",
	.server = "MCP Docker Sandbox Interpreter",
	.title = "MCP Docker Sandbox Interpreter",
	.help = "Runs code in one isolated sandbox.",
	.instructions = "Call initialize_sandbox first, then execute_code as often as needed, then "
	                "stop_sandbox. Files stay from call to call; there is no network.",
	.tools = tools,
	.settings = settings,
	.memory = SPEC_MIB(512),
	.cpu = 1000,
	.no_network = PROFILE_NO_PACKAGES,
};
