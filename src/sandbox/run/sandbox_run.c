#include "sandbox/run/sandbox_run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "engine/spec.h"
#include "sandbox/channel/channel.h"
#include "sandbox/run/limit_check.h"
#include "sandbox/sandbox.h"

enum { GRACE_MS = 2000, LIST_MAX = 60 * 1024, UMASK = 022 };

/* What every program gets. A wish may say otherwise. */
static const char *const usual_env[] = {
	"PATH=" SPEC_HOME
	"/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=" SPEC_HOME,
	"USER=coderunner",
	"LOGNAME=coderunner",
	"SHELL=/bin/sh",
	"LANG=C.UTF-8",
	"TERM=dumb",
	"NPM_CONFIG_PREFIX=" SPEC_HOME "/.local", /* npm -g without rights to /usr */
	"MPLBACKEND=Agg",                         /* there is no screen to draw on */
	NULL,
};

struct run {
	struct sandbox *sandbox;
	const struct run_events *events;
	void *ctx;
	struct channel_stream *stream;
	uint64_t deadline; /* on the clock of clock.h, or 0 */
	struct limit_check judge;
	struct run_end end;
	bool is_waiting; /* for the end of its sandbox */
	bool is_dropped;
};

/* --- its end ----------------------------------------------------------------------------- */

static void tell_end(struct run *run)
{
	const struct run_events *events = run->events;
	void *ctx = run->ctx;
	struct run_end end = run->end;

	free(run);
	events->ended(ctx, &end);
}

static void tell_failed(struct run *run, const struct error *why)
{
	const struct run_events *events = run->events;
	void *ctx = run->ctx;

	free(run);
	events->failed(ctx, why);
}

static void on_judged(void *ctx)
{
	tell_end(ctx);
}

static void finish(struct run *run)
{
	limit_check_finish(&run->judge, &run->end, on_judged, run);
}

/* --- what the agent says ------------------------------------------------------------------- */

static void on_message(void *ctx, const struct wire_message *message)
{
	struct run *run = ctx;
	const struct wire_exited *exited = &message->exited;

	if (message->type != WIRE_EXITED)
		return;
	run->end.code = exited->code;
	run->end.signal = exited->signal;
	run->end.timed_out = (exited->flags & WIRE_EXITED_TIMED_OUT) != 0;
	run->end.wall_us = exited->wall_us;
	run->end.user_us = exited->user_us;
	run->end.system_us = exited->system_us;
	run->end.max_rss_kib = exited->max_rss_kib;
}

static void on_bytes(void *ctx, uint8_t channel, struct view bytes)
{
	struct run *run = ctx;

	if (channel != WIRE_CONTROL_OUT) {
		run->events->output(run->ctx, channel == WIRE_ERR, bytes);
		return;
	}
	/* First: whoever hears it may drop the run. */
	channel_consumed(run->stream, WIRE_CONTROL_OUT, bytes.len);
	if (run->events->control != NULL)
		run->events->control(run->ctx, bytes);
}

static void on_writable(void *ctx)
{
	struct run *run = ctx;

	if (run->events->writable != NULL)
		run->events->writable(run->ctx);
}

static void on_done(void *ctx, const struct wire_done *done)
{
	struct run *run = ctx;

	(void)done;
	run->stream = NULL;
	finish(run);
}

static void on_down(void *ctx, const struct error *why)
{
	struct run *run = ctx;
	struct error err;

	(void)why;
	if (run->is_dropped) {
		free(run);
		return;
	}
	(void)error_set(&err, sandbox_met_limit(run->sandbox) ? ERR_LIMIT : ERR_SYSTEM,
	                "the sandbox ended: %s",
	                sandbox_end_reason(run->sandbox)[0] != '\0'
	                        ? sandbox_end_reason(run->sandbox)
	                        : "it was told to");
	tell_failed(run, &err);
}

/* A keeper that could not end a program in time, with so many processes as there were, was ended
 * itself. */
