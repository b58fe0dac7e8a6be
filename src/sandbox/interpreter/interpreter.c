#include "sandbox/interpreter/interpreter.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kernels/kernels.h"
#include "loop/loop.h"
#include "sandbox/interpreter/interpreter_internal.h"
#include "sandbox/sandbox.h"
#include "wire/table.h"

enum { START_MS = 20000, OPTIONS_MAX = 12 };

/* --- its end ---------------------------------------------------------------------------------- */

static void release(struct interpreter *interpreter)
{
	(void)loop_timer_free(interpreter->patience);
	(void)loop_timer_free(interpreter->idle);
	buf_done(&interpreter->wanted);
	buf_done(&interpreter->orders);
	buf_done(&interpreter->heard);
	buf_done(&interpreter->early[0]);
	buf_done(&interpreter->early[1]);
	free(interpreter);
}

void interpreter_drop(struct interpreter *interpreter)
{
	if (interpreter == NULL)
		return;
	if (interpreter->run != NULL)
		run_cancel(interpreter->run);
	release(interpreter);
}

static void say_how(const struct run_end *end, char *out, size_t size)
{
	if (end->out_of_memory)
		(void)snprintf(out, size, "it ran out of memory");
	else if (end->timed_out)
		(void)snprintf(out, size, "it was ended after its time was over");
	else if (end->signal != 0)
		(void)snprintf(out, size, "it was killed by signal %d", end->signal);
	else
		(void)snprintf(out, size, "it exited with code %d", end->code);
}

/* Both hear of it: the owner first, so that nobody borrows it again. */
static void go(struct interpreter *interpreter, const struct run_end *end, const struct error *why)
{
	const struct interpreter_user *user = interpreter->user;
	void *ctx = interpreter->user_ctx;
	char text[sizeof(((struct error *)0)->msg)];

	if (end != NULL)
		say_how(end, text, sizeof text);
	else
		(void)snprintf(text, sizeof text, "%s", why->msg);
	if (interpreter->run != NULL)
		run_cancel(interpreter->run);
	interpreter->owner->gone(interpreter->owner_ctx, text);
	release(interpreter);
	if (user != NULL)
		user->gone(ctx, end, why);
}

/* Nothing it says can be believed any more. */
void interpreter_give_up(struct interpreter *interpreter, const struct error *why)
{
	struct error err = *why;

	(void)error_wrap(&err, "the interpreter is not to be understood");
	go(interpreter, NULL, &err);
}

/* --- how its program ends --------------------------------------------------------------------- */

