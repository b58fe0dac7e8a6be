/* interpreter_exec.c - one execution in an interpreter (see internal.h).
 *
 * The server cannot see where the output of one execution ends in a pipe that outlives it. So the
 * server sends a random mark, the interpreter writes the mark to stdout and stderr after ENDED, and
 * what arrives in front of the mark belongs to the execution. Where the code cannot read the mark,
 * the server sends it together with RUN, which saves a round trip; otherwise after ENDED. */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "kernels/kernels.h"
#include "loop/loop.h"
#include "sandbox/interpreter/internal.h"
#include "sandbox/interpreter/kernel_wire.h"
#include "sandbox/run/limit_check.h"

enum {
	/* Longest wait for the mark without a byte of output. A session waits longer, because on a
	 * busy machine giving up too early loses its state. */
	MARK_MS = 2000,
	SESSION_MARK_MS = 5000,
	/* Longest wait for the mark in all: code may print for ever. */
	MARK_ALL_MS = 5000,
	SESSION_MARK_ALL_MS = 10000,
	/* Most output between ENDED and the mark: more than the pipes and the window can hold. */
	MARK_BYTES = 1024 * 1024,
	/* Closer to its deadline than this, an execution may already have got the agent's
	 * SIGTERM. */
	NEAR_MS = 250,
	/* After an execution its deadline is lifted: later than the answer, which does not have to
	 * wait for that, and sooner than the deadline, which is NEAR_MS ahead. */
	LIFT_MS = 50,
};

void interpreter_send(struct interpreter *interpreter)
{
	struct view rest = buf_view(&interpreter->out);

	rest.ptr += interpreter->sent;
	rest.len -= interpreter->sent;
	if (rest.len != 0)
		interpreter->sent += run_write_control(interpreter->run, rest);
	if (interpreter->sent == interpreter->out.len) {
		/* A RUN message may be megabytes, and an idle interpreter may wait for hours. */
		buf_done(&interpreter->out);
		buf_init(&interpreter->out, INTERPRETER_OUT_MAX);
		interpreter->sent = 0;
	}
}

/* --- output ----------------------------------------------------------------------------------- */

static void deliver_output(struct interpreter *interpreter, bool is_stderr, struct view bytes)
{
	if (bytes.len != 0 && interpreter->user != NULL)
		interpreter->user->output(interpreter->user_ctx, is_stderr, bytes);
}

/* Keeps output that a session prints between two cells, from a thread for example, for the next
 * cell. No credit is returned for it, so it cannot grow beyond one window. */
static void keep_early_output(struct interpreter *interpreter, bool is_stderr, struct view bytes)
{
	if (bytes.len == 0)
		return;
	if (!interpreter->is_session || !buf_put(&interpreter->early[is_stderr], bytes))
		run_consumed(interpreter->run, is_stderr, bytes.len);
}

/* Delivers a line that the interpreter did not print. Its user returns credit for it, which must
 * not reach the agent: see interpreter_consumed(). */
static void insert_line(struct interpreter *interpreter, bool is_stderr, const char *line)
{
	struct view bytes = view_of(line);

	interpreter->inserted[is_stderr] += bytes.len;
	deliver_output(interpreter, is_stderr, bytes);
}

/* Tells what threads and processes of earlier cells printed apart from the output of the cell that
 * starts now. */
static void deliver_early_output(struct interpreter *interpreter, bool is_stderr)
{
	struct view early = buf_view(&interpreter->early[is_stderr]);

	if (early.len == 0)
		return;
	insert_line(interpreter, is_stderr, "[printed by what earlier cells left running:]\n");
	deliver_output(interpreter, is_stderr, early);
	insert_line(interpreter, is_stderr,
	            early.ptr[early.len - 1] == '\n' ? "[this cell:]\n" : "\n[this cell:]\n");
	buf_clear(&interpreter->early[is_stderr]);
}

static void finish_if_marked(struct interpreter *interpreter);

static void start_mark_timer(struct interpreter *interpreter)
{
	uint64_t ms = interpreter->is_session ? SESSION_MARK_MS : MARK_MS;
	uint64_t now = clock_now_ms();
	uint64_t left = interpreter->mark_deadline > now ? interpreter->mark_deadline - now : 0;

	if (interpreter->bytes_since_end > MARK_BYTES)
		left = 0;
	loop_timer_start(interpreter->mark_timer, ms < left ? ms : left);
}

