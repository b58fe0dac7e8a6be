/* sandbox_run.c - the run of a program: one EXEC stream of the sandbox's channel. */
#include "sandbox/run/sandbox_run.h"

#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/run/internal.h"
#include "sandbox/run/limit_check.h"
#include "sandbox/sandbox.h"

struct program {
	struct run run;
	struct sandbox *sandbox;
	struct channel_stream *stream; /* NULL: the agent has reported the end */
	uint64_t deadline;             /* on the clock of clock.h; 0: none */
	struct limit_check limits;
	struct run_end end;
	struct loop_timer *kill_timer;    /* runs from run_stop() on; NULL: not stopped */
	struct loop_timer *overdue_timer; /* due when the agent should have reported the end */
	bool has_exited;                  /* EXITED has arrived, DONE has not */
	bool waits_for_sandbox;           /* sandbox_notify_end() has a pointer to this run */
	bool is_cancelled;
};

static const struct run_ops program_ops;

static struct program *program_of(struct run *run)
{
	return container_of(run, struct program, run);
}

static void free_program(struct run *run)
{
	struct program *program = program_of(run);

	if (program->kill_timer != NULL)
		(void)loop_timer_free(program->kill_timer);
	(void)loop_timer_free(program->overdue_timer);
	free(program);
}

/* --- the end ---------------------------------------------------------------------------------- */

void run_report_end(struct run *run, const struct run_end *end)
{
	const struct run_events *events = run->events;
	void *owner = run->ctx;
	struct run_end copy = *end;

	run->ops->free(run);
	events->ended(owner, &copy);
}

void run_report_failure(struct run *run, const struct error *why)
{
	const struct run_events *events = run->events;
	void *owner = run->ctx;

	run->ops->free(run);
	events->failed(owner, why);
}

static void report_end(void *ctx)
{
	struct program *program = ctx;

	run_report_end(&program->run, &program->end);
}

static void check_limits(struct program *program)
{
	limit_check_finish(&program->limits, &program->end, report_end, program);
}

/* --- an agent that does not report the end ---------------------------------------------------- */

uint64_t run_overdue_ms = RUN_OVERDUE_MS;

static bool is_past_deadline(const struct program *program)
{
	return program->deadline != 0 && clock_now_ms() >= program->deadline;
}

/* The stream is cancelled: an honest agent kills what is left of the program. The limits are not
 * checked, because that would ask the agent once more. */
static void on_overdue(void *ctx)
{
	struct program *program = ctx;
	struct error err;

	if (program->stream == NULL)
		return;
	channel_cancel(program->stream);
	program->stream = NULL;
	if (!program->has_exited && !is_past_deadline(program)) {
		(void)error_set(&err, ERR_SYSTEM,
		                "the agent did not report the end of the program within %llu s of "
		                "SIGKILL: reset the sandbox if the program still runs",
		                (unsigned long long)run_overdue_ms / 1000);
		run_report_failure(&program->run, &err);
		return;
	}
	if (!program->has_exited) {
		program->end.timed_out = true;
		program->end.signal = SIGKILL;
	}
	run_end_add_note(&program->end, "the agent did not report the end of the program: some "
	                                "output may be missing");
	report_end(program);
}

/* --- messages of the agent -------------------------------------------------------------------- */

static void on_message(void *ctx, const struct wire_message *message)
{
	struct program *program = ctx;
	const struct wire_exited *exited = &message->exited;

	if (message->type != WIRE_EXITED)
		return;
	program->end.code = exited->code;
	program->end.signal = exited->signal;
	program->end.timed_out = (exited->flags & WIRE_EXITED_TIMED_OUT) != 0;
	/* Of a program that was stopped, or timed out, all processes are killed anyway. The kernel
	 * of R has processes of its own, which outlive an interpreter that is killed. */
	if ((exited->flags & WIRE_EXITED_LEFT) != 0 && !program->end.timed_out &&
	    program->kill_timer == NULL &&
	    (exited->signal == 0 || program->run.events->control == NULL))
		run_end_add_left(&program->end, program->sandbox, exited->left);
	program->has_exited = true;
	loop_timer_start(program->overdue_timer, run_overdue_ms);
	if (program->run.events->exited != NULL)
		program->run.events->exited(program->run.ctx);
}

