/* process_kernel.c - code in an interpreter that waits for it: fresh, or one more cell of a session
 * (see process_internal.h). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/spec.h"
#include "kernels/kernels.h"
#include "kernels/languages.h"
#include "loop/loop.h"
#include "sandbox/interpreter/interpreter.h"
#include "sandbox/interpreter/kernel_wire.h"
#include "sandbox/process/process_internal.h"
#include "sandbox/sandbox.h"

/* --- what the interpreter tells --------------------------------------------------------------- */

static bool is_of_session(const struct process *process)
{
	return process->cell.session != NULL;
}

static void on_started(void *ctx)
{
	struct process *process = ctx;

	process->phase = PROCESS_RUNNING;
	process->running_ms = clock_now_ms();
	limit_check_start(&process->judge, process->processes->sandbox);
	if (is_of_session(process))
		session_begin(process->cell.session);
	if (is_of_session(process) && process->wish.deadline_ms != 0)
		process_set_clock(process, CLOCK_DEADLINE, process->wish.deadline_ms);
	process_changed(process);
}

static void on_output(void *ctx, bool is_stderr, struct view bytes)
{
	process_took(ctx, is_stderr, bytes);
}

static void on_said(void *ctx, const struct kernel_said *said)
{
	struct process *process = ctx;

	shown_add(&process->shown, said);
	process_changed(process);
}

static void on_judged(void *ctx)
{
	process_finish(ctx);
}

/* How it ended is known; which limits it met is asked. */
static void judge(struct process *process)
{
	process_set_clock(process, CLOCK_OFF, 0);
	limit_check_finish(&process->judge, &process->end, on_judged, process);
}

/* From here on the interpreter belongs to others again: what it is owed it gets now. */
static void let_interpreter_go(struct process *process)
{
	for (int i = 0; i < 2; i++) {
		interpreter_consumed(process->interpreter, i, process->sinks[i].owed);
		process->sinks[i].owed = 0;
	}
	process->interpreter = NULL;
}

/* The last thing an interpreter does for a run: it may be dropped from here. */
static void on_ended(void *ctx, const struct run_end *end, bool is_exit)
{
	struct process *process = ctx;
	bool is_sound = interpreter_is_sound(process->interpreter);
	char why[64] = "it no longer told where its output ends";

	process->end = *end;
	process->end.timed_out |= process->is_timed_out;
	if (process->wish.language->kernel->is_reusable)
		process->dir[0] = '\0'; /* it has removed it itself */
	let_interpreter_go(process);
	if (is_exit)
		(void)snprintf(why, sizeof why, "it exited with code %d", end->code);
	if (is_of_session(process) && !is_sound)
		process->state_is_lost = session_lose(process->cell.session, why);
	judge(process);
}

static void on_gone(void *ctx, const struct run_end *end, const struct error *why)
{
	struct process *process = ctx;

	process->interpreter = NULL;
	process->sinks[0].owed = process->sinks[1].owed = 0;
	process->state_is_lost = is_of_session(process) && process->phase == PROCESS_RUNNING;
	if (end == NULL) {
		process_fail(process, why);
		return;
	}
	/* Which limits it met is in there already. */
	process->end = *end;
	process->end.timed_out |= process->is_timed_out;
	process_finish(process);
}

static const struct interpreter_user user = { on_started, on_output, on_said, on_ended, on_gone };

/* --- handing it over -------------------------------------------------------------------------- */

/* What an interpreter reads when it starts cannot be told to one that has. */
static bool is_read_at_start(const struct kernel_program *program, const char *variable)
{
	for (size_t i = 0; program->startup_env != NULL && program->startup_env[i] != NULL; i++)
		if (strncmp(variable, program->startup_env[i], strlen(program->startup_env[i])) ==
		    0)
			return true;
	return false;
}

