#include "cli/support/foreground.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "cli/support/attachment.h"
#include "loop/output.h"
#include "sandbox/sandbox.h"

enum { QUEUE_MAX = 256 * 1024 };

/* --- output --------------------------------------------------------------------------------- */

static void end_when_written(struct foreground *fg)
{
	if (fg->run != NULL || fg->is_over || fg->unwritten[0] != 0 || fg->unwritten[1] != 0)
		return;
	fg->is_over = true;
	fg->options.ended(fg->options.ctx, fg->status);
}

static bool goes_to_error(const struct foreground *fg, bool is_stderr)
{
	return is_stderr || fg->options.all_to_error;
}

static void return_credit(struct foreground *fg, bool to_error)
{
	for (int i = 0; i < 2; i++) {
		size_t bytes = fg->unwritten[i];

		if (goes_to_error(fg, i != 0) != to_error || bytes == 0)
			continue;
		fg->unwritten[i] = 0;
		if (fg->run != NULL)
			run_consumed(fg->run, i != 0, bytes);
	}
	end_when_written(fg);
}

static void on_drained_out(void *ctx)
{
	return_credit(ctx, false);
}

static void on_drained_err(void *ctx)
{
	return_credit(ctx, true);
}

/* The program inside cannot see that its output has no reader, so it is killed. */
static void on_output_failed(void *ctx, const struct error *why)
{
	struct foreground *fg = ctx;

	fg->unwritten[0] = fg->unwritten[1] = 0;
	fg->is_over = true;
	if (fg->run != NULL) {
		run_cancel(fg->run);
		fg->run = NULL;
	}
	if (why->errnum == EPIPE)
		attachment_stop(fg->attachment, STATUS_SIGNAL + SIGPIPE);
	else
		attachment_fail(fg->attachment, why);
}

static int write_filtered(struct foreground *fg, bool to_error, struct view bytes,
                          struct error *err)
{
	char text[4096 + ANSI_FILTER_HELD_MAX];

	for (size_t done = 0, left; done < bytes.len;) {
		size_t part = bytes.len - done < 4096 ? bytes.len - done : 4096;

		if (fg->options.on_screen)
			left = ansi_filter_bytes(&fg->screen, bytes.ptr + done, part, text);
		else
			left = ansi_strip_bytes(&fg->plain[to_error], bytes.ptr + done, part, text);
		if (output_write(fg->output[to_error], (struct view){ text, left }, err) < 0)
			return -1;
		done += part;
	}
	return 0;
}

static void on_output(void *ctx, bool is_stderr, struct view bytes)
{
	struct foreground *fg = ctx;
	bool to_error = goes_to_error(fg, is_stderr);
	struct error err;
	int r;

	fg->unwritten[is_stderr] += bytes.len;
	if (fg->is_terminal[to_error])
		r = write_filtered(fg, to_error, bytes, &err);
	else
		r = output_write(fg->output[to_error], bytes, &err);
	if (r < 0)
		on_output_failed(fg, &err);
	else if (output_pending(fg->output[to_error]) == 0)
		return_credit(fg, to_error);
}

/* --- input ---------------------------------------------------------------------------------- */

static void send_typed(struct foreground *fg)
{
	size_t sent = fg->typed.len != 0 ? run_write(fg->run, fg->typed) : 0;

	fg->typed.ptr += sent;
	fg->typed.len -= sent;
	if (fg->typed.len != 0)
		return;
	if (fg->input_ended)
		run_end_input(fg->run);
	else
		input_resume(fg->input);
}

static void on_typed(void *ctx, struct view bytes)
{
	struct foreground *fg = ctx;

	memcpy(fg->typed_bytes, bytes.ptr, bytes.len);
	fg->typed = (struct view){ fg->typed_bytes, bytes.len };
	input_pause(fg->input);
	if (fg->run != NULL)
		send_typed(fg);
}

static void on_input_end(void *ctx, const struct error *why)
{
	struct foreground *fg = ctx;

	(void)why;
	fg->input_ended = true;
	if (fg->run != NULL && fg->typed.len == 0)
		run_end_input(fg->run);
}

static void on_writable(void *ctx)
{
	struct foreground *fg = ctx;

	if (fg->typed.len != 0)
		send_typed(fg);
}

/* --- the end of the program ----------------------------------------------------------------- */

static void record_run(struct foreground *fg, const char *outcome)
{
	sandbox_record_run(attachment_sandbox(fg->attachment), fg->started_s,
	                   clock_now_ms() - fg->started_ms, fg->what, outcome);
}

/* A terminal in raw mode does not return to the first column by itself. */
static const char *line_end(const struct foreground *fg)
{
	return fg->options.on_screen ? "\r\n" : "\n";
}