static void search_mark(struct interpreter *interpreter, bool is_stderr, struct view bytes)
{
	struct end_mark *mark = &interpreter->marks[is_stderr];
	bool was_found = mark->is_found;
	struct view before[2];
	char held[KERNEL_MARK_LEN];

	if (interpreter->stage == INTERPRETER_MARKING) {
		interpreter->bytes_since_end += bytes.len;
		start_mark_timer(interpreter);
	}
	end_mark_search(mark, &bytes, before);
	memcpy(held, before[0].ptr, before[0].len);
	deliver_output(interpreter, is_stderr, (struct view){ held, before[0].len });
	deliver_output(interpreter, is_stderr, before[1]);
	if (mark->is_found && !was_found)
		run_consumed(interpreter->run, is_stderr, KERNEL_MARK_LEN);
	keep_early_output(interpreter, is_stderr, bytes);
	finish_if_marked(interpreter);
}

void interpreter_on_output(void *ctx, bool is_stderr, struct view bytes)
{
	struct interpreter *interpreter = ctx;

	switch (interpreter->stage) {
	case INTERPRETER_STARTING: /* messages about a failed start belong to the waiting user */
		if (interpreter->user != NULL)
			deliver_output(interpreter, is_stderr, bytes);
		else
			run_consumed(interpreter->run, is_stderr, bytes.len);
		return;
	case INTERPRETER_IDLE:
		keep_early_output(interpreter, is_stderr, bytes);
		return;
	case INTERPRETER_RUNNING:
		if (interpreter->is_mark_sent)
			search_mark(interpreter, is_stderr, bytes);
		else
			deliver_output(interpreter, is_stderr, bytes);
		return;
	case INTERPRETER_MARKING:
		search_mark(interpreter, is_stderr, bytes);
		return;
	}
}

/* --- start and end of an execution ------------------------------------------------------------ */

void interpreter_begin(struct interpreter *interpreter)
{
	/* An interpreter that has not started yet has a deadline for its start, which ends now. */
	bool had_deadline = interpreter->deadline_at != 0 || !interpreter->is_ready;

	loop_timer_stop(interpreter->mark_timer);
	interpreter->stage = INTERPRETER_RUNNING;
	interpreter->deadline_at = 0;
	run_restart_limit_check(interpreter->run);
	if (interpreter->deadline_ms != 0)
		interpreter->deadline_at = clock_now_ms() + interpreter->deadline_ms;
	/* The code comes first: for a deadline the agent wakes the keeper as well. */
	interpreter_send(interpreter);
	if (interpreter->deadline_ms != 0 || had_deadline)
		run_set_deadline(interpreter->run, interpreter->deadline_ms);
	interpreter->user->started(interpreter->user_ctx);
	for (int i = 0; i < 2; i++)
		deliver_early_output(interpreter, i);
}

/* The mark is random, so that code cannot print it ahead of time. Code that guessed it could only
 * cut its own output short. */
static int add_mark(struct interpreter *interpreter, struct error *err)
{
	char bytes[KERNEL_MARK_LEN];

	random_bytes(bytes, sizeof bytes);
	/* No text in UTF-8 has this byte, so text is never held back as the beginning of a mark. */
	bytes[0] = '\xff';
	for (int i = 0; i < 2; i++)
		end_mark_init(&interpreter->marks[i], bytes);
	return kernel_encode_mark(&interpreter->out, bytes, err);
}

/* A process that forks for each fresh run takes the mark itself, and the code has neither its
 * socket nor its memory. The code of a session has both. */
static bool hides_mark(const struct interpreter *interpreter)
{
	return interpreter->program->is_reusable && !interpreter->is_session;
}

void interpreter_start_pending(struct interpreter *interpreter)
{
	struct error err;

	buf_done(&interpreter->out);
	interpreter->out = interpreter->pending;
	buf_init(&interpreter->pending, INTERPRETER_OUT_MAX);
	interpreter->is_mark_sent = hides_mark(interpreter) && add_mark(interpreter, &err) == 0;
	interpreter_begin(interpreter);
}

