/* doctor_trial.c - starts the engine in a child process, as a server would, runs `true` in a
 * sandbox, and removes everything again (see internal.h). */
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "loop/loop.h"
#include "sandbox/run/sandbox_run.h"
#include "sandbox/sandbox.h"
#include "server/confine.h"
#include "server/doctor/internal.h"
#include "server/options/options.h"
#include "server/owner.h"
#include "server/runtime/delegation.h"
#include "server/runtime/runtime.h"

/* The first start on a machine also makes the skeleton. */
enum { TRIAL_DEADLINE_MS = 30000, RUN_DEADLINE_MS = 10000 };

/* --- moving the doctor out of its cgroup: see struct cgroup_move --- */

static FILE *open_group_file(const char *group, const char *name)
{
	char path[PATH_MAX + 64];

	(void)snprintf(path, sizeof path, "%s/%s", group, name);
	return fopen(path, "re");
}

static bool is_alone(const char *group)
{
	FILE *file = open_group_file(group, "cgroup.procs");
	char line[32];
	size_t others = 0;

	if (file == NULL)
		return false;
	while (fgets(line, sizeof line, file) != NULL)
		others += strtol(line, NULL, 10) != (long)getpid();
	(void)fclose(file);
	return others == 0;
}

static bool move_process(const char *group, pid_t pid)
{
	char path[PATH_MAX + 64], text[16];
	AUTO_FD int fd = -1;
	int len = snprintf(text, sizeof text, "%d", pid);

	(void)snprintf(path, sizeof path, "%s/cgroup.procs", group);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, (size_t)len) == len;
}

void cgroup_move_plan(struct cgroup_move *move, const char *root)
{
	struct statfs fs;
	FILE *events;

	move->group[0] = '\0';
	if (statfs(root, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC ||
	    !delegation_find_group(root, move->group) || !is_alone(move->group)) {
		move->group[0] = '\0';
		return;
	}
	/* The root cgroup, which has no cgroup.events, may have both processes and limited
	 * groups. */
	events = open_group_file(move->group, "cgroup.events");
	if (events == NULL) {
		move->group[0] = '\0';
		return;
	}
	(void)fclose(events);
	(void)snprintf(move->aside, sizeof move->aside, "%s/belljar-doctor-%d", move->group,
	               getpid());
}

void cgroup_move_parent(const struct cgroup_move *move, pid_t parent)
{
	if (move->group[0] == '\0' || mkdir(move->aside, 0755) < 0)
		return;
	if (!move_process(move->aside, parent))
		(void)rmdir(move->aside);
}

void cgroup_move_back(const struct cgroup_move *move)
{
	if (move->group[0] == '\0')
		return;
	(void)move_process(move->group, getpid());
	(void)rmdir(move->aside);
}

/* --- the trial, in the child --- */

static struct cgroup_move move;

struct attempt {
	struct trial *trial;
	struct loop *loop;
	struct runtime *runtime;
	struct sandbox *sandbox;
	struct run *run;
	uint64_t since;
};

static void on_stopped(void *ctx)
{
	struct attempt *attempt = ctx;

	loop_stop(attempt->loop);
}

static void stop_attempt(struct attempt *attempt, const struct error *why)
{
	if (why != NULL)
		attempt->trial->why = *why;
	runtime_stop(attempt->runtime, on_stopped, attempt);
}

static void on_output(void *ctx, bool is_stderr, struct view bytes)
{
	struct attempt *attempt = ctx;

	run_consumed(attempt->run, is_stderr, bytes.len);
}

static void on_run_ended(void *ctx, const struct run_end *run_end)
{
	struct attempt *attempt = ctx;
	struct error err;

	if (run_end->code != 0 || run_end->signal != 0 || run_end->timed_out) {
		(void)error_set(&err, ERR_SYSTEM, "'true' ended with status %d, signal %d%s%s",
		                run_end->code, run_end->signal,
		                run_end->note[0] != '\0' ? ": " : "", run_end->note);
		stop_attempt(attempt, &err);
		return;
	}
	attempt->trial->has_run = true;
	attempt->trial->run_ms = (uint32_t)(clock_now_ms() - attempt->since);
	stop_attempt(attempt, NULL);
}

static void on_run_failed(void *ctx, const struct error *why)
{
	stop_attempt(ctx, why);
}

static const struct run_events run_events = { .output = on_output,
	                                      .ended = on_run_ended,
	                                      .failed = on_run_failed };

static void on_awake(void *ctx, const struct error *why)
{
	static const char *const argv[] = { "true", NULL };
	static const struct run_options options = { .argv = argv, .deadline_ms = RUN_DEADLINE_MS };
	struct attempt *attempt = ctx;
	struct error err;

	if (why != NULL)
		stop_attempt(attempt, why);
	else if (run_start(attempt->sandbox, &options, &run_events, attempt, &attempt->run, &err) <
	         0)
		stop_attempt(attempt, &err);
}

static void on_ready(void *ctx, const struct error *why)
{
	struct attempt *attempt = ctx;
	struct trial *trial = attempt->trial;
	struct sandbox_options options = { .owner = owner_local(), .temporary = true };
	struct error err;

	trial->is_ready = why == NULL;
	trial->ready_ms = (uint32_t)(clock_now_ms() - attempt->since);
	if (why == NULL)
		trial->report = *runtime_report(attempt->runtime);
	if (why != NULL || !trial->with_sandbox) {
		stop_attempt(attempt, why);
		return;
	}
	attempt->since = clock_now_ms();
	if (runtime_default_spec(attempt->runtime, trial->options, &options.spec, &err) < 0 ||
	    sandbox_create(runtime_manager(attempt->runtime), &options, &attempt->sandbox, &err) <
	            0)
		stop_attempt(attempt, &err);
	else
		sandbox_wake(attempt->sandbox, on_awake, attempt);
}

static void try_engine(void *record)
{
	struct trial *trial = record;
	struct attempt attempt = { .trial = trial, .since = clock_now_ms() };
	struct runtime_base base;
	struct error err;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)owner_local(); /* before confine_server() changes the user id */
	cgroup_move_parent(&move, getppid());
	/* Files in the state directory must have the owner that a server's have. */
	if (runtime_prepare(trial->options, &base, &err) < 0 || loop_new(&attempt.loop, &err) < 0 ||
	    confine_server(&(struct confine_needs){ base.state }, &err) < 0 ||
	    runtime_new(attempt.loop, &base, trial->options, on_ready, &attempt, &attempt.runtime,
	                &err) < 0) {
		trial->why = err;
		return;
	}
	loop_run(attempt.loop);
	(void)runtime_free(attempt.runtime);
	(void)loop_free(attempt.loop);
}

void trial_run(const struct options *options, struct trial *trial)
{
	struct options plain = *options;
	struct error err;

	trial->is_docker = runtime_choose_engine(options) == ENGINE_DOCKER;
	plain.require = NULL; /* a missing layer must be reported, not refused */
	trial->options = &plain;
	cgroup_move_plan(&move, "/sys/fs/cgroup");
	if (probe_child_run(try_engine, trial, sizeof *trial, TRIAL_DEADLINE_MS, &err) < 0)
		trial->why = err;
	trial->options = NULL;
	cgroup_move_back(&move);
	if (!trial->is_docker && (!trial->is_ready || (trial->with_sandbox && !trial->has_run)))
		isolation_try_steps(trial);
}