static void on_ended(void *ctx, const struct run_end *end)
{
	struct foreground *fg = ctx;
	char outcome[64];

	fg->run = NULL;
	if (end->timed_out) {
		fg->status = STATUS_TIMED_OUT;
		(void)snprintf(outcome, sizeof outcome, "timed out");
		(void)fprintf(stderr,
		              "belljar: the program was killed after its time-out of %llu s%s",
		              (unsigned long long)fg->options.timeout_s, line_end(fg));
	} else if (end->signal != 0) {
		fg->status = STATUS_SIGNAL + end->signal;
		(void)snprintf(outcome, sizeof outcome, "signal %d", end->signal);
	} else {
		fg->status = end->code;
		(void)snprintf(outcome, sizeof outcome, "exit code %d", end->code);
	}
	if (end->note[0] != '\0')
		(void)fprintf(stderr, "belljar: %s%s", end->note, line_end(fg));
	record_run(fg, outcome);
	end_when_written(fg);
}

static int status_for_error(const struct error *why)
{
	if (why->kind == ERR_NOT_FOUND)
		return STATUS_MISSING;
	if (why->kind == ERR_LIMIT)
		return STATUS_SIGNAL + SIGKILL;
	return why->errnum == EACCES || why->errnum == ENOEXEC ? STATUS_DENIED : 1;
}

static void on_failed(void *ctx, const struct error *why)
{
	struct foreground *fg = ctx;

	fg->run = NULL;
	fg->status = attachment_signal_status(fg->attachment);
	if (fg->status == 0) { /* otherwise a signal of this process ended the program */
		fg->status = status_for_error(why);
		(void)fprintf(stderr, "belljar: %s%s", why->msg, line_end(fg));
	}
	record_run(fg, why->msg);
	end_when_written(fg);
}

/* --- opening, starting, closing ------------------------------------------------------------- */

static const struct run_events run_events = {
	.output = on_output, .writable = on_writable, .ended = on_ended, .failed = on_failed
};
static const struct input_events input_events = { .bytes = on_typed, .end = on_input_end };
static const struct output_events output_events[2] = { { on_drained_out, on_output_failed },
	                                               { on_drained_err, on_output_failed } };

int foreground_open(struct foreground *fg, struct attachment *attachment, struct error *err)
{
	fg->attachment = attachment;
	for (int i = 0; i < 2; i++) {
		if (output_new(attachment_loop(attachment), STDOUT_FILENO + i, QUEUE_MAX,
		               &output_events[i], fg, &fg->output[i], err) < 0)
			return -1;
		fg->is_terminal[i] = isatty(STDOUT_FILENO + i) == 1;
	}
	return 0;
}

/* Makes the description for the history: one line, escaped. */
static void describe_program(struct foreground *fg)
{
	char line[sizeof fg->what];
	size_t used = 0;

	if (fg->options.what != NULL)
		used = (size_t)snprintf(line, sizeof line, "%s", fg->options.what);
	else
		for (const char *const *arg = fg->options.run.argv;
		     *arg != NULL && used < sizeof line; arg++)
			used += (size_t)snprintf(line + used, sizeof line - used, "%s%s",
			                         used != 0 ? " " : "", *arg);
	if (used >= sizeof line)
		used = utf8_prefix(line, sizeof line - 1, sizeof line - 1);
	(void)utf8_escape((struct view){ line, used }, fg->what, sizeof fg->what);
}

int foreground_start(struct foreground *fg, const struct foreground_options *options,
                     struct error *err)
{
	fg->options = *options;
	fg->is_over = false;
	fg->started_s = (int64_t)time(NULL);
	fg->started_ms = clock_now_ms();
	describe_program(fg);
	if (run_start(attachment_sandbox(fg->attachment), &options->run, &run_events, fg, &fg->run,
	              err) < 0)
		return -1;
	if (options->run.with_stdin && fg->input == NULL)
		fg->input = input_new(attachment_loop(fg->attachment), STDIN_FILENO, &input_events,
		                      fg);
	return 0;
}

bool foreground_signal(struct foreground *fg, int number)
{
	if (fg->run == NULL)
		return false;
	run_signal(fg->run, number);
	return true;
}

void foreground_resize(struct foreground *fg, uint16_t rows, uint16_t columns)
{
	if (fg->run != NULL)
		run_resize(fg->run, rows, columns);
}

void foreground_close(struct foreground *fg)
{
	if (fg->run != NULL)
		run_cancel(fg->run);
	fg->run = NULL;
	(void)input_free(fg->input);
	(void)output_free(fg->output[1]);
	(void)output_free(fg->output[0]);
}