void interpreter_flush_held(struct interpreter *interpreter)
{
	if (interpreter->stage != INTERPRETER_RUNNING || !interpreter->is_mark_sent)
		return;
	for (int i = 0; i < 2; i++) {
		const struct end_mark *mark = &interpreter->marks[i];

		if (!mark->is_found)
			deliver_output(interpreter, i, (struct view){ mark->bytes, mark->held });
	}
}

/* The owner may kill an idle interpreter, so it is notified from a timer, when no function of the
 * interpreter is on the stack. */
void interpreter_on_idle_timer(void *ctx)
{
	struct interpreter *interpreter = ctx;

	if (interpreter->stage == INTERPRETER_IDLE)
		interpreter->owner->idle(interpreter->owner_ctx);
}

static void report_ended(struct interpreter *interpreter)
{
	const struct interpreter_user_events *user = interpreter->user;
	void *ctx = interpreter->user_ctx;
	struct run_end end = interpreter->end;
	bool is_exit = interpreter->is_exit;

	interpreter->end = (struct run_end){ 0 };
	if (interpreter->deadline_at != 0)
		loop_timer_start(interpreter->mark_timer, LIFT_MS);
	else
		loop_timer_stop(interpreter->mark_timer);
	interpreter->stage = INTERPRETER_IDLE;
	interpreter->user = NULL;
	loop_timer_start(interpreter->idle_timer, 0);
	user->ended(ctx, &end, is_exit);
}

static bool is_near_deadline(const struct interpreter *interpreter, uint64_t within)
{
	return interpreter->deadline_at != 0 && clock_now_ms() + within >= interpreter->deadline_at;
}

static bool are_marks_found(const struct interpreter *interpreter)
{
	return interpreter->marks[0].is_found && interpreter->marks[1].is_found;
}

static void finish_if_marked(struct interpreter *interpreter)
{
	if (interpreter->stage != INTERPRETER_MARKING || !are_marks_found(interpreter))
		return;
	if (is_near_deadline(interpreter, NEAR_MS))
		interpreter->is_spent = true;
	report_ended(interpreter);
}

void interpreter_on_mark_timeout(void *ctx)
{
	struct interpreter *interpreter = ctx;

	/* The deadline is lifted only now, and not at ENDED: code that gets hold of descriptor 3
	 * can send a false ENDED and run on without a deadline. */
	if (interpreter->stage == INTERPRETER_IDLE) {
		interpreter->deadline_at = 0;
		if (!interpreter->has_exited)
			run_set_deadline(interpreter->run, 0);
		return;
	}
	if (are_marks_found(interpreter)) {
		finish_if_marked(interpreter);
		return;
	}
	interpreter->is_spent = true;
	run_end_add_note(&interpreter->end, "the interpreter did not mark the end of the output");
	report_ended(interpreter);
}

/* --- messages from the interpreter ------------------------------------------------------------ */

static void receive_ended(struct interpreter *interpreter, const struct kernel_message *message)
{
	struct error err;

	interpreter->end.code = message->ended.code;
	interpreter->end.signal = message->ended.signal;
	interpreter->end.timed_out = is_near_deadline(interpreter, 0);
	interpreter->is_exit = message->ended.is_exit;
	if (is_near_deadline(interpreter, NEAR_MS) || interpreter->is_exit)
		interpreter->is_spent = true;
	interpreter->bytes_since_end = 0;
	interpreter->mark_deadline = clock_now_ms() +
	                             (interpreter->is_session ? SESSION_MARK_ALL_MS : MARK_ALL_MS);
	interpreter->stage = INTERPRETER_MARKING;
	start_mark_timer(interpreter);
	interpreter->user->exited(interpreter->user_ctx);
	if (interpreter->is_mark_sent) {
		/* The agent sends output before messages, so the marks may be here already. The
		 * user is notified from the timer, when no function of the interpreter is on the
		 * stack. */
		if (are_marks_found(interpreter))
			loop_timer_start(interpreter->mark_timer, 0);
		return;
	}
	if (add_mark(interpreter, &err) < 0)
		loop_timer_start(interpreter->mark_timer, 0);
	interpreter_send(interpreter);
}