static bool is_overdue(const struct run *run)
{
	return run->deadline != 0 && clock_now_ms() >= run->deadline;
}

/* If the whole sandbox went, whoever ended it knows why, and says so in a moment. */
static void on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct run *run = ctx;
	struct channel *channel = sandbox_channel(run->sandbox);

	run->stream = NULL;
	if (failure == WIRE_FAILED_LOST && channel != NULL && !channel_has_ended(channel) &&
	    is_overdue(run)) {
		run->end.timed_out = true;
		run->end.signal = SIGKILL;
		finish(run);
		return;
	}
	if (failure != WIRE_FAILED_LOST || (channel != NULL && !channel_has_ended(channel))) {
		tell_failed(run, why);
		return;
	}
	run->is_waiting = true;
	sandbox_notify_end(run->sandbox, on_down, run);
}

static const struct channel_stream_events stream_events = {
	.message = on_message,
	.bytes = on_bytes,
	.writable = on_writable,
	.done = on_done,
	.failed = on_failed,
};

/* --- its start ------------------------------------------------------------------------------ */

static bool is_named_in(const char *variable, const char *const *env)
{
	size_t len = strcspn(variable, "=") + 1;

	for (size_t i = 0; env != NULL && env[i] != NULL; i++)
		if (strncmp(env[i], variable, len) == 0)
			return true;
	return false;
}

/* What neither of two other lists names. */
static int add_list(struct wire_exec *exec, struct buf *buf, const char *const *list,
                    const char *const *over, const char *const *above, struct error *err)
{
	for (size_t i = 0; list != NULL && list[i] != NULL; i++)
		if (!is_named_in(list[i], over) && !is_named_in(list[i], above) &&
		    wire_texts_add(&exec->env, buf, view_of(list[i]), err) < 0)
			return -1;
	return 0;
}

/* Java takes a quarter of the machine's memory for its own, whatever the limit is. */
static const char *tell_java(const struct spec_limits *limits, char *out, size_t size)
{
	(void)snprintf(out, size, "JAVA_TOOL_OPTIONS=-XX:MaxRAM=%llu -XX:MaxRAMPercentage=50",
	               (unsigned long long)limits->memory);
	return out;
}

static int add_env(struct wire_exec *exec, struct buf *buf, const char *const *env,
                   struct sandbox *sandbox, struct error *err)
{
	const char *const *of_sandbox = sandbox_env(sandbox);
	char java[96];
	const char *const of_limits[] = {
		tell_java(&sandbox_row(sandbox)->spec.limits, java, sizeof java), NULL
	};

	if (add_list(exec, buf, usual_env, of_sandbox, env, err) < 0 ||
	    add_list(exec, buf, of_limits, of_sandbox, env, err) < 0 ||
	    add_list(exec, buf, of_sandbox, env, NULL, err) < 0)
		return -1;
	return add_list(exec, buf, env, NULL, NULL, err);
}

static int add_argv(struct wire_exec *exec, struct buf *buf, const char *const *argv,
                    struct error *err)
{
	for (size_t i = 0; argv[i] != NULL; i++)
		if (wire_texts_add(&exec->argv, buf, view_of(argv[i]), err) < 0)
			return -1;
	return 0;
}

/* The agent needs more descriptors than a program may have. */
static int add_limits(struct wire_exec *exec, struct buf *buf, const struct spec *spec,
                      struct error *err)
{
	const struct wire_limit files = { RLIMIT_NOFILE, spec->limits.files, spec->limits.files };

	return wire_limits_add(&exec->limits, buf, files, err);
}

static uint8_t flags_of(const struct run_options *wish)
{
	unsigned flags = 0;

	if (wish->terminal)
		flags |= WIRE_EXEC_PTY;
	else if (wish->with_stdin)
		flags |= WIRE_EXEC_STDIN;
	if (wish->with_control)
		flags |= WIRE_EXEC_CONTROL;
	return (uint8_t)flags;
}

