/* process_input.c - what is said to a process: its stdin, signals, that it should end (see
 * process_internal.h). */
#include <signal.h>

#include "loop/loop.h"
#include "sandbox/interpreter/interpreter.h"
#include "sandbox/process/process_internal.h"

/* --- stdin ------------------------------------------------------------------------------------ */

int process_put_first_input(struct process *process, struct error *err)
{
	if (process->has_first_input)
		return 0;
	process->has_first_input = true;
	return buf_add(&process->in, process->wish.in, err);
}

void process_feed(struct process *process)
{
	struct view rest = buf_view(&process->in);

	if (process->run == NULL || !process->takes_input)
		return;
	rest.ptr += process->in_at;
	rest.len -= process->in_at;
	if (rest.len != 0)
		process->in_at += run_write(process->run, rest);
	if (process->in_at < process->in.len)
		return;
	buf_clear(&process->in);
	process->in_at = 0;
	if (process->in_ended)
		run_end_input(process->run);
}

static int check_input(const struct process *process, struct error *err)
{
	if (process_is_over(process))
		return error_set(err, ERR_INVALID, "%s has ended: it reads nothing any more",
		                 process->id);
	if (!process->wish.keep_input)
		return error_set(err, ERR_INVALID,
		                 "%s was started without input to come: its stdin was all there "
		                 "when it started",
		                 process->id);
	if (process->in_ended)
		return error_set(err, ERR_INVALID, "the input of %s has been ended", process->id);
	return 0;
}

/* What was sent makes room at the front first. */
static void move_up(struct process *process)
{
	struct buf *in = &process->in;

	if (process->in_at == 0)
		return;
	for (size_t i = process->in_at; i < in->len; i++)
		in->ptr[i - process->in_at] = in->ptr[i];
	buf_truncate(in, in->len - process->in_at);
	process->in_at = 0;
}

int process_write(struct process *process, struct view bytes, struct error *err)
{
	size_t waiting;

	if (check_input(process, err) < 0 || process_put_first_input(process, err) < 0)
		return -1;
	waiting = process->in.len - process->in_at;
	if (waiting > PROCESS_INPUT_MAX || bytes.len > PROCESS_INPUT_MAX - waiting)
		return error_set(err, ERR_LIMIT,
		                 "%zu bytes of input wait for %s to read them, and at most %d may: "
		                 "write less, or later",
		                 waiting, process->id, PROCESS_INPUT_MAX);
	move_up(process);
	if (buf_add(&process->in, bytes, err) < 0)
		return -1;
	process_feed(process);
	return 0;
}

int process_end_input(struct process *process, struct error *err)
{
	if (check_input(process, err) < 0)
		return -1;
	process->in_ended = true;
	process_feed(process);
	return 0;
}

/* --- signals ---------------------------------------------------------------------------------- */

void process_resize(struct process *process, uint16_t rows, uint16_t columns)
{
	if (process->run != NULL)
		run_resize(process->run, rows, columns);
}

static bool runs_as_cell(const struct process *process)
{
	return process->interpreter != NULL && process->cell.session != NULL;
}

void process_signal(struct process *process, int number)
{
	if (process->run != NULL)
		run_signal(process->run, number);
	else if (runs_as_cell(process) && number == SIGINT)
		interpreter_interrupt(process->interpreter);
	else if (process->interpreter != NULL)
		interpreter_signal(process->interpreter, number);
}

void process_set_clock(struct process *process, enum process_clock what, uint64_t ms)
{
	process->clock_for = what;
	if (what == CLOCK_OFF)
		loop_timer_stop(process->clock);
	else
		loop_timer_start(process->clock, ms);
}

static void interrupt(struct process *process)
{
	interpreter_interrupt(process->interpreter);
	process_set_clock(process, CLOCK_GRACE, PROCESS_GRACE_MS);
}

void process_on_clock(void *ctx)
{
	struct process *process = ctx;

	if (process->clock_for == CLOCK_DEADLINE) {
		process->is_timed_out = true;
		interrupt(process);
	} else if (runs_as_cell(process))
		process_end_cell_by_force(process);
	else
		process_signal(process, SIGKILL);
}

/* Of one whose end is being told already there is nothing to stop. */
void process_stop(struct process *process)
{
	bool has_begun = process->phase == PROCESS_RUNNING || process->phase == PROCESS_COMPILING;
	struct error err;

	if (process_is_over(process) || process->is_stopped)
		return;
	process->is_stopped = true;
	if (!has_begun) {
		(void)error_set(&err, ERR_SYSTEM, "it was stopped before it began");
		process_fail(process, &err);
	} else if (runs_as_cell(process)) {
		if (process->clock_for != CLOCK_GRACE)
			interrupt(process);
	} else if (process->run != NULL || process->interpreter != NULL) {
		process_signal(process, SIGTERM);
		process_set_clock(process, CLOCK_GRACE, PROCESS_GRACE_MS);
	}
}
