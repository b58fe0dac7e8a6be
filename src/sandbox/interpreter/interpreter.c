/* interpreter.c - start and end of an interpreter's program (see internal.h). */
#include "sandbox/interpreter/interpreter.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kernels/kernels.h"
#include "loop/loop.h"
#include "sandbox/interpreter/internal.h"
#include "sandbox/sandbox.h"
#include "wire/table.h"

enum {
	START_MS = 60000, /* until READY; the agent kills an interpreter that hangs at its start */
	LOADER_ARGS_MAX = 12,
};

/* --- the end ---------------------------------------------------------------------------------- */

static void free_interpreter(struct interpreter *interpreter)
{
	(void)loop_timer_free(interpreter->mark_timer);
	(void)loop_timer_free(interpreter->idle_timer);
	buf_done(&interpreter->pending);
	buf_done(&interpreter->out);
	buf_done(&interpreter->in);
	buf_done(&interpreter->early[0]);
	buf_done(&interpreter->early[1]);
	free(interpreter);
}

void interpreter_kill(struct interpreter *interpreter)
{
	if (interpreter == NULL)
		return;
	if (interpreter->run != NULL)
		run_cancel(interpreter->run);
	free_interpreter(interpreter);
}

static void describe_end(const struct run_end *end, char *out, size_t size)
{
	if (end->out_of_memory)
		(void)snprintf(out, size, "it ran out of memory");
	else if (end->timed_out)
		(void)snprintf(out, size, "it was killed at its deadline");
	else if (end->signal != 0)
		(void)snprintf(out, size, "it was killed by signal %d", end->signal);
	else
		(void)snprintf(out, size, "it exited with code %d", end->code);
}

/* Reports the end to the owner first: the user's callback may ask the pool for an interpreter, and
 * the pool must not hand out this one again. */
static void report_gone(struct interpreter *interpreter, const struct run_end *end,
                        const struct error *why)
{
	const struct interpreter_user_events *user = interpreter->user;
	void *ctx = interpreter->user_ctx;
	char text[sizeof(((struct error *)0)->msg)];

	if (end != NULL)
		describe_end(end, text, sizeof text);
	else
		(void)snprintf(text, sizeof text, "%s", why->msg);
	if (interpreter->run != NULL)
		run_cancel(interpreter->run);
	interpreter->owner->gone(interpreter->owner_ctx, text);
	free_interpreter(interpreter);
	if (user != NULL)
		user->gone(ctx, end, why);
}

void interpreter_fail(struct interpreter *interpreter, const struct error *why)
{
	struct error err = *why;

	(void)error_wrap(&err, "the interpreter broke its protocol");
	report_gone(interpreter, NULL, &err);
}

static void on_writable(void *ctx)
{
	interpreter_send(ctx);
}

/* A Python spare forks for each execution and stays (kernel_program.is_reusable). Its own exit with
 * code 0 in the middle of an execution says nothing about the code, and must not look like
 * success. */
static bool is_exit_unrelated(const struct interpreter *interpreter, const struct run_end *end)
{
	return interpreter->stage == INTERPRETER_RUNNING && interpreter->program->is_reusable &&
	       !interpreter->is_session && end->code == 0 && end->signal == 0 && !end->timed_out;
}

/* The limits that the program met are found out before its end is reported, which asks the agent
 * once more: code that arrives meanwhile needs another interpreter. The end of a process that
 * serves several runs is not the end of the code. */
static void on_program_exited(void *ctx)
{
	struct interpreter *interpreter = ctx;

	interpreter->has_exited = true;
	if (interpreter->stage == INTERPRETER_RUNNING && interpreter->is_ready &&
	    !interpreter->program->is_reusable && !interpreter->is_session)
		interpreter->user->exited(interpreter->user_ctx);
}

static void on_program_ended(void *ctx, const struct run_end *run_end)
{
	struct interpreter *interpreter = ctx;
	struct run_end end = *run_end;
	struct error err;

	interpreter->run = NULL;
	interpreter_flush_held(interpreter);
	/* An interpreter that is to become a run may be starting still at the run's deadline. */
	if (!interpreter->is_ready &&
	    !(interpreter->stage == INTERPRETER_RUNNING && end.timed_out)) {
		char how[64];

		describe_end(&end, how, sizeof how);
		(void)error_set(&err, ERR_SYSTEM, "the interpreter could not be started: %s", how);
		report_gone(interpreter, NULL, &err);
		return;
	}
	if (interpreter->stage == INTERPRETER_MARKING) { /* ENDED has reported how the code ended */
		interpreter->is_spent = true;
		end.code = interpreter->end.code;
		end.signal = interpreter->end.signal;
		end.timed_out = interpreter->end.timed_out;
	} else if (is_exit_unrelated(interpreter, &end)) {
		(void)error_set(&err, ERR_SYSTEM,
		                "the waiting interpreter exited before the code had ended; run the "
		                "code again");
		report_gone(interpreter, NULL, &err);
		return;
	}
	report_gone(interpreter, &end, NULL);
}

static void on_program_failed(void *ctx, const struct error *why)
{
	struct interpreter *interpreter = ctx;

	interpreter->run = NULL;
	report_gone(interpreter, NULL, why);
}

static const struct run_events run_events = { .output = interpreter_on_output,
	                                      .writable = on_writable,
	                                      .control = interpreter_on_control,
	                                      .exited = on_program_exited,
	                                      .ended = on_program_ended,
	                                      .failed = on_program_failed };

/* --- the start -------------------------------------------------------------------------------- */

static int put_prefix(struct buf *text, const struct interpreter_options *options,
                      struct error *err)
{
	const struct kernel_program *program = options->program;

