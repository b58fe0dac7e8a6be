#include "base/error.h"
#include "cli/support/foreground.h"
#include "cli/support/session.h"
#include "cli/verb.h"
#include "server/options/options.h"

struct exec {
	const struct verb_call *call;
	struct session *session;
	struct foreground program;
};

static void on_ended(void *ctx, int status)
{
	struct exec *exec = ctx;

	session_end(exec->session, status);
}

static int start(void *ctx, struct session *session, struct error *err)
{
	struct exec *exec = ctx;
	const struct foreground_wish wish = {
		.run = { .argv = exec->call->operands,
		         .deadline_ms = (uint32_t)(exec->call->options->timeout_s * 1000),
		         .with_stdin = true },
		.timeout_s = exec->call->options->timeout_s,
		.ended = on_ended,
		.ctx = exec,
	};

	exec->session = session;
	if (foreground_open(&exec->program, session, err) < 0)
		return -1;
	return foreground_start(&exec->program, &wish, err);
}

static bool on_signal(void *ctx, int number)
{
	struct exec *exec = ctx;

	return foreground_signal(&exec->program, number);
}

static void stop(void *ctx)
{
	struct exec *exec = ctx;

	foreground_close(&exec->program);
}

static const struct session_events session_events = { start, on_signal, stop };

static enum verb_result run(const struct verb_call *call, struct error *err)
{
	static struct exec exec;
	const struct session_wish wish = { .call = call, .sandbox = call->options->sandbox };

	exec = (struct exec){ .call = call };
	return session_run(&wish, &session_events, &exec, err);
}

static const struct verb_example examples[] = {
	{ "belljar exec python3 -c 'print(6 * 7)'", "Run a program in a new sandbox." },
	{ "echo hello | belljar exec wc -c", "It reads what belljar reads." },
	{ "belljar exec --sandbox work sh -c 'echo data > kept'", "Make a sandbox, and keep it." },
	{ "belljar exec --sandbox work cat kept", "Use it again: the files are there." },
	{ "belljar exec --memory 256M --timeout 10 ./job", "With limits." },
	{ NULL, NULL },
};

const struct verb verb_exec = {
	.name = "exec",
	.operand = "PROGRAM",
	.operand_needed = true,
	.operand_rest = true,
	.summary = "Run a program in a sandbox.",
	.help = "Makes a sandbox, runs the program in it, passes input and output through, and "
	        "removes "
	        "the sandbox. With --sandbox the sandbox is kept: it sleeps afterwards, as "
	        "files only, and wakes with the next call, with the limits it was made with. If "
	        "another "
	        "belljar has it awake, exec waits up to 5 seconds. What stands behind the "
	        "program's name is passed to it.\n\n"
	        "The exit status is the program's; 124 if its time was up, 128 and the signal's "
	        "number if a signal ended it, 137 too if a limit ended the sandbox; 127 if there "
	        "is no such program, 126 if it cannot be run. 1 means that belljar itself "
	        "failed.\n\n"
	        "On a terminal, output is shown without what would command the terminal, colours "
	        "too. Arguments may have 60 KiB in all.",
	.examples = examples,
	.options = FOR_EXEC,
	.run = run,
};
