#include <stdio.h>

#include "base/error.h"
#include "cli/support/attachment.h"
#include "cli/support/foreground.h"
#include "cli/support/screen.h"
#include "cli/verb.h"
#include "server/options/options.h"

struct exec {
	const struct verb_call *call;
	struct attachment *attachment;
	struct foreground program;
};

/* Users of `docker exec` name the sandbox first. */
static void print_hint(const struct exec *exec)
{
	const char *program = exec->call->operands[0];

	if (attachment_has_sandbox(exec->attachment, program))
		(void)fprintf(stderr,
		              "belljar: '%s' is a sandbox: belljar exec --sandbox %s PROGRAM "
		              "runs a program in it\n",
		              program, program);
}

static void on_ended(void *ctx, int status)
{
	struct exec *exec = ctx;

	if (status == STATUS_MISSING && exec->call->options->sandbox == NULL)
		print_hint(exec);
	attachment_stop(exec->attachment, status);
}

static int start_program(void *ctx, struct attachment *attachment, struct error *err)
{
	struct exec *exec = ctx;
	const struct foreground_options options = {
		.run = { .argv = exec->call->operands,
		         .deadline_ms = (uint32_t)(exec->call->options->timeout_s * 1000),
		         .with_stdin = true },
		.timeout_s = exec->call->options->timeout_s,
		.ended = on_ended,
		.ctx = exec,
	};

	exec->attachment = attachment;
	if (foreground_open(&exec->program, attachment, err) < 0)
		return -1;
	return foreground_start(&exec->program, &options, err);
}

static bool pass_signal(void *ctx, int number)
{
	struct exec *exec = ctx;

	return foreground_signal(&exec->program, number);
}

static void close_program(void *ctx)
{
	struct exec *exec = ctx;

	foreground_close(&exec->program);
}

static const struct attachment_events attachment_events = { start_program, pass_signal,
	                                                    close_program };

static enum verb_result run_exec(const struct verb_call *call, struct error *err)
{
	static struct exec exec;
	const struct attachment_options options = { .call = call,
		                                    .sandbox = call->options->sandbox };

	if (call->options->terminal)
		return screen_run(&(struct screen_options){ .call = call,
		                                            .sandbox = call->options->sandbox,
		                                            .argv = call->operands },
		                  err);
	exec = (struct exec){ .call = call };
	return attachment_run(&options, &attachment_events, &exec, err);
}

static const struct verb_example examples[] = {
	{ "belljar exec python3 -c 'print(6 * 7)'", "Run a program in a new sandbox." },
	{ "echo hello | belljar exec wc -c", "The program reads belljar's standard input." },
	{ "belljar exec --sandbox work sh -c 'echo data > kept'", "Create a sandbox and keep it." },
	{ "belljar exec --sandbox work cat kept", "Use the same sandbox again, with its files." },
	{ "belljar exec -t --sandbox work vim notes", "Give the program a terminal." },
	{ "belljar exec --memory 256M --timeout 10 ./job", "Set limits." },
	{ NULL, NULL },
};

const struct verb verb_exec = {
	.name = "exec",
	.operand = "PROGRAM",
	.operand_needed = true,
	.operand_rest = "[ARG...]",
	.summary = "Run a program in a sandbox.",
	.help = "Creates a sandbox, runs the program in it with this command's standard input and "
	        "output, and removes the sandbox. With --sandbox the sandbox is kept: afterwards "
	        "it sleeps (its files stay, no process runs), and the next call wakes it with the "
	        "limits it was created with. If a server has it awake, for example one that an "
	        "editor has started, the program runs there beside what the server runs, and is "
	        "killed if the server ends the sandbox. If another command has it awake, exec "
	        "waits up to 5 seconds. Arguments after PROGRAM are passed to it, 60 KiB in all at "
	        "most.\n\n"
	        "The exit status is the program's; 124 if its time-out expired; 128 plus the "
	        "number of the signal that killed it; 137 if a limit ended the sandbox; 127 if "
	        "there is no such program, 126 if it cannot be executed. 1 can also mean that "
	        "belljar itself failed.\n\n"
	        "On a terminal, escape sequences are removed from the output, colours included. "
	        "With --terminal (-t) the program has a terminal of its own, may draw on it, and "
	        "gets all keys.",
	.examples = examples,
	.options = FOR_EXEC,
	.run = run_exec,
};
