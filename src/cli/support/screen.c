#include "cli/support/screen.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/support/attachment.h"
#include "cli/support/foreground.h"
#include "cli/support/terminal.h"
#include "loop/loop.h"
#include "server/options/options.h"

struct screen {
	const struct screen_options *options;
	struct attachment *attachment;
	struct foreground program;
	struct loop_signal *resized;
	char term[80];
};

static void on_ended(void *ctx, int status)
{
	struct screen *screen = ctx;

	attachment_stop(screen->attachment, status);
}

static void on_resized(void *ctx)
{
	struct screen *screen = ctx;
	uint16_t rows, columns;

	terminal_size(&rows, &columns);
	foreground_resize(&screen->program, rows, columns);
}

/* TERM names an entry of terminfo, which programs look up inside the sandbox. The value is checked,
 * because a program may use it as a file name. */
static void name_terminal(struct screen *screen)
{
	const char *term = getenv("TERM");
	size_t len = term != NULL ? strspn(term, "abcdefghijklmnopqrstuvwxyz"
	                                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")
	                          : 0;

	if (len == 0 || term[len] != '\0' || len > 64)
		term = "dumb";
	(void)snprintf(screen->term, sizeof screen->term, "TERM=%s", term);
}

static int start_program(void *ctx, struct attachment *attachment, struct error *err)
{
	struct screen *screen = ctx;
	uint64_t timeout_s = screen->options->call->options->timeout_s;
	const char *const env[] = { screen->term, NULL };
	struct foreground_options options = {
		.run = { .argv = screen->options->argv,
		         .env = env,
		         .deadline_ms = (uint32_t)(timeout_s * 1000),
		         .with_stdin = true,
		         .terminal = true },
		.what = screen->options->what,
		.timeout_s = timeout_s,
		.on_screen = true,
		.ended = on_ended,
		.ctx = screen,
	};

	screen->attachment = attachment;
	name_terminal(screen);
	terminal_size(&options.run.rows, &options.run.columns);
	if (foreground_open(&screen->program, attachment, err) < 0)
		return -1;
	screen->resized = loop_signal_new(attachment_loop(attachment), SIGWINCH, on_resized,
	                                  screen);
	if (terminal_set_raw(err) < 0)
		return -1;
	return foreground_start(&screen->program, &options, err);
}

static bool pass_signal(void *ctx, int number)
{
	struct screen *screen = ctx;

	return foreground_signal(&screen->program, number);
}

static void close_screen(void *ctx)
{
	struct screen *screen = ctx;

	(void)loop_signal_free(screen->resized);
	foreground_close(&screen->program);
	terminal_restore(&screen->program.screen);
}

static const struct attachment_events attachment_events = { start_program, pass_signal,
	                                                    close_screen };

enum verb_result screen_run(const struct screen_options *options, struct error *err)
{
	static struct screen screen;
	const struct attachment_options attachment = { .call = options->call,
		                                       .sandbox = options->sandbox };

	screen = (struct screen){ .options = options };
	if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
		(void)error_set(err, ERR_INVALID,
		                "%s: standard input and output must be a terminal; %s",
		                options->call->options->terminal ? "--terminal" : "shell",
		                options->call->options->terminal
		                        ? "leave the option out"
		                        : "use 'belljar exec' to run a program without one");
		return VERB_MISUSED;
	}
	terminal_save_flags();
	return attachment_run(&attachment, &attachment_events, &screen, err);
}
