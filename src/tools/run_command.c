#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "sandbox/process/process.h"
#include "tools/catalogue.h"
#include "tools/run/answer/run_result.h"
#include "tools/run/process_work.h"
#include "tools/run/run_params.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

/* All arguments together must fit into one EXEC message to the agent. */
enum { COMMAND_MAX = 60000 };
enum { ROWS_USUAL = 24, COLUMNS_USUAL = 80 };

struct command_args {
	const char *command, *sandbox;
	struct param_strings argv;
	struct run_params run;
	bool background, pty;
	int64_t rows, columns;
};

static const struct param params[] = {
	ARG(struct command_args, command, STRING, "A line for bash.", .min = 1, .max = COMMAND_MAX,
	    .also = PARAM_ALSO("cmd"),
	    .more = "For sh, if the sandbox has no bash. A longer script is better run with "
	            "run_code, a program without a shell with `argv`."),
	ARG(struct command_args, argv, STRINGS,
	    "Instead of `command`: a program and its arguments.", .max = 1000,
	    .item_max = COMMAND_MAX, .also = PARAM_ALSO("command", "cmd")),
	RUN_PARAM_BACKGROUND(struct command_args, background,
	                     ": for servers and interactive programs"),
	ARG(struct command_args, pty, BOOL, "A terminal of `rows` x `columns`; with `background`."),
	ARG(struct command_args, rows, INT, "Of the terminal; 24 by default.", .min = 1,
	    .max = 1000),
	ARG(struct command_args, columns, INT, "Likewise; 80.", .min = 1, .max = 1000,
	    .also = PARAM_ALSO("cols")),
	RUN_PARAM_STDIN(struct command_args, run),
	RUN_PARAM_ENV(struct command_args, run),
	RUN_PARAM_CWD(struct command_args, run),
	RUN_PARAM_TIMEOUT(struct command_args, run),
	WORK_PARAM_SANDBOX(struct command_args),
	{ 0 },
};

/* A shell line in place of a program is refused at once: no program has such a name, and "ls -la:
 * No such file or directory" does not say what is wrong. A path may have spaces. */
static int check_program(const char *program, struct error *err)
{
	if (program[0] == '\0')
		return error_set(err, ERR_INVALID,
		                 "argument 'argv[0]': expected a program, got an empty string");
	if (strchr(program, ' ') != NULL && strchr(program, '/') == NULL)
		return error_set(err, ERR_INVALID,
		                 "argument 'argv[0]': '%s' is not the name of a program: give each "
		                 "argument its own string, or pass a shell line as 'command'",
		                 UTF8_ESCAPED(view_of(program), 80));
	return work_check_path(program, err);
}

static int check_terminal(const struct command_args *a, struct error *err)
{
	if (!a->pty && (a->rows != 0 || a->columns != 0))
		return error_set(err, ERR_INVALID,
		                 "arguments 'rows' and 'columns': they are of a terminal, which a "
		                 "program has with pty: true and background: true");
	if (a->pty && !a->background)
		return error_set(err, ERR_INVALID,
		                 "argument 'pty': a program with a terminal waits for input: set "
		                 "background to true, and use process_input and process_output");
	return 0;
}

static int check_command(const struct command_args *a, struct error *err)
{
	if (a->command != NULL && a->argv.count != 0)
		return error_set(err, ERR_INVALID,
		                 "arguments 'command' and 'argv': give one of them; 'command' is a "
		                 "shell line, 'argv' a program with its arguments");
	if (a->command == NULL && a->argv.count == 0)
		return error_set(
		        err, ERR_INVALID,
		        "argument 'command' is missing: expected a shell line, or 'argv' with "
		        "a program and its arguments");
	if (a->command == NULL && check_program(a->argv.items[0], err) < 0)
		return -1;
	return check_terminal(a, err);
}

static uint16_t terminal_size(bool has_terminal, int64_t given, uint16_t usual)
{
	if (!has_terminal)
		return 0;
	return given != 0 ? (uint16_t)given : usual;
}

static int run_command(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	const struct command_args *a = args;
	uint32_t default_ms = a->background ? 0 : context->timeout_s * 1000;
	struct process_work_options options = {
		.process = { .command = a->command,
		             .argv = a->command == NULL ? a->argv.items : NULL,
		             .rows = terminal_size(a->pty, a->rows, ROWS_USUAL),
		             .columns = terminal_size(a->pty, a->columns, COLUMNS_USUAL) },
		.sandbox = a->sandbox,
		.is_background = a->background,
	};

	if (check_command(a, err) < 0 ||
	    run_params_apply(&a->run, context, default_ms, &options.arena, &options.process, err) <
	            0) {
		arena_done(&options.arena);
		return -1;
	}
	return process_work_start(call, &options, err);
}

/* A model reads all input schemas before its first call, so the size of the terminal is described
 * only in the manual. */
static void complete_schema(const void *app, json_t *properties)
{
	run_params_complete_schema(app, properties);
	(void)json_object_del(properties, "rows");
	(void)json_object_del(properties, "columns");
}

const struct mcp_tool tool_run_command = {
	.name = "run_command",
	.title = "Run a command",
	.help = "Run a shell command in the sandbox: builds, tests, git, anything installed there. "
	        "Each call has a shell of its own, in /workspace: use `cwd` and `env`, or one line "
	        "with &&. What the command leaves running is ended with it, unless `background` is "
	        "true. A command that takes long goes on as a process: see process_output.",
	.more = "Files stay from call to call; usually there is no network, and the user's "
	        "machine cannot be reached. The answer has stdout, stderr and, in a last block, "
	        "lines that begin with \"[belljar: \", which no program can print; an exit code "
	        "other than 0 is an answer, not an error. Long output is cut in the middle, and "
	        "the answer names a file with all of it. Memory, time, processes and disk are "
	        "limited. An unused sandbox is put to sleep, which ends its processes and keeps "
	        "files; sandbox_info has the numbers.",
	.scope = MCP_SCOPE_RUN,
	.params = params,
	.args_size = sizeof(struct command_args),
	.complete_schema = complete_schema,
	.output = run_result_output,
	.task = MCP_TASK_OPTIONAL,
	.call = run_command,
};
