/* interpreter_run.c - one run in an interpreter (see interpreter_internal.h). */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "loop/loop.h"
#include "sandbox/interpreter/interpreter_internal.h"
#include "sandbox/interpreter/kernel_wire.h"
#include "sandbox/run/limit_check.h"

enum {
	MARK_MS = 2000,         /* without a byte */
	SESSION_MARK_MS = 5000, /* there is more to lose on a machine that is busy */
	MARK_ALL_MS = 5000,     /* whatever comes */
	SESSION_MARK_ALL_MS = 10000,
	MARK_BYTES = 1024 * 1024, /* of output behind ENDED; pipes hold less */
	NEAR_MS = 250,            /* so near a deadline it may have been told to end already */
};

uint64_t interpreter_now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* --- what it is told -------------------------------------------------------------------------- */

void interpreter_push(struct interpreter *interpreter)
{
	struct view rest = buf_view(&interpreter->orders);

	rest.ptr += interpreter->ordered;
	rest.len -= interpreter->ordered;
	if (rest.len != 0)
		interpreter->ordered += run_write_control(interpreter->run, rest);
	if (interpreter->ordered == interpreter->orders.len) {
		buf_done(&interpreter->orders); /* it may have been large, and the wait be long */
		buf_init(&interpreter->orders, INTERPRETER_ORDERS_MAX);
		interpreter->ordered = 0;
	}
}

/* --- its output ------------------------------------------------------------------------------- */

static void deliver(struct interpreter *interpreter, bool is_stderr, struct view bytes)
{
	if (bytes.len != 0 && interpreter->user != NULL)
		interpreter->user->output(interpreter->user_ctx, is_stderr, bytes);
}

/* Of a session it is kept, and not given back, so that there can be no more than one window. */
static void keep_early(struct interpreter *interpreter, bool is_stderr, struct view bytes)
{
	struct error err;

	if (bytes.len == 0)
		return;
	if (!interpreter->is_session || buf_add(&interpreter->early[is_stderr], bytes, &err) < 0)
		run_consumed(interpreter->run, is_stderr, bytes.len);
}

static void finish_if_marked(struct interpreter *interpreter);

static void wait_for_mark(struct interpreter *interpreter)
{
	uint64_t ms = interpreter->is_session ? SESSION_MARK_MS : MARK_MS;
	uint64_t now = clock_now_ms();
	uint64_t left = interpreter->mark_until > now ? interpreter->mark_until - now : 0;

	if (interpreter->behind > MARK_BYTES)
		left = 0;
	loop_timer_start(interpreter->patience, ms < left ? ms : left);
}

static void look_for_mark(struct interpreter *interpreter, bool is_stderr, struct view bytes)
{
	struct mark *mark = &interpreter->marks[is_stderr];
	bool was_found = mark->is_found;
	struct view before[2];
	char held[KERNEL_MARK_LEN];

	interpreter->behind += bytes.len;
	wait_for_mark(interpreter);
	mark_find(mark, &bytes, before);
	memcpy(held, before[0].ptr, before[0].len);
	deliver(interpreter, is_stderr, (struct view){ held, before[0].len });
	deliver(interpreter, is_stderr, before[1]);
	if (mark->is_found && !was_found)
		run_consumed(interpreter->run, is_stderr, KERNEL_MARK_LEN);
	keep_early(interpreter, is_stderr, bytes);
	finish_if_marked(interpreter);
}

void interpreter_on_output(void *ctx, bool is_stderr, struct view bytes)
{
	struct interpreter *interpreter = ctx;

	switch (interpreter->stage) {
	case INTERPRETER_STARTING: /* what it complains of belongs to whoever waits for it */
		if (interpreter->user != NULL)
			deliver(interpreter, is_stderr, bytes);
		else
			run_consumed(interpreter->run, is_stderr, bytes.len);
		return;
	case INTERPRETER_IDLE:
		keep_early(interpreter, is_stderr, bytes);
		return;
	case INTERPRETER_RUNNING:
		deliver(interpreter, is_stderr, bytes);
		return;
	case INTERPRETER_MARKING:
		look_for_mark(interpreter, is_stderr, bytes);
		return;
	}
}

/* --- one run ---------------------------------------------------------------------------------- */

void interpreter_begin(struct interpreter *interpreter)
{
	buf_done(&interpreter->orders);
	interpreter->orders = interpreter->wanted;
	buf_init(&interpreter->wanted, INTERPRETER_ORDERS_MAX);
	interpreter->stage = INTERPRETER_RUNNING;
	interpreter->started_us = interpreter_now_us();
	interpreter->deadline_at = 0;
	run_count_from_now(interpreter->run);
	if (interpreter->deadline_ms != 0) {
		interpreter->deadline_at = clock_now_ms() + interpreter->deadline_ms;
		run_set_deadline(interpreter->run, interpreter->deadline_ms);
	}
	interpreter_push(interpreter);
	if (interpreter->user->started != NULL)
		interpreter->user->started(interpreter->user_ctx);
	for (int i = 0; i < 2; i++) {
		deliver(interpreter, i, buf_view(&interpreter->early[i]));
		buf_clear(&interpreter->early[i]);
	}
}

/* The owner may drop it: so it hears of it when nothing of it is on the stack. */
void interpreter_on_idle(void *ctx)
{
	struct interpreter *interpreter = ctx;

	if (interpreter->stage == INTERPRETER_IDLE)
		interpreter->owner->idle(interpreter->owner_ctx);
}

