#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "kernels/languages.h"
#include "sandbox/process/process.h"
#include "tools/catalogue.h"
#include "tools/support/run_call.h"
#include "tools/support/run_result.h"

enum { COMMAND_MOST = 60000 }; /* all arguments together go in one frame to the agent */

struct command_args {
	const char *command, *cwd, *sandbox;
	struct param_strings argv;
	struct param_map env;
	struct view in;
	double timeout_s;
	bool background;
};

static const struct param params[] = {
	{ .name = "command",
	  .type = PARAM_STRING,
	  .min = 1,
	  .max = COMMAND_MOST,
	  .offset = offsetof(struct command_args, command),
	  .help = "A shell line, for bash (sh where there is none); a longer script goes to "
	          "run_code. Or give `argv`." },
	{ .name = "argv",
	  .type = PARAM_STRINGS,
	  .max = 1000,
	  .item_max = COMMAND_MOST,
	  .offset = offsetof(struct command_args, argv),
	  .help = "A program and its arguments, without a shell: nothing needs quoting." },
	{ .name = "background",
	  .type = PARAM_BOOL,
	  .offset = offsetof(struct command_args, background),
	  .help = "Answer at once and let it run: for servers, watchers and programs that are "
	          "talked "
	          "to. See process_output, process_input, process_stop. It has no time limit but "
	          "`timeout_s`, and ends with the sandbox's sleep." },
	RUN_PARAM_STDIN(struct command_args, in),
	RUN_PARAM_ENV(struct command_args, env),
	RUN_PARAM_CWD(struct command_args, cwd),
	{ .name = "timeout_s",
	  .type = PARAM_NUMBER,
	  .max = RUN_TIMEOUT_MOST_S,
	  .offset = offsetof(struct command_args, timeout_s),
	  .help = "Seconds until it is ended; 0: as the server is set up." },
	WORK_PARAM_SANDBOX(struct command_args, sandbox),
	{ 0 },
};

/* Users expect bash; some images have only sh. */
static const char *shell(struct sandbox *sandbox)
{
	const struct language_found *found = process_languages(sandbox);
	const struct language *bash = language_find("bash");

	if (found != NULL && found->known && bash != NULL &&
	    found->of[bash - languages].runner >= 0)
		return "bash";
	return "/bin/sh";
}

static int start_now(struct run_call *run, struct error *err)
{
	const struct command_args *a = run->args;
	const char *const line[] = { a->command != NULL ? shell(run->work.sandbox) : NULL, "-c",
		                     a->command, NULL };
	AUTO_LIST char **env = run_call_env(&a->env);
	struct process_options wish = { .argv = a->command != NULL ? line : a->argv.items,
		                        .env = (const char *const *)env,
		                        .cwd = a->cwd,
		                        .in = a->in };

	return run_call_start(run, &wish, err);
}

static int start_there(struct run_call *run, struct error *err)
{
	const struct command_args *a = run->args;

	return run_call_start_in(run, a->cwd, start_now, err);
}

/* Without an answer there is still sh. */
static void on_languages(void *ctx, const struct error *why)
{
	struct run_call *run = ctx;
	struct error err;

	(void)why;
	if (run->work.is_cancelled)
		(void)error_set(&err, ERR_INVALID, "cancelled");
	else if (start_there(run, &err) == 0)
		return;
	work_fail(&run->work, &err);
}

/* Which shell there is is found out once for each sandbox. */
static int start(struct work *work, struct error *err)
{
	struct run_call *run = (struct run_call *)(void *)work;
	const struct command_args *a = run->args;
	const struct language_found *found = process_languages(work->sandbox);

	if (a->command == NULL || (found != NULL && found->known))
		return start_there(run, err);
	process_probe_languages(work->sandbox, false, on_languages, run);
	return 0;
}

static const struct work_callbacks calls = {
	.start = start,
	.cancel = run_call_cancel,
	.done = run_call_done,
};

static int run_command(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	const struct command_args *a = args;
	struct run_call run = { .args = a, .is_background = a->background };
	uint32_t usual_ms = a->background ? 0 : context->timeout_s * 1000;

	if (a->command != NULL && a->argv.count != 0)
		return error_set(err, ERR_INVALID,
		                 "arguments 'command' and 'argv': give one of them; 'command' is a "
		                 "shell line, 'argv' a program with its arguments");
	if (a->command == NULL && a->argv.count == 0)
		return error_set(err, ERR_INVALID,
		                 "argument 'command' is missing: expected a shell line, or 'argv' "
		                 "with a program and its arguments");
	if (a->command == NULL && a->argv.items[0][0] == '\0')
		return error_set(err, ERR_INVALID,
		                 "argument 'argv[0]': expected a program, got an empty string");
	if (run_call_check_cwd(a->cwd, err) < 0 || run_call_check_env(&a->env, err) < 0 ||
	    run_call_timeout(context, a->timeout_s, usual_ms, &run.timeout_ms, err) < 0)
		return -1;
	return run_call_begin(call, &calls, &run, a->sandbox, err);
}

const struct mcp_tool tool_run_command = {
	.name = "run_command",
	.title = "Run a command",
	.help = "Use this to run a shell line or a program in the sandbox: builds, tests, git, "
	        "package tools, anything installed there. It starts in /workspace, whose files "
	        "stay "
	        "from call to call; usually there is no network, and nothing of the user's machine "
	        "is in reach. Each call is a shell of its own: use `cwd` and `env`, or one line "
	        "with "
	        "&&. With `background` it answers at once with a process to ask later: for servers "
	        "and programs that wait for input. The answer has stdout, stderr and the exit "
	        "code; "
	        "an exit code other than 0 is an answer, not an error. Long output is cut in the "
	        "middle, and kept whole in a file that is named. What takes longer than a client "
	        "waits goes on as a process: read on with process_output. Memory, time, processes "
	        "and disk are limited, and a sandbox nobody uses sleeps, which ends its processes "
	        "but keeps files: sandbox_info has the numbers.",
	.params = params,
	.args_size = sizeof(struct command_args),
	.output = run_result_output,
	.call = run_command,
};
