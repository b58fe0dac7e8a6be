#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/support/attachment.h"
#include "cli/support/foreground.h"
#include "cli/support/terminal.h"
#include "cli/verb.h"
#include "loop/loop.h"
#include "server/options/options.h"

static const char script[] = "command -v bash >/dev/null 2>&1 && exec bash; PS1='$ ' exec sh";

struct shell {
	const struct verb_call *call;
	struct attachment *attachment;
	struct foreground program;
	struct loop_signal *resized;
	char term[80];
};

static void on_ended(void *ctx, int status)
{
	struct shell *shell = ctx;

	attachment_stop(shell->attachment, status);
}

static void on_resized(void *ctx)
{
	struct shell *shell = ctx;
	uint16_t rows, columns;

	terminal_size(&rows, &columns);
	foreground_resize(&shell->program, rows, columns);
}

/* TERM names an entry of terminfo, which programs look up inside the sandbox. The value is checked,
 * because a program may use it as a file name. */
static void name_terminal(struct shell *shell)
{
	const char *term = getenv("TERM");
	size_t len = term != NULL ? strspn(term, "abcdefghijklmnopqrstuvwxyz"
	                                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")
	                          : 0;

	if (len == 0 || term[len] != '\0' || len > 64)
		term = "dumb";
	(void)snprintf(shell->term, sizeof shell->term, "TERM=%s", term);
}

static int start_shell(void *ctx, struct attachment *attachment, struct error *err)
{
	struct shell *shell = ctx;
	const char *name = shell->call->operands[0];
	const char *const argv[] = {
		"sh", "-c", script, "sh", name != NULL ? name : "belljar", NULL
	};
	const char *const env[] = { shell->term, NULL };
	struct foreground_options options = {
		.run = { .argv = argv, .env = env, .with_stdin = true, .terminal = true },
		.what = "shell",
		.on_screen = true,
		.ended = on_ended,
		.ctx = shell,
	};

	shell->attachment = attachment;
	name_terminal(shell);
	terminal_size(&options.run.rows, &options.run.columns);
	if (foreground_open(&shell->program, attachment, err) < 0)
		return -1;
	shell->resized = loop_signal_new(attachment_loop(attachment), SIGWINCH, on_resized, shell);
	if (terminal_set_raw(err) < 0)
		return -1;
	return foreground_start(&shell->program, &options, err);
}

static bool pass_signal(void *ctx, int number)
{
	struct shell *shell = ctx;

	return foreground_signal(&shell->program, number);
}

static void close_shell(void *ctx)
{
	struct shell *shell = ctx;

	(void)loop_signal_free(shell->resized);
	foreground_close(&shell->program);
	terminal_restore(&shell->program.screen);
}

static const struct attachment_events attachment_events = { start_shell, pass_signal, close_shell };

static enum verb_result run_shell(const struct verb_call *call, struct error *err)
{
	static struct shell shell;
	const struct attachment_options options = { .call = call, .sandbox = call->operands[0] };

	shell = (struct shell){ .call = call };
	if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
		(void)error_set(err, ERR_INVALID,
		                "shell: standard input and output must be a terminal; use 'belljar "
		                "exec' to run a program without one");
		return VERB_MISUSED;
	}
	if (options.sandbox != NULL && !option_specs[OPTION_SANDBOX].accepts(options.sandbox)) {
		(void)error_set(err, ERR_INVALID, "shell: the sandbox must be %s",
		                option_specs[OPTION_SANDBOX].expected);
		return VERB_MISUSED;
	}
	terminal_save_flags();
	return attachment_run(&options, &attachment_events, &shell, err);
}

static const struct verb_example examples[] = {
	{ "belljar shell", "Open a shell in a temporary sandbox." },
	{ "belljar shell work", "Open a shell in the sandbox 'work', which is kept." },
	{ NULL, NULL },
};

const struct verb verb_shell = {
	.name = "shell",
	.operand = "SANDBOX",
	.summary = "Open a shell in a sandbox.",
	.help = "Runs bash, or sh where bash is missing, on a terminal of its own in a sandbox. "
	        "SANDBOX is a name or an id; a sandbox with a new name is created and kept. "
	        "Without SANDBOX a temporary sandbox is created, and removed when the shell exits. "
	        "All keys go to the shell; leave it with 'exit' or Ctrl-D. The exit status is the "
	        "shell's.\n\n"
	        "Programs may draw on the terminal. Escape sequences that set the title or the "
	        "clipboard, or that make the terminal reply, are filtered out.",
	.examples = examples,
	.options = FOR_SHELL,
	.run = run_shell,
};
