#include "sandbox/interpreter/code_run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "engine/spec.h"
#include "kernels/kernels.h"
#include "loop/loop.h"
#include "sandbox/interpreter/internal.h"
#include "sandbox/interpreter/kernel_wire.h"
#include "sandbox/run/code_dir.h"
#include "sandbox/run/limit_check.h"
#include "sandbox/sandbox.h"

struct code_run {
	struct run run;
	struct interpreter_pool *pool;
	struct code_options options;
	struct pool_waiter waiter;
	struct interpreter *interpreter; /* NULL: not yet, or no longer borrowed */
	size_t unconsumed[2];            /* output that was delivered and not returned */
	struct code_dir dir;             /* of fresh code */
	struct limit_check limits;
	struct run_end end;
	struct loop_timer *timer; /* of a deadline or of the grace period; NULL: not needed yet */
	bool is_stopping;         /* the timer kills; before, it is a cell's deadline */
	bool is_timed_out;        /* a cell's deadline has passed */
	bool is_started;          /* RUN was sent */
};

static const struct run_ops code_ops;

static struct code_run *code_of(struct run *run)
{
	return container_of(run, struct code_run, run);
}

static bool is_cell(const struct code_run *code)
{
	return code->options.cell != NULL;
}

static struct session *session_of(const struct code_run *code)
{
	return code->options.cell->session;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void free_code_run(struct run *run)
{
	struct code_run *code = code_of(run);

	list_remove(&code->waiter.node);
	if (code->timer != NULL)
		(void)loop_timer_free(code->timer);
	code_dir_remove(&code->dir, code->pool->sandbox);
	free(code);
}

static void report_end(void *ctx)
{
	struct code_run *code = ctx;
	struct sandbox *sandbox = code->pool->sandbox;
	struct code_dir dir = code->dir;

	code->dir.path[0] = '\0';
	run_report_end(&code->run, &code->end);
	/* The agent forks a process for the removal, so what the answer waits for comes first. */
	code_dir_remove(&dir, sandbox);
}

static void check_limits(struct code_run *code)
{
	if (code->timer != NULL)
		loop_timer_stop(code->timer);
	limit_check_finish(&code->limits, &code->end, report_end, code);
}

/* --- events of the interpreter ---------------------------------------------------------------- */

static void on_timer(void *ctx);

static void start_timer(struct code_run *code, uint64_t ms)
{
	if (code->timer == NULL)
		code->timer = loop_timer_new(sandbox_loop(code->pool->sandbox), on_timer, code);
	loop_timer_start(code->timer, ms);
}

static void on_started(void *ctx)
{
	struct code_run *code = ctx;

	code->is_started = true;
	/* Only limits that this code meets count, and not those of the spare's earlier life. */
	limit_check_start(&code->limits, code->pool->sandbox);
	if (is_cell(code)) {
		session_cell_started(session_of(code));
		if (code->options.deadline_ms != 0)
			start_timer(code, code->options.deadline_ms);
	}
	code->run.events->started(code->run.ctx);
}

static void on_output(void *ctx, bool is_stderr, struct view bytes)
{
	struct code_run *code = ctx;

	code->unconsumed[is_stderr] += bytes.len;
	limit_check_output(&code->limits, is_stderr, bytes);
	code->run.events->output(code->run.ctx, is_stderr, bytes);
}

static void on_display(void *ctx, const struct kernel_message *message)
{
	struct code_run *code = ctx;

	code->run.events->display(code->run.ctx, message);
}

static void on_exited(void *ctx)
{
	struct code_run *code = ctx;

	if (code->run.events->exited != NULL)
		code->run.events->exited(code->run.ctx);
}

/* Another run may borrow the interpreter as soon as this one has ended, so its flow-control credit
 * is returned now, and not when the output has reached its file. */
static void return_interpreter(struct code_run *code)
{
	for (int i = 0; i < 2; i++)
		interpreter_consumed(code->interpreter, i, code->unconsumed[i]);
	code->interpreter = NULL;
}

static void on_ended(void *ctx, const struct run_end *end, bool is_exit)
{
	struct code_run *code = ctx;
	bool is_reusable = interpreter_is_reusable(code->interpreter);
	char why[64] = "it did not mark the end of its output";

	code->end = *end;
	code->end.timed_out |= code->is_timed_out;
	if (code->options.program->is_reusable)
		code->dir.path[0] = '\0'; /* the interpreter has removed the directory itself */
	return_interpreter(code);
	if (is_exit)
		(void)snprintf(why, sizeof why, "it exited with code %d", end->code);
	/* Output or signals of this cell might reach the next one, so the session starts anew. */
	if (is_cell(code) && !is_reusable)
		code->options.report->is_lost = session_kill(session_of(code), why);
	check_limits(code);
}

/* The limits are in *end already: the interpreter's own run has checked them. */
static void on_gone(void *ctx, const struct run_end *end, const struct error *why)
{
	struct code_run *code = ctx;

	code->interpreter = NULL;
	if (is_cell(code))
		code->options.report->is_lost = code->is_started;
	if (end == NULL) {
		run_report_failure(&code->run, why);
		return;
	}
	code->end = *end;
	code->end.timed_out |= code->is_timed_out;
	report_end(code);
}

static const struct interpreter_user_events user_events = { on_started, on_output, on_display,
	                                                    on_exited,  on_ended,  on_gone };

/* --- handing the code over -------------------------------------------------------------------- */

/* Whether the environment sets a variable that interpreters of this kind read only at their start
 * (PYTHONPATH, for example): a spare that has started would ignore it. */
static bool needs_own_interpreter(const struct code_run *code)
{
	const char *const *env = code->options.env;
	const char *const *names = code->options.program->startup_env;

	for (size_t i = 0; env != NULL && env[i] != NULL; i++)
		for (size_t k = 0; names != NULL && names[k] != NULL; k++)
			if (strncmp(env[i], names[k], strlen(names[k])) == 0)
				return true;
	return false;
}

static int get_session_interpreter(struct code_run *code, struct error *err)
{
	struct session *session = session_of(code);
	struct session_report *report = code->options.report;

	if (session->interpreter != NULL && interpreter_has_exited(session->interpreter))
		(void)session_kill(session, "its process exited or was killed");
	report->was_lost = session->is_lost;
	if (session->is_lost)
		(void)snprintf(report->why_lost, sizeof report->why_lost, "%s", session->why_lost);
	return session_interpreter(session, code->options.program, code->options.path,
	                           &code->interpreter, err);
}

static int get_interpreter(struct code_run *code, struct error *err)
{
	const char *const *env = needs_own_interpreter(code) ? code->options.env : NULL;

	if (is_cell(code))
		return get_session_interpreter(code, err);
	return pool_borrow(code->pool, code->options.program, code->options.path, env,
	                   &code->interpreter, err);
}

static struct kernel_run make_message(struct code_run *code, char *name, size_t size)
{
	static const char *const none[] = { NULL };
	const struct code_options *options = &code->options;