static void become_idle(struct interpreter *interpreter)
{
	interpreter->stage = INTERPRETER_IDLE;
	interpreter->user = NULL;
	loop_timer_start(interpreter->idle, 0);
}

static void tell_ended(struct interpreter *interpreter)
{
	const struct interpreter_user *user = interpreter->user;
	void *ctx = interpreter->user_ctx;
	struct run_end end = interpreter->end;
	bool is_exit = interpreter->is_exit;

	loop_timer_stop(interpreter->patience);
	interpreter->user_us += end.user_us;
	interpreter->system_us += end.system_us;
	become_idle(interpreter);
	user->ended(ctx, &end, is_exit);
}

static bool is_near_deadline(const struct interpreter *interpreter, uint64_t within)
{
	return interpreter->deadline_at != 0 && clock_now_ms() + within >= interpreter->deadline_at;
}

/* Only now is the deadline lifted: until here it may have lied about its end. */
static void finish_if_marked(struct interpreter *interpreter)
{
	if (!interpreter->marks[0].is_found || !interpreter->marks[1].is_found)
		return;
	if (is_near_deadline(interpreter, NEAR_MS))
		interpreter->is_unsound = true;
	else if (interpreter->deadline_at != 0)
		run_set_deadline(interpreter->run, 0);
	tell_ended(interpreter);
}

void interpreter_on_impatient(void *ctx)
{
	struct interpreter *interpreter = ctx;

	interpreter->is_unsound = true;
	run_note(&interpreter->end, "the interpreter did not tell where the output ends");
	tell_ended(interpreter);
}

static void hear_end(struct interpreter *interpreter, const struct kernel_said *said)
{
	char bytes[KERNEL_MARK_LEN];
	struct error err;

	interpreter->end = (struct run_end){
		.code = said->ended.code,
		.signal = said->ended.signal,
		.timed_out = is_near_deadline(interpreter, 0),
		.wall_us = interpreter_now_us() - interpreter->started_us,
		.user_us = said->ended.user_us,
		.system_us = said->ended.system_us,
		.max_rss_kib = said->ended.max_rss_kib,
	};
	interpreter->is_exit = said->ended.is_exit;
	if (is_near_deadline(interpreter, NEAR_MS) || interpreter->is_exit)
		interpreter->is_unsound = true;
	/* Guessed by the code that runs, it would end its own output early, and no more. */
	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		abort();
	for (int i = 0; i < 2; i++)
		mark_init(&interpreter->marks[i], bytes);
	interpreter->behind = 0;
	interpreter->mark_until = clock_now_ms() +
	                          (interpreter->is_session ? SESSION_MARK_ALL_MS : MARK_ALL_MS);
	interpreter->stage = INTERPRETER_MARKING;
	wait_for_mark(interpreter);
	if (kernel_put_mark(&interpreter->orders, bytes, &err) < 0)
		loop_timer_start(interpreter->patience, 0);
	interpreter_push(interpreter);
}

static int hear(struct interpreter *interpreter, const struct kernel_said *said, struct error *err)
{
	if (interpreter->stage == INTERPRETER_STARTING && said->type == KERNEL_READY) {
		if (interpreter->orders.len != 0)
			return error_set(err, ERR_SYNTAX, "it is ready before it can be");
		run_set_deadline(interpreter->run, 0);
		interpreter->stage = INTERPRETER_IDLE;
		if (interpreter->wanted.len != 0)
			interpreter_begin(interpreter);
		else
			loop_timer_start(interpreter->idle, 0);
		return 0;
	}
	if (interpreter->stage == INTERPRETER_RUNNING &&
	    (said->type == KERNEL_SHOWN || said->type == KERNEL_ERROR)) {
		interpreter->user->said(interpreter->user_ctx, said);
		return 0;
	}
	if (interpreter->stage == INTERPRETER_RUNNING && said->type == KERNEL_ENDED) {
		hear_end(interpreter, said);
		return 0;
	}
	return error_set(err, ERR_SYNTAX, "it said '%c' at a time when that means nothing",
	                 (char)said->type);
}

/* Users and owners do not drop it from within what they are told here. */
static int take_all(struct interpreter *interpreter, struct view *bytes, struct error *err)
{
	struct kernel_said said;
	int r;

	while ((r = kernel_take(bytes, &said, err)) == 1)
		if (hear(interpreter, &said, err) < 0)
			return -1;
	return r;
}

void interpreter_on_control(void *ctx, struct view bytes)
{
	struct interpreter *interpreter = ctx;
	struct buf *heard = &interpreter->heard;
	bool is_joined = heard->len != 0;
	struct error err;

	if (is_joined) {
		if (buf_add(heard, bytes, &err) < 0) {
			interpreter_give_up(interpreter, &err);
			return;
		}
		bytes = buf_view(heard);
	}
	if (take_all(interpreter, &bytes, &err) < 0) {
		interpreter_give_up(interpreter, &err);
		return;
	}
	if (is_joined) {
		memmove(heard->ptr, heard->ptr + heard->len - bytes.len, bytes.len);
		buf_truncate(heard, bytes.len);
	} else if (bytes.len != 0 && buf_add(heard, bytes, &err) < 0)
		interpreter_give_up(interpreter, &err);
}