	if (options->is_session)
		return buf_add(text, view_of(program->session_prefix), err);
	if (program->fresh_prefix == NULL)
		return 0;
	if (options->former != NULL && options->former[0] != '\0' &&
	    buf_printf(text, err, "former = '%s'; ", options->former) < 0)
		return -1;
	return buf_add(text, view_of(program->fresh_prefix), err);
}

static int put_boot_message(struct buf *out, const struct interpreter_options *options,
                            struct error *err)
{
	AUTO_BUF struct buf text;

	buf_init(&text, INTERPRETER_OUT_MAX);
	if (put_prefix(&text, options, err) < 0 ||
	    buf_add(&text, kernel_source(options->program), err) < 0)
		return -1;
	return kernel_encode_boot(out, buf_view(&text), err);
}

static struct interpreter *new_interpreter(struct sandbox *sandbox,
                                           const struct interpreter_options *options)
{
	struct interpreter *interpreter = mem_new(sizeof *interpreter);

	interpreter->program = options->program;
	interpreter->is_session = options->is_session;
	interpreter->loop = sandbox_loop(sandbox);
	interpreter->sandbox = sandbox;
	interpreter->mark_timer = loop_timer_new(interpreter->loop, interpreter_on_mark_timeout,
	                                         interpreter);
	interpreter->idle_timer = loop_timer_new(interpreter->loop, interpreter_on_idle_timer,
	                                         interpreter);
	buf_init(&interpreter->out, INTERPRETER_OUT_MAX);
	buf_init(&interpreter->pending, INTERPRETER_OUT_MAX);
	buf_init(&interpreter->in, KERNEL_HEADER + KERNEL_MESSAGE_MAX + WIRE_FRAME_MAX);
	for (int i = 0; i < 2; i++)
		buf_init(&interpreter->early[i], WIRE_WINDOW);
	return interpreter;
}

int interpreter_start(struct sandbox *sandbox, const struct interpreter_options *options,
                      const struct interpreter_owner_events *owner, void *ctx,
                      struct interpreter **ret, struct error *err)
{
	const char *argv[LOADER_ARGS_MAX + 2] = { options->path };
	const struct run_options run_options = {
		.argv = argv,
		.env = options->env,
		.deadline_ms = START_MS,
		.with_control = true,
		.limits_data = options->program->limits_data,
	};
	struct interpreter *interpreter = new_interpreter(sandbox, options);

	for (size_t i = 0; i < LOADER_ARGS_MAX && options->program->options[i] != NULL; i++)
		argv[i + 1] = options->program->options[i];
	interpreter->owner = owner;
	interpreter->owner_ctx = ctx;
	interpreter->data_limit = run_options.limits_data ? run_data_limit(sandbox) : 0;
	if (run_start(sandbox, &run_options, &run_events, interpreter, &interpreter->run, err) <
	    0) {
		free_interpreter(interpreter);
		return -1;
	}
	/* The agent starts the process while BOOT is made, which has the whole kernel. */
	if (put_boot_message(&interpreter->out, options, err) < 0) {
		run_cancel(interpreter->run);
		free_interpreter(interpreter);
		return -1;
	}
	/* RUN follows in the same frames if the interpreter is for one run. */
	if (options->program->waiting == NULL)
		interpreter_send(interpreter);
	*ret = interpreter;
	return 0;
}

/* --- what the user asks for ------------------------------------------------------------------- */

int interpreter_execute(struct interpreter *interpreter, const struct kernel_run *run,
                        uint32_t deadline_ms, const struct interpreter_user_events *user, void *ctx,
                        struct error *err)
{
	bool is_early = interpreter->stage == INTERPRETER_STARTING &&
	                interpreter->program->waiting != NULL;
	struct kernel_run message = *run;

	if (interpreter->data_limit != 0 &&
	    interpreter->data_limit != run_data_limit(interpreter->sandbox))
		message.data_limit = run_data_limit(interpreter->sandbox);
	if (kernel_encode_run(is_early ? &interpreter->out : &interpreter->pending, &message, err) <
	    0)
		return -1;
	interpreter->deadline_ms = deadline_ms;
	interpreter->user = user;
	interpreter->user_ctx = ctx;
	if (is_early)
		interpreter_begin(interpreter);
	else if (interpreter->stage == INTERPRETER_IDLE)
		interpreter_start_pending(interpreter);
	return 0;
}

void interpreter_consumed(struct interpreter *interpreter, bool is_stderr, size_t bytes)
{
	size_t *inserted = &interpreter->inserted[is_stderr];
	size_t own = bytes < *inserted ? bytes : *inserted;

	*inserted -= own;
	if (interpreter->run != NULL)
		run_consumed(interpreter->run, is_stderr, bytes - own);
}

void interpreter_interrupt(struct interpreter *interpreter)
{
	if (interpreter->run != NULL)
		run_signal(interpreter->run, SIGINT);
}

void interpreter_signal(struct interpreter *interpreter, int number)
{
	/* The signal may reach a spare's own process after the code it was meant for has ended, so
	 * a spare is not used again. A session keeps its interpreter, whatever the signal did. */
	interpreter->is_spent |= !interpreter->is_session;
	if (interpreter->run != NULL)
		run_signal(interpreter->run, number);
}

bool interpreter_is_started(const struct interpreter *interpreter)
{
	return interpreter->is_ready;
}

bool interpreter_is_idle(const struct interpreter *interpreter)
{
	return interpreter->stage == INTERPRETER_IDLE;
}

bool interpreter_has_exited(const struct interpreter *interpreter)
{
	return interpreter->has_exited;
}

bool interpreter_is_reusable(const struct interpreter *interpreter)
{
	return !interpreter->is_spent;
}