	if (is_cell(code)) {
		(void)snprintf(name, size, "<cell %u>", session_of(code)->cells + 1);
	} else {
		code_dir_choose(&code->dir, options->program->saves_in_memory ? CODE_DIR_MEMORY
		                                                              : CODE_DIR_DISK);
		(void)snprintf(name, size, "%s", code->dir.path);
	}
	return (struct kernel_run){
		.is_cell = is_cell(code),
		.name = name,
		.cwd = options->cwd != NULL ? options->cwd
		       : is_cell(code)      ? ""
		                            : SPEC_WORKSPACE,
		.code = options->code,
		.has_stdin = options->in.len != 0,
		.in = options->in,
		.pixels = options->picture_pixels,
		.bytes = options->picture_bytes,
		.args = options->args != NULL ? options->args : none,
		.env = options->env != NULL ? options->env : none,
	};
}

static void on_capacity(void *ctx)
{
	struct code_run *code = ctx;

	code_run_start(&code->run);
}

static bool must_wait(const struct code_run *code)
{
	return !is_cell(code) && !needs_own_interpreter(code) &&
	       !pool_has_capacity(code->pool, code->options.program, code->options.path);
}

void code_run_start(struct run *run)
{
	struct code_run *code = code_of(run);
	struct kernel_run message;
	struct error err;
	char name[64];

	if (must_wait(code)) {
		code->waiter = (struct pool_waiter){ .fn = on_capacity, .ctx = code };
		pool_wait(code->pool, &code->waiter);
		return;
	}
	if (get_interpreter(code, &err) < 0) {
		run_report_failure(&code->run, &err);
		return;
	}
	message = make_message(code, name, sizeof name);
	/* The agent's deadline would kill the interpreter, and a session's state with it, so a
	 * cell's deadline is the timer of this run. */
	if (interpreter_execute(code->interpreter, &message,
	                        is_cell(code) ? 0 : code->options.deadline_ms, &user_events, code,
	                        &err) == 0)
		return;
	/* A session's interpreter has not got the message and stays as it is. */
	if (!is_cell(code))
		pool_kill(code->pool, code->interpreter);
	run_report_failure(&code->run, &err);
}

struct run *code_run_new(struct interpreter_pool *pool, const struct code_options *options,
                         const struct run_events *events, void *ctx)
{
	struct code_run *code = mem_new(sizeof *code);

	code->run = (struct run){ &code_ops, events, ctx };
	code->pool = pool;
	code->options = *options;
	return &code->run;
}

/* --- operations ------------------------------------------------------------------------------- */

static void code_consumed(struct run *run, bool is_stderr, size_t bytes)
{
	struct code_run *code = code_of(run);

	if (code->interpreter == NULL)
		return;
	code->unconsumed[is_stderr] -= bytes;
	interpreter_consumed(code->interpreter, is_stderr, bytes);
}

static void code_signal(struct run *run, int number)
{
	struct code_run *code = code_of(run);

	if (code->interpreter == NULL)
		return;
	if (is_cell(code) && number == SIGINT)
		interpreter_interrupt(code->interpreter);
	else
		interpreter_signal(code->interpreter, number);
}

static void code_stop(struct run *run)
{
	struct code_run *code = code_of(run);

	if (code->interpreter == NULL || code->is_stopping)
		return;
	code->is_stopping = true;
	code_signal(run, is_cell(code) ? SIGINT : SIGTERM);
	start_timer(code, RUN_GRACE_MS);
}

/* Ends a cell that has ignored SIGINT, together with its session's interpreter. */
static void kill_cell(struct code_run *code)
{
	const char *why = code->is_timed_out ? "it was killed at its deadline"
	                                     : "a cell was stopped and ignored the interrupt";

	code->interpreter = NULL;
	code->options.report->is_lost = session_kill(session_of(code), why);
	code->end = (struct run_end){ .signal = SIGKILL, .timed_out = code->is_timed_out };
	check_limits(code);
}

static void on_timer(void *ctx)
{
	struct code_run *code = ctx;

	if (!code->is_stopping) {
		code->is_timed_out = true;
		code_stop(&code->run);
	} else if (is_cell(code)) {
		kill_cell(code);
	} else {
		code_signal(&code->run, SIGKILL);
	}
}

static void code_cancel(struct run *run)
{
	struct code_run *code = code_of(run);
	const char *why = code->pool->loss_reason != NULL ? code->pool->loss_reason
	                                                  : "a cell was cancelled while it ran";

	limit_check_cancel(&code->limits);
	/* Code cannot be taken out of a running interpreter, so the interpreter is killed with
	 * it. */
	if (code->interpreter != NULL && is_cell(code))
		code->options.report->is_lost = session_kill(session_of(code), why);
	else if (code->interpreter != NULL)
		pool_kill(code->pool, code->interpreter);
	free_code_run(run);
}

/* All of stdin went with the RUN message, so there is no `write`. */
static const struct run_ops code_ops = {
	.consumed = code_consumed,
	.signal = code_signal,
	.stop = code_stop,
	.cancel = code_cancel,
	.free = free_code_run,
};