static bool needs_its_own(const struct process *process)
{
	for (size_t i = 0; process->wish.env != NULL && process->wish.env[i] != NULL; i++)
		if (is_read_at_start(process->wish.language->kernel, process->wish.env[i]))
			return true;
	return false;
}

static int find_fresh(struct process *process, const char *path, struct interpreter **ret,
                      struct error *err)
{
	const struct kernel_program *program = process->wish.language->kernel;
	const char *const *env = needs_its_own(process) ? process->wish.env : NULL;

	return kernels_borrow(process->processes->kernels, program, path, env, ret, err);
}

static int find_session(struct process *process, const char *path, struct interpreter **ret,
                        struct error *err)
{
	struct session *session = process->cell.session;

	process->is_new_session = session->cells == 0;
	process->state_was_lost = session->is_lost;
	if (session->is_lost)
		process->why_lost = mem_dup(session->why_lost);
	return session_interpreter(session, process->wish.language->kernel, path, ret, err);
}

static struct kernel_run make_run(struct process *process, char *name, size_t size)
{
	static const char *const none[] = { NULL };
	const struct process_options *wish = &process->wish;
	const struct process_limits *limits = sandbox_process_limits(process->processes->sandbox);
	bool is_one_more = is_of_session(process);

	if (is_one_more)
		(void)snprintf(name, size, "<cell %u>", process->cell.session->cells + 1);
	else {
		process_name_dir(process);
		(void)snprintf(name, size, "%s", process->dir);
	}
	return (struct kernel_run){
		.is_cell = is_one_more,
		.name = name,
		.cwd = wish->cwd != NULL ? wish->cwd
		       : is_one_more     ? ""
		                         : SPEC_WORKSPACE,
		.code = wish->code,
		.has_stdin = wish->in.len != 0,
		.in = wish->in,
		.pixels = limits->pixels,
		.bytes = limits->bytes,
		.args = wish->args != NULL ? wish->args : none,
		.env = wish->env != NULL ? wish->env : none,
	};
}

static void on_turn(void *ctx)
{
	struct process *process = ctx;

	process_use_kernel(process, process->program);
}

/* Many at once wait for those that are there, rather than start one each. */
static bool has_to_wait(struct process *process, const char *path)
{
	struct kernels *kernels = process->processes->kernels;

	if (is_of_session(process) || needs_its_own(process) ||
	    kernels_have_one(kernels, process->wish.language->kernel, path))
		return false;
	process->turn = (struct kernels_turn){ .begin = on_turn, .ctx = process };
	kernels_wait(kernels, &process->turn);
	return true;
}

void process_use_kernel(struct process *process, const char *path)
{
	struct interpreter *interpreter;
	struct kernel_run run;
	struct error err;
	char name[64];
	int r;

	if (has_to_wait(process, path))
		return;
	r = is_of_session(process) ? find_session(process, path, &interpreter, &err)
	                           : find_fresh(process, path, &interpreter, &err);
	if (r < 0) {
		process_fail(process, &err);
		return;
	}
	process->interpreter = interpreter;
	run = make_run(process, name, sizeof name);
	/* A cell's deadline is the server's, so that what it knows can be saved. */
	if (interpreter_run(interpreter, &run,
	                    is_of_session(process) ? 0 : process->wish.deadline_ms, &user, process,
	                    &err) == 0)
		return;
	if (is_of_session(process))
		process->interpreter = NULL; /* nothing has happened in it */
	process_fail(process, &err);
}

void process_end_cell_by_force(struct process *process)
{
	const char *why = process->is_timed_out ? "it was ended after its time was over"
	                                        : "it was stopped, and did not heed it";

	process->interpreter = NULL;
	process->sinks[0].owed = process->sinks[1].owed = 0;
	process->state_is_lost = session_lose(process->cell.session, why);
	process->end = (struct run_end){ .signal = SIGKILL, .timed_out = process->is_timed_out };
	process->end.wall_us = (clock_now_ms() - process->running_ms) * 1000;
	judge(process);
}