static void on_bytes(void *ctx, uint8_t channel, struct view bytes)
{
	struct program *program = ctx;

	if (channel != WIRE_CONTROL_OUT) {
		limit_check_output(&program->limits, channel == WIRE_ERR, bytes);
		program->run.events->output(program->run.ctx, channel == WIRE_ERR, bytes);
		return;
	}
	/* The credit goes back before the callback, because the callback may cancel the run. */
	channel_consumed(program->stream, WIRE_CONTROL_OUT, bytes.len);
	if (program->run.events->control != NULL)
		program->run.events->control(program->run.ctx, bytes);
}

static void on_writable(void *ctx)
{
	struct program *program = ctx;

	run_report_writable(&program->run);
}

static void on_done(void *ctx, const struct wire_done *done)
{
	struct program *program = ctx;

	(void)done;
	program->stream = NULL;
	check_limits(program);
}

static void on_sandbox_end(void *ctx, const struct error *why)
{
	struct program *program = ctx;
	const char *reason = sandbox_end_reason(program->sandbox);
	struct error err;

	(void)why;
	if (program->is_cancelled) {
		free_program(&program->run);
		return;
	}
	(void)error_set(&err, sandbox_met_limit(program->sandbox) ? ERR_LIMIT : ERR_SYSTEM,
	                "the sandbox ended: %s",
	                reason[0] != '\0' ? reason : "it was put to sleep, reset or deleted");
	run_report_failure(&program->run, &err);
}

static void on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct program *program = ctx;
	struct channel *channel = sandbox_channel(program->sandbox);
	bool is_sandbox_up = channel != NULL && !channel_has_ended(channel);

	program->stream = NULL;
	/* A keeper that cannot kill all processes of a program in time (a fork bomb, for example)
	 * is killed by the agent, and the run is LOST. Past the deadline that is a time-out. */
	if (failure == WIRE_FAILED_LOST && is_sandbox_up && is_past_deadline(program)) {
		program->end.timed_out = true;
		program->end.signal = SIGKILL;
		check_limits(program);
		return;
	}
	if (failure != WIRE_FAILED_LOST || is_sandbox_up) {
		run_report_failure(&program->run, why);
		return;
	}
	/* The whole sandbox ended. The sandbox learns the reason (a memory limit, for example) from
	 * the engine a moment later than this stream fails, so wait for it. */
	program->waits_for_sandbox = true;
	sandbox_notify_end(program->sandbox, on_sandbox_end, program);
}

static const struct channel_stream_events stream_events = {
	.message = on_message,
	.bytes = on_bytes,
	.writable = on_writable,
	.done = on_done,
	.failed = on_failed,
};

static void set_deadline(struct program *program, uint32_t ms)
{
	program->deadline = ms != 0 ? clock_now_ms() + ms : 0;
	if (ms != 0)
		loop_timer_start(program->overdue_timer, ms + RUN_GRACE_MS + run_overdue_ms);
	else
		loop_timer_stop(program->overdue_timer);
}

/* --- the start -------------------------------------------------------------------------------- */

int run_start(struct sandbox *sandbox, const struct run_options *options,
              const struct run_events *events, void *ctx, struct run **ret, struct error *err)
{
	struct channel *channel = sandbox_channel(sandbox);
	struct program *program;

	if (channel == NULL)
		return error_set(err, ERR_INVALID, "the sandbox is not awake");
	program = mem_new(sizeof *program);
	program->run = (struct run){ &program_ops, events, ctx };
	program->sandbox = sandbox;
	program->overdue_timer = loop_timer_new(sandbox_loop(sandbox), on_overdue, program);
	set_deadline(program, options->deadline_ms);
	limit_check_start(&program->limits, sandbox);
	if (exec_request_open(sandbox, channel, options, &stream_events, program, &program->stream,
	                      err) < 0) {
		free_program(&program->run);
		return -1;
	}
	*ret = &program->run;
	return 0;
}

