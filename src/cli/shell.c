#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/support/foreground.h"
#include "cli/support/session.h"
#include "cli/support/terminal.h"
#include "cli/verb.h"
#include "loop/loop.h"
#include "server/options/options.h"

static const char script[] = "command -v bash >/dev/null 2>&1 && exec bash; PS1='$ ' exec sh";

struct shell {
	const struct verb_call *call;
	struct session *session;
	struct foreground program;
	struct loop_signal *resized;
	char term[80];
};

static void on_ended(void *ctx, int status)
{
	struct shell *shell = ctx;

	session_end(shell->session, status);
}

static void on_resized(void *ctx)
{
	struct shell *shell = ctx;
	uint16_t rows, columns;

	terminal_size(&rows, &columns);
	foreground_resize(&shell->program, rows, columns);
}

/* The kind of terminal, which programs inside look up in their own tables. */
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

static int start(void *ctx, struct session *session, struct error *err)
{
	struct shell *shell = ctx;
	const char *name = shell->call->operands[0];
	const char *const argv[] = {
		"sh", "-c", script, "sh", name != NULL ? name : "belljar", NULL
	};
	const char *const env[] = { shell->term, NULL };
	struct foreground_wish wish = {
		.run = { .argv = argv, .env = env, .with_stdin = true, .terminal = true },
		.what = "shell",
		.on_screen = true,
		.ended = on_ended,
		.ctx = shell,
	};

	shell->session = session;
	name_terminal(shell);
	terminal_size(&wish.run.rows, &wish.run.columns);
	if (foreground_open(&shell->program, session, err) < 0)
		return -1;
	shell->resized = loop_signal_new(session_loop(session), SIGWINCH, on_resized, shell);
	if (terminal_lend(err) < 0)
		return -1;
	return foreground_start(&shell->program, &wish, err);
}

static bool on_signal(void *ctx, int number)
{
	struct shell *shell = ctx;

	return foreground_signal(&shell->program, number);
}

static void stop(void *ctx)
{
	struct shell *shell = ctx;

	(void)loop_signal_free(shell->resized);
	foreground_close(&shell->program);
	terminal_give_back(&shell->program.screen);
}

static const struct session_events session_events = { start, on_signal, stop };

static enum verb_result run(const struct verb_call *call, struct error *err)
{
	static struct shell shell;
	const struct session_wish wish = { .call = call, .sandbox = call->operands[0] };

	shell = (struct shell){ .call = call };
	if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
		(void)error_set(err, ERR_INVALID,
		                "shell: standard input and output are not a terminal; programs "
		                "are run without one by 'belljar exec'");
		return VERB_MISUSED;
	}
	if (wish.sandbox != NULL && !option_specs[OPTION_SANDBOX].accepts(wish.sandbox)) {
		(void)error_set(err, ERR_INVALID, "shell: the sandbox must be %s",
		                option_specs[OPTION_SANDBOX].expected);
		return VERB_MISUSED;
	}
	terminal_note();
	return session_run(&wish, &session_events, &shell, err);
}

static const struct verb_example examples[] = {
	{ "belljar shell", "A shell in a new sandbox, which goes when the shell ends." },
	{ "belljar shell work", "A shell in the sandbox of that name, which is kept." },
	{ NULL, NULL },
};

const struct verb verb_shell = {
	.name = "shell",
	.operand = "SANDBOX",
	.summary = "Open a shell in a sandbox.",
	.help = "Runs bash, or sh if there is none, on a terminal of its own in a sandbox, by name "
	        "or id: it is made if there is none of that name, and kept. Without one a new "
	        "sandbox is made and thrown away. All keys go to the shell; it ends with 'exit' "
	        "or Ctrl-D. The exit status is the shell's.\n\n"
	        "Programs may draw on the terminal, but not set its title or the clipboard, nor "
	        "make it answer.",
	.examples = examples,
	.options = FOR_SHELL,
	.run = run,
};