static int open_stream(struct run *run, const struct run_options *wish, struct channel *channel,
                       struct error *err)
{
	struct wire_message message = { .type = WIRE_EXEC };
	struct wire_exec *exec = &message.exec;
	AUTO_BUF struct buf argv, env, limits;

	buf_init(&argv, LIST_MAX);
	buf_init(&env, LIST_MAX);
	buf_init(&limits, LIST_MAX);
	*exec = (struct wire_exec){
		.flags = flags_of(wish),
		.umask = UMASK,
		.rows = wish->rows,
		.columns = wish->columns,
		.uid = WIRE_SAME_ID,
		.gid = WIRE_SAME_ID,
		.deadline_ms = wish->deadline_ms,
		.grace_ms = GRACE_MS,
		.cwd = view_of(wish->cwd != NULL ? wish->cwd : ""),
	};
	if (add_argv(exec, &argv, wish->argv, err) < 0)
		return error_wrap(err, "argv");
	if (add_env(exec, &env, wish->env, run->sandbox, err) < 0)
		return error_wrap(err, "env");
	if (add_limits(exec, &limits, &sandbox_row(run->sandbox)->spec, err) < 0)
		return -1;
	return channel_open(channel, &message, &stream_events, run, &run->stream, err);
}

int run_start(struct sandbox *sandbox, const struct run_options *wish,
              const struct run_events *events, void *ctx, struct run **ret, struct error *err)
{
	struct channel *channel = sandbox_channel(sandbox);
	struct run *run;

	if (channel == NULL)
		return error_set(err, ERR_INVALID, "the sandbox is not awake");
	run = mem_new(sizeof *run);
	run->sandbox = sandbox;
	run->events = events;
	run->ctx = ctx;
	if (wish->deadline_ms != 0)
		run->deadline = clock_now_ms() + wish->deadline_ms;
	limit_check_start(&run->judge, sandbox);
	if (open_stream(run, wish, channel, err) < 0) {
		free(run);
		return -1;
	}
	*ret = run;
	return 0;
}

void run_consumed(struct run *run, bool is_stderr, size_t bytes)
{
	if (run->stream != NULL)
		channel_consumed(run->stream, is_stderr ? WIRE_ERR : WIRE_OUT, bytes);
}

size_t run_write(struct run *run, struct view bytes)
{
	return run->stream != NULL ? channel_send(run->stream, WIRE_IN, bytes) : bytes.len;
}

void run_end_input(struct run *run)
{
	if (run->stream != NULL)
		channel_send_end(run->stream, WIRE_IN);
}

size_t run_write_control(struct run *run, struct view bytes)
{
	return run->stream != NULL ? channel_send(run->stream, WIRE_CONTROL_IN, bytes) : bytes.len;
}

/* A message that cannot be sent now concerns a program that is about to end anyway. */
static void say(struct run *run, const struct wire_message *message)
{
	struct error err;

	if (run->stream != NULL)
		(void)!channel_send_message(run->stream, message, &err);
}

void run_signal(struct run *run, int number)
{
	const struct wire_message message = { .type = WIRE_SIGNAL,
		                              .signal = { (uint8_t)number, WIRE_TARGET_TREE } };

	say(run, &message);
}

void run_set_deadline(struct run *run, uint32_t ms)
{
	const struct wire_message message = { .type = WIRE_DEADLINE, .deadline = { ms, GRACE_MS } };

	run->deadline = ms != 0 ? clock_now_ms() + ms : 0;
	say(run, &message);
}

void run_count_from_now(struct run *run)
{
	limit_check_start(&run->judge, run->sandbox);
}

void run_resize(struct run *run, uint16_t rows, uint16_t columns)
{
	const struct wire_message message = { .type = WIRE_RESIZE, .resize = { rows, columns } };

	say(run, &message);
}

void run_cancel(struct run *run)
{
	if (run->stream != NULL)
		channel_cancel(run->stream);
	limit_check_cancel(&run->judge);
	run->is_dropped = true;
	if (!run->is_waiting)
		free(run);
}