static int receive_ready(struct interpreter *interpreter, struct error *err)
{
	interpreter->is_ready = true;
	if (interpreter->stage == INTERPRETER_RUNNING)
		return 0;
	/* READY before all of BOOT was sent cannot come from the code in BOOT. */
	if (interpreter->out.len != 0)
		return error_set(err, ERR_SYNTAX, "READY arrived before BOOT was sent completely");
	run_set_deadline(interpreter->run, 0);
	interpreter->stage = INTERPRETER_IDLE;
	if (interpreter->pending.len != 0)
		interpreter_start_pending(interpreter);
	else
		loop_timer_start(interpreter->idle_timer, 0);
	return 0;
}

/* The compiled kernel is for another version of Python: sends the text. */
static int receive_text_request(struct interpreter *interpreter, struct error *err)
{
	const struct kernel_program *program = interpreter->program;
	struct view source = { program->source, (size_t)(program->source_end - program->source) };

	interpreter->sent_text = true;
	if (kernel_encode_boot(&interpreter->out, source, err) < 0)
		return -1;
	interpreter_send(interpreter);
	return 0;
}

/* A process that is for one run ends it by its exit: a message about the end would come from the
 * code. */
static bool reports_end(const struct interpreter *interpreter)
{
	return interpreter->is_session || interpreter->program->is_reusable;
}

static int receive_message(struct interpreter *interpreter, const struct kernel_message *message,
                           struct error *err)
{
	bool is_running = interpreter->stage == INTERPRETER_RUNNING;

	if (!interpreter->is_ready && message->type == KERNEL_READY)
		return receive_ready(interpreter, err);
	if (!interpreter->is_ready && message->type == KERNEL_TEXT && !interpreter->sent_text &&
	    interpreter->program->source != NULL)
		return receive_text_request(interpreter, err);
	if (is_running && message->type == KERNEL_NAMES && interpreter->owner->names != NULL) {
		interpreter->owner->names(interpreter->owner_ctx, message->names.names);
		return 0;
	}
	if (is_running && (message->type == KERNEL_SHOWN || message->type == KERNEL_CLEARED ||
	                   message->type == KERNEL_ERROR)) {
		interpreter->user->display(interpreter->user_ctx, message);
		return 0;
	}
	if (is_running && message->type == KERNEL_LEFT && reports_end(interpreter)) {
		interpreter->end = (struct run_end){ 0 }; /* a second LEFT replaces the first */
		if (!is_near_deadline(interpreter, 0))
			run_end_add_left(&interpreter->end, interpreter->sandbox,
			                 message->left.commands);
		return 0;
	}
	if (is_running && message->type == KERNEL_ENDED && reports_end(interpreter)) {
		receive_ended(interpreter, message);
		return 0;
	}
	return error_set(err, ERR_SYNTAX, "the message '%c' is not allowed in this state",
	                 (char)message->type);
}

/* Users and owners do not kill the interpreter from the callbacks that are called here. */
static int receive_all(struct interpreter *interpreter, struct view *bytes, struct error *err)
{
	struct kernel_message message;
	int r;

	while ((r = kernel_decode(bytes, &message, err)) == 1)
		if (receive_message(interpreter, &message, err) < 0)
			return -1;
	return r;
}

void interpreter_on_control(void *ctx, struct view bytes)
{
	struct interpreter *interpreter = ctx;
	struct buf *in = &interpreter->in;
	bool has_partial = in->len != 0;
	struct error err;

	if (has_partial) {
		if (buf_add(in, bytes, &err) < 0) {
			interpreter_fail(interpreter, &err);
			return;
		}
		bytes = buf_view(in);
	}
	if (receive_all(interpreter, &bytes, &err) < 0) {
		interpreter_fail(interpreter, &err);
		return;
	}
	if (has_partial) {
		memmove(in->ptr, in->ptr + in->len - bytes.len, bytes.len);
		buf_truncate(in, bytes.len);
	} else if (bytes.len != 0 && buf_add(in, bytes, &err) < 0)
		interpreter_fail(interpreter, &err);
}
