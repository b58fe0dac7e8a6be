/* process_control.c - stdin, signals, and the request to end (see internal.h). */
#include <string.h>

#include "sandbox/process/internal.h"

/* --- stdin ------------------------------------------------------------------------------------ */

int process_put_first_input(struct process *process, struct error *err)
{
	if (process->has_first_input)
		return 0;
	process->has_first_input = true;
	return buf_add(&process->in, process->options.in, err);
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

static int check_input_open(const struct process *process, struct error *err)
{
	if (process_is_over(process))
		return error_set(err, ERR_INVALID,
		                 "%s has ended and reads no more input: start the program again",
		                 process->id);
	if (!process->options.keep_input)
		return error_set(
		        err, ERR_INVALID,
		        "the stdin of %s is not open: start the program with run_command and "
		        "background: true to write to it later",
		        process->id);
	if (process->in_ended)
		return error_set(err, ERR_INVALID,
		                 "the stdin of %s was closed by an earlier call: start the "
		                 "program again to send more",
		                 process->id);
	return 0;
}

/* Removes the bytes at the front that the run has accepted, so that the buffer's maximum holds for
 * the bytes that wait. */
static void remove_sent_input(struct process *process)
{
	struct buf *in = &process->in;

	if (process->in_at == 0)
		return;
	memmove(in->ptr, in->ptr + process->in_at, in->len - process->in_at);
	buf_truncate(in, in->len - process->in_at);
	process->in_at = 0;
}

int process_write(struct process *process, struct view bytes, struct error *err)
{
	size_t waiting;

	if (check_input_open(process, err) < 0 || process_put_first_input(process, err) < 0)
		return -1;
	waiting = process->in.len - process->in_at;
	if (waiting > PROCESS_INPUT_MAX || bytes.len > PROCESS_INPUT_MAX - waiting)
		return error_set(err, ERR_LIMIT,
		                 "%zu bytes of input wait for %s to read them, and at most %d may: "
		                 "write less, or later",
		                 waiting, process->id, PROCESS_INPUT_MAX);
	remove_sent_input(process);
	if (buf_add(&process->in, bytes, err) < 0)
		return -1;
	process_feed(process);
	return 0;
}

int process_end_input(struct process *process, struct error *err)
{
	if (check_input_open(process, err) < 0)
		return -1;
	process->in_ended = true;
	process_feed(process);
	return 0;
}

/* --- terminal --------------------------------------------------------------------------------- */

int process_resize(struct process *process, uint16_t rows, uint16_t columns, struct error *err)
{
	if (process->options.rows == 0)
		return error_set(err, ERR_INVALID,
		                 "%s has no terminal: start the program with run_command and pty: "
		                 "true",
		                 process->id);
	if (process->run == NULL)
		return error_set(err, ERR_INVALID,
		                 "%s does not run, so its terminal cannot be resized", process->id);
	run_resize(process->run, rows, columns);
	return 0;
}

/* --- signals ---------------------------------------------------------------------------------- */

void process_signal(struct process *process, int number)
{
	if (process->run != NULL)
		run_signal(process->run, number);
}

void process_stop(struct process *process)
{
	struct error err;

	if (process_is_over(process) || process->is_stopped)
		return;
	process->is_stopped = true;
	if (process->phase == PROCESS_PREPARING) {
		(void)error_set(&err, ERR_SYSTEM, "the process was stopped before it started");
		process_fail(process, &err);
	} else if (process->run != NULL) {
		run_stop(process->run);
	}
}
