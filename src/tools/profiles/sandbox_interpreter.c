/* sandbox_interpreter.c - the profile sandbox-interpreter: one sandbox for each connection, or over
 * HTTP for each caller, which exists from initialize_sandbox to stop_sandbox. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "kernels/languages.h"
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

static void on_checked(struct profile_work *w, const struct profile_run *run)
{
	const struct interpreter_args *a = w->args;
	struct mcp_call *call = w->file.work.call;
	const struct view version = view_trim(run->out);
	char note[PROFILE_IMAGE_NOTE_SIZE], shown[64], text[600];
	struct error err;

	if (run->exit_code != 0 || run->timed_out) {
		(void)error_set(&err, ERR_UNSUPPORTED,
		                "the sandbox was created, but has no Python: %.200s. Call "
		                "initialize_sandbox with an image that has it",
		                utf8_escape(view_trim(run->errors), text, sizeof text));
		work_fail(&w->file.work, &err);
		return;
	}
	(void)snprintf(text, sizeof text, "Sandbox %s is ready (%s).%s",
	               sandbox_row(w->file.work.sandbox)->spec.id,
	               utf8_escape(version, shown, sizeof shown),
	               profile_image_note(call, a->image, IMAGE, note));
	profile_answer_text(w, view_of(text));
}

static void check_python(struct profile_work *w)
{
	profile_run(w,
	            &(struct process_options){ .command = "python3 --version",
	                                       .deadline_ms = CHECK_MS },
	            on_checked);
}

static int create_own(struct mcp_call *call, const void *args, struct error *err)
{
	const struct interpreter_args *a = args;
	struct sandbox_options options = profile_options(call);
	char name[SANDBOX_NAME_MAX];
	struct sandbox *sandbox;

	options.name = sandbox_name(call, name);
	options.labels = "profile=sandbox-interpreter\0";
	options.temporary = true;
	if (profile_set_image(call, a->image, IMAGE, &options.spec, err) < 0 ||
	    profile_get_sandbox(call, &options, &sandbox, err) < 0)
		return -1;
	profile_work_start(call, sandbox, check_python, args);
	return 0;
}

struct replacement {
	struct mcp_call *call;
	const void *args;
	struct sandbox *old; /* held */
};

static void on_old_deleted(void *ctx, const struct error *why)
{
	struct replacement replacement = *(struct replacement *)ctx;
	struct error err;

	free(ctx);
	sandbox_release(replacement.old);
	if (why != NULL)
		mcp_respond_tool_error(replacement.call, why);
	else if (create_own(replacement.call, replacement.args, &err) < 0)
		mcp_respond_tool_error(replacement.call, &err);
}

/* A second call replaces the sandbox by a new one. */
static int initialize_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	struct replacement *replacement;
	struct sandbox *old;

	if (find_own(call, &old, err) < 0)
		return err->kind == ERR_NOT_FOUND ? create_own(call, args, err) : -1;
	replacement = mem_new(sizeof *replacement);
	*replacement = (struct replacement){ call, args, old };
	sandbox_hold(old);
	sandbox_delete(old, on_old_deleted, replacement);
	return 0;
}

static void on_executed(struct profile_work *w, const struct profile_run *run)
{
	AUTO_BUF struct buf text;
	struct error full;

	buf_init(&text, run->out.len + run->errors.len + SHOWN);
	(void)!buf_add(&text, run->out, &full);
	(void)!buf_add(&text, run->errors, &full);
	if (run->timed_out)
		(void)!buf_printf(&text, &full, "\nThe program was ended after %u seconds",
		                  w->file.work.context->timeout_s);
	else if (run->exit_code != 0)
		(void)!buf_printf(&text, &full, "\nExit code: %d", run->exit_code);
	profile_answer_text(w, buf_view(&text));
}

static void begin_execute(struct profile_work *w)
{
	const struct interpreter_args *a = w->args;
	const struct process_options options = { .language = language_find(a->language),
		                                 .code = a->code,
		                                 .deadline_ms = w->file.work.context->timeout_s *
		                                                1000 };
	char names[200], shown[64];
	struct error err;

	if (options.language != NULL) {
		profile_run(w, &options, on_executed);
		return;
	}
	(void)error_set(&err, ERR_INVALID,
	                "argument 'language': \"%s\" is not known; there are: %s",
	                utf8_escape(view_of(a->language), shown, sizeof shown),
	                language_names(names, sizeof names));
	work_fail(&w->file.work, &err);
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
	profile_work_start(call, sandbox, begin_execute, args);
	return 0;
}

static int stop_sandbox(struct mcp_call *call, const void *args, struct error *err)
{
	json_t *content = json_list();
	struct sandbox *sandbox;

	(void)args;
	if (find_own(call, &sandbox, err) == 0) {
		json_push(content, mcp_text("The sandbox was stopped and removed"));
		end_work_start_in(call, sandbox, sandbox_delete, content, NULL);
		return 0;
	}
	if (err->kind != ERR_NOT_FOUND) {
		json_decref(content);
		return -1;
	}
	json_push(content, mcp_text("There is no sandbox to stop"));
	mcp_respond_content(call, content, NULL);
	return 0;
}

static const struct mcp_tool record_initialize = {
	.name = "initialize_sandbox",
	.help = "Create the sandbox that execute_code uses. A second call replaces it by a new "
	        "one.",
	.scope = MCP_SCOPE_RUN,
	.params = initialize_params,
	.args_size = sizeof(struct interpreter_args),
	.call = initialize_sandbox,
};
static const struct mcp_tool record_execute = {
	.name = "execute_code",
	.help = "Run code in the sandbox, which has no network. Answers what the program wrote.",
	.hints = MCP_DESTRUCTIVE,
	.scope = MCP_SCOPE_RUN,
	.params = execute_params,
	.args_size = sizeof(struct interpreter_args),
	.call = execute_code,
};
static const struct mcp_tool record_stop = {
	.name = "stop_sandbox",
	.help = "Stop the sandbox and remove it with its files.",
	.hints = MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
	.scope = MCP_SCOPE_RUN,
	.call = stop_sandbox,
};
static const struct mcp_tool *const tools[] = { &record_initialize, &record_execute, &record_stop,
	                                        NULL };

const struct profile profile_sandbox_interpreter = {
	.name = "sandbox-interpreter",
	.server = "MCP Docker Sandbox Interpreter",
	.title = "MCP Docker Sandbox Interpreter",
	.help = "Runs code in one isolated sandbox.",
	.instructions = "Call initialize_sandbox first, then execute_code as often as needed, then "
	                "stop_sandbox. Files stay from call to call; there is no network.",
	.tools = tools,
	.memory = SPEC_MIB(512),
	.cpu = 1000,
};