static void on_writable(void *ctx)
{
	interpreter_push(ctx);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* One that stays has no reason to end in the middle of a run, and its code is not the run's: that
 * must not look like success. */
static bool is_no_end(const struct interpreter *interpreter, const struct run_end *end)
{
	return interpreter->stage == INTERPRETER_RUNNING && interpreter->program->is_reusable &&
	       !interpreter->is_session && end->code == 0 && end->signal == 0 && !end->timed_out;
}

static void on_ended(void *ctx, const struct run_end *run_end)
{
	struct interpreter *interpreter = ctx;
	struct run_end end = *run_end;
	struct error err;

	interpreter->run = NULL;
	if (interpreter->stage == INTERPRETER_STARTING) {
		char how[64];

		say_how(&end, how, sizeof how);
		(void)error_set(&err, ERR_SYSTEM, "the interpreter could not be started: %s", how);
		go(interpreter, NULL, &err);
		return;
	}
	if (interpreter->stage == INTERPRETER_MARKING) { /* how the run ended was told */
		interpreter->is_unsound = true;
		end.code = interpreter->end.code;
		end.signal = interpreter->end.signal;
		end.timed_out = interpreter->end.timed_out;
	} else if (is_no_end(interpreter, &end)) {
		(void)error_set(
		        &err, ERR_SYSTEM,
		        "the interpreter that waited was ended before it ran the code to its "
		        "end; run it again");
		go(interpreter, NULL, &err);
		return;
	}
	end.wall_us = interpreter_now_us() - interpreter->started_us;
	end.user_us = less(end.user_us, interpreter->user_us);
	end.system_us = less(end.system_us, interpreter->system_us);
	go(interpreter, &end, NULL);
}

static void on_failed(void *ctx, const struct error *why)
{
	struct interpreter *interpreter = ctx;

	interpreter->run = NULL;
	go(interpreter, NULL, why);
}

static const struct run_events run_events = { .output = interpreter_on_output,
	                                      .writable = on_writable,
	                                      .control = interpreter_on_control,
	                                      .ended = on_ended,
	                                      .failed = on_failed };

/* --- calls ------------------------------------------------------------------------------------ */

static int put_boot(struct buf *orders, const struct interpreter_wish *wish, struct error *err)
{
	AUTO_BUF struct buf text;

	buf_init(&text, INTERPRETER_ORDERS_MAX);
	if ((wish->is_session && buf_add(&text, view_of(wish->program->session_prefix), err) < 0) ||
	    buf_add(&text, kernel_source(wish->program), err) < 0)
		return -1;
	return kernel_put_boot(orders, buf_view(&text), err);
}

int interpreter_start(struct sandbox *sandbox, const struct interpreter_wish *wish,
                      const struct interpreter_owner *owner, void *ctx, struct interpreter **ret,
                      struct error *err)
{
	const char *argv[OPTIONS_MAX + 2] = { wish->path };
	const struct run_options run_options = {
		.argv = argv, .env = wish->env, .deadline_ms = START_MS, .with_control = true
	};
	struct interpreter *interpreter = mem_new(sizeof *interpreter);

	for (size_t i = 0; i < OPTIONS_MAX && wish->program->options[i] != NULL; i++)
		argv[i + 1] = wish->program->options[i];
	interpreter->program = wish->program;
	interpreter->is_session = wish->is_session;
	interpreter->loop = sandbox_loop(sandbox);
	interpreter->owner = owner;
	interpreter->owner_ctx = ctx;
	interpreter->patience = loop_timer_new(interpreter->loop, interpreter_on_impatient,
	                                       interpreter);
	interpreter->idle = loop_timer_new(interpreter->loop, interpreter_on_idle, interpreter);
	buf_init(&interpreter->orders, INTERPRETER_ORDERS_MAX);
	buf_init(&interpreter->wanted, INTERPRETER_ORDERS_MAX);
	buf_init(&interpreter->heard, KERNEL_HEADER + KERNEL_SAID_MAX + WIRE_FRAME_MAX);
	for (int i = 0; i < 2; i++)
		buf_init(&interpreter->early[i], WIRE_WINDOW);
	if (put_boot(&interpreter->orders, wish, err) < 0 ||
	    run_start(sandbox, &run_options, &run_events, interpreter, &interpreter->run, err) <
	            0) {
		release(interpreter);
		return -1;
	}
	interpreter_push(interpreter);
	*ret = interpreter;
	return 0;
}

int interpreter_run(struct interpreter *interpreter, const struct kernel_run *run,
                    uint32_t deadline_ms, const struct interpreter_user *user, void *ctx,
                    struct error *err)
{
	if (kernel_put_run(&interpreter->wanted, run, err) < 0)
		return -1;
	interpreter->deadline_ms = deadline_ms;
	interpreter->user = user;
	interpreter->user_ctx = ctx;
	if (interpreter->stage == INTERPRETER_IDLE)
		interpreter_begin(interpreter);
	return 0;
}

void interpreter_consumed(struct interpreter *interpreter, bool is_stderr, size_t bytes)
{
	if (interpreter->run != NULL)
		run_consumed(interpreter->run, is_stderr, bytes);
}

void interpreter_interrupt(struct interpreter *interpreter)
{
	if (interpreter->run != NULL)
		run_signal(interpreter->run, SIGINT); /* as a terminal would */
}

void interpreter_signal(struct interpreter *interpreter, int number)
{
	/* A session is what it is; the next fresh run is to have nothing of this one. */
	interpreter->is_unsound |= !interpreter->is_session;
	if (interpreter->run != NULL)
		run_signal(interpreter->run, number);
}

bool interpreter_is_up(const struct interpreter *interpreter)
{
	return interpreter->stage != INTERPRETER_STARTING;
}

bool interpreter_is_idle(const struct interpreter *interpreter)
{
	return interpreter->stage == INTERPRETER_IDLE;
}

bool interpreter_is_sound(const struct interpreter *interpreter)
{
	return !interpreter->is_unsound;
}

const struct kernel_program *interpreter_program(const struct interpreter *interpreter)
{
	return interpreter->program;
}
