/* probe_trial.c - the engine's trial run; what it means is probe_engine.c's. */
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "sandbox/run/sandbox_run.h"
#include "sandbox/sandbox.h"
#include "server/confine.h"
#include "server/doctor/probe_child.h"
#include "server/doctor/probe_engine.h"
#include "server/doctor/probe_room.h"
#include "server/options/options.h"
#include "server/owner.h"
#include "server/runtime.h"

/* The first start of all makes a file system. */
enum { TRIAL_DEADLINE_MS = 30000, RUN_DEADLINE_MS = 10000 };

static struct room room;

struct
try {
	struct trial *trial;
	struct loop *loop;
	struct runtime *runtime;
	struct sandbox *sandbox;
	struct run *run;
	uint64_t since;
};

static void on_ended(void *ctx)
{
	struct try *try = ctx;

	loop_stop(try->loop);
}

static void end(struct try *try, const struct error *why)
{
	if (why != NULL)
		try->trial->why = *why;
	runtime_stop(try->runtime, on_ended, try);
}

static void on_output(void *ctx, bool is_stderr, struct view bytes)
{
	struct try *try = ctx;

	run_consumed(try->run, is_stderr, bytes.len);
}

static void on_run_ended(void *ctx, const struct run_end *run_end)
{
	struct try *try = ctx;
	struct error err;

	if (run_end->code != 0 || run_end->signal != 0 || run_end->timed_out) {
		(void)error_set(&err, ERR_SYSTEM, "'true' ended with status %d, signal %d%s%s",
		                run_end->code, run_end->signal,
		                run_end->note[0] != '\0' ? ": " : "", run_end->note);
		end(try, &err);
		return;
	}
	try->trial->has_run = true;
	try->trial->run_ms = (uint32_t)(clock_now_ms() - try->since);
	end(try, NULL);
}

static void on_run_failed(void *ctx, const struct error *why)
{
	end(ctx, why);
}

static const struct run_events run_events = { .output = on_output,
	                                      .ended = on_run_ended,
	                                      .failed = on_run_failed };

static void on_awake(void *ctx, const struct error *why)
{
	static const char *const argv[] = { "true", NULL };
	static const struct run_options wish = { .argv = argv, .deadline_ms = RUN_DEADLINE_MS };
	struct try *try = ctx;
	struct error err;

	if (why != NULL)
		end(try, why);
	else if (run_start(try->sandbox, &wish, &run_events, try, &try->run, &err) < 0)
		end(try, &err);
}

static void on_ready(void *ctx, const struct error *why)
{
	struct try *try = ctx;
	struct trial *trial = try->trial;
	struct sandbox_options wish = { .owner = owner_local(), .temporary = true };
	struct error err;

	trial->is_ready = why == NULL;
	trial->ready_ms = (uint32_t)(clock_now_ms() - try->since);
	if (why == NULL)
		trial->report = *runtime_report(try->runtime);
	if (why != NULL || !trial->with_sandbox) {
		end(try, why);
		return;
	}
	try->since = clock_now_ms();
	if (runtime_default_spec(try->runtime, trial->options, &wish.spec, &err) < 0 ||
	    sandbox_create(runtime_manager(try->runtime), &wish, &try->sandbox, &err) < 0)
		end(try, &err);
	else
		sandbox_wake(try->sandbox, on_awake, try);
}

static void try_engine(void *record)
{
	struct trial *trial = record;
	struct try try = { .trial = trial, .since = clock_now_ms() };
	struct runtime_base base;
	struct error err;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)owner_local(); /* who that is cannot be asked later */
	room_make(&room, getppid());
	/* What it leaves in the state directory must be a server's. */
	if (runtime_prepare(trial->options, &base, &err) < 0 || confine_server(&err) < 0 ||
	    loop_new(&try.loop, &err) < 0 ||
	    runtime_new(try.loop, &base, trial->options, on_ready, &try, &try.runtime, &err) < 0) {
		trial->why = err;
		return;
	}
	loop_run(try.loop);
	(void)runtime_free(try.runtime);
	(void)loop_free(try.loop);
}

void trial_run(const struct options *options, struct trial *trial)
{
	struct options plain = *options;
	struct error err;

	plain.require = NULL; /* or it would refuse before it tells */
	trial->options = &plain;
	room_plan(&room, "/sys/fs/cgroup");
	if (probe_child_run_for(try_engine, trial, sizeof *trial, TRIAL_DEADLINE_MS, &err) < 0)
		trial->why = err;
	trial->options = NULL;
	room_leave(&room);
}