/* --- operations ------------------------------------------------------------------------------- */

static void program_consumed(struct run *run, bool is_stderr, size_t bytes)
{
	struct program *program = program_of(run);

	if (program->stream != NULL)
		channel_consumed(program->stream, is_stderr ? WIRE_ERR : WIRE_OUT, bytes);
}

/* After the program's end input is accepted and discarded, as a pipe without a reader would
 * discard it. */
static size_t send_bytes(struct program *program, uint8_t channel, struct view bytes)
{
	return program->stream != NULL ? channel_send(program->stream, channel, bytes) : bytes.len;
}

static size_t program_write(struct run *run, struct view bytes)
{
	return send_bytes(program_of(run), WIRE_IN, bytes);
}

size_t run_write_control(struct run *run, struct view bytes)
{
	return send_bytes(program_of(run), WIRE_CONTROL_IN, bytes);
}

static void program_end_input(struct run *run)
{
	struct program *program = program_of(run);

	if (program->stream != NULL)
		channel_send_end(program->stream, WIRE_IN);
}

/* The channel refuses a message only if it is about to end, and the program with it. */
static void send_message(struct program *program, const struct wire_message *message)
{
	struct error err;

	if (program->stream != NULL)
		(void)!channel_send_message(program->stream, message, &err);
}

static void program_signal(struct run *run, int number)
{
	const struct wire_message message = { .type = WIRE_SIGNAL,
		                              .signal.number = (uint8_t)number };

	send_message(program_of(run), &message);
	if (number == SIGKILL)
		loop_timer_start(program_of(run)->overdue_timer, run_overdue_ms);
}

static void on_kill_timer(void *ctx)
{
	struct program *program = ctx;

	program_signal(&program->run, SIGKILL);
}

static void program_stop(struct run *run)
{
	struct program *program = program_of(run);

	if (program->kill_timer != NULL)
		return;
	program->kill_timer = loop_timer_new(sandbox_loop(program->sandbox), on_kill_timer,
	                                     program);
	loop_timer_start(program->kill_timer, RUN_GRACE_MS);
	program_signal(run, SIGTERM);
}

void run_set_deadline(struct run *run, uint32_t ms)
{
	const struct wire_message message = { .type = WIRE_DEADLINE,
		                              .deadline = { ms, RUN_GRACE_MS } };
	struct program *program = program_of(run);

	set_deadline(program, ms);
	send_message(program, &message);
}

void run_restart_limit_check(struct run *run)
{
	struct program *program = program_of(run);

	/* Once the agent has reported the end, the check is being finished already, and a restart
	 * would make it forget whom to report to. */
	if (program->stream != NULL)
		limit_check_start(&program->limits, program->sandbox);
}

void run_resize(struct run *run, uint16_t rows, uint16_t columns)
{
	const struct wire_message message = { .type = WIRE_RESIZE, .resize = { rows, columns } };

	send_message(program_of(run), &message);
}

static void program_cancel(struct run *run)
{
	struct program *program = program_of(run);

	if (program->stream != NULL)
		channel_cancel(program->stream);
	program->stream = NULL;
	limit_check_cancel(&program->limits);
	program->is_cancelled = true;
	if (!program->waits_for_sandbox)
		free_program(run);
}

static const struct run_ops program_ops = {
	.write = program_write,
	.end_input = program_end_input,
	.consumed = program_consumed,
	.signal = program_signal,
	.stop = program_stop,
	.cancel = program_cancel,
	.free = free_program,
};
