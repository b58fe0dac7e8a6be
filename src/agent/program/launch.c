#include "agent/program/launch.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/confinement.h"
#include "agent/user.h"
#include "base/error.h"
#include "base/tree/open_child.h"

/* A request cannot raise a hard limit of the sandbox: those of memory and descriptors depend on the
 * host, which the server does not know. */
static rlim_t hard_limit(const struct launch *launch, uint8_t resource)
{
	struct rlimit now = { 0, RLIM_INFINITY };

	(void)getrlimit(resource, &now);
	return resource == RLIMIT_NOFILE && launch->files < now.rlim_max ? launch->files
	                                                                 : now.rlim_max;
}

static void lower_limit(struct rlimit *value, rlim_t max)
{
	if (value->rlim_max <= max)
		return;
	value->rlim_max = max;
	if (value->rlim_cur > max)
		value->rlim_cur = max;
}

/* The agent has raised its own soft limit of descriptors; the program gets at most the one from
 * before, which the spawner has lowered where the host's file table is small. The agent has lowered
 * its soft limit of signals (program/write_order.c). */
static int set_limits(const struct launch *launch, struct error *err)
{
	struct rlimit files, signals;

	if (getrlimit(RLIMIT_SIGPENDING, &signals) == 0) {
		signals.rlim_cur = signals.rlim_max;
		(void)setrlimit(RLIMIT_SIGPENDING, &signals);
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = launch->files;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	for (size_t i = 0; i < launch->exec->limits.count; i++) {
		struct wire_limit limit = wire_limit_at(&launch->exec->limits, i);
		struct rlimit value = { limit.soft, limit.hard };

		lower_limit(&value, hard_limit(launch, limit.resource));
		if (setrlimit(limit.resource, &value) < 0)
			return error_sys(err, "set resource limit %u to %llu", limit.resource,
			                 (unsigned long long)limit.soft);
	}
	return 0;
}

/* The descriptors are closed here instead of by execve(): with a small RLIMIT_NOFILE the steps
 * before execve() could not open any file. Descriptor 3 is the keeper's socket (see keeper_run()),
 * unless dup2() has replaced it with the control socket. */
static void close_originals(const struct launch *launch)
{
	(void)close(launch->in);
	(void)close(launch->out);
	(void)close(launch->err);
	if (launch->control < 0)
		(void)close(launch->agent);
	else
		(void)close(launch->control);
}

static int set_descriptors(const struct launch *launch, struct error *err)
{
	if (setsid() < 0)
		return error_sys(err, "start a session");
	if (launch->has_terminal && ioctl(launch->in, TIOCSCTTY, 0) < 0)
		return error_sys(err, "make the terminal the controlling one");
	if (dup2(launch->in, 0) < 0 || dup2(launch->out, 1) < 0 || dup2(launch->err, 2) < 0)
		return error_sys(err, "set stdin, stdout and stderr");
	if (launch->control >= 0 && dup2(launch->control, 3) < 0)
		return error_sys(err, "set descriptor 3");
	close_originals(launch);
	return 0;
}

/* After user_become(): the user's rights decide which directory may be entered. openat2() keeps
 * links in the path below the root. */
static int enter_directory(const struct launch *launch, struct error *err)
{
	static char path[2 * (WIRE_PATH_MAX + 1)];
	struct view cwd = launch->exec->cwd;
	int fd;

	if (cwd.len != 0 && cwd.ptr[0] == '/')
		(void)snprintf(path, sizeof path, "%s", cwd.ptr);
	else
		(void)snprintf(path, sizeof path, "%s/%s", launch->workspace, cwd.ptr);
	fd = open_resolved(launch->root, path, O_PATH | O_DIRECTORY, 0,
	                   RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	if (fd < 0 || fchdir(fd) < 0)
		return error_sys(err, "cwd %s", cwd.len != 0 ? cwd.ptr : launch->workspace);
	return 0;
}

/* When memory runs out the kernel is to kill the program, not the agent. The /proc entry of a
 * process that is not dumpable belongs to root, so the process becomes dumpable for the open().
 * Being dumpable is safe only while no program has this process's user id: such a program could
 * ptrace() it. */
static void prefer_for_oom_killer(const struct launch *launch)
{
	bool has_own_id = geteuid() != launch->user->uid;
	int fd;

	if (has_own_id)
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	fd = openat(launch->proc, "self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (has_own_id)
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (fd < 0)
		return;
	(void)!write(fd, "1000", 4);
	(void)close(fd);
}

static void reset_signals(void)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static char **fill_pointers(const struct wire_texts *texts, char **out)
{
	struct view rest = texts->items, text;
	size_t n = 0;

	while (wire_texts_next(&rest, &text)) {
		union {
			const char *in;
			char *out;
		} same = { text.ptr }; /* execve() takes char *, and does not write to them */

		out[n++] = same.out;
	}
	out[n] = NULL;
	return out;
}

static int exec_program(const struct launch *launch, struct error *err)
{
	static char *argv[WIRE_ARGS_MAX + 1], *env[WIRE_ARGS_MAX + 1];

	fill_pointers(&launch->exec->argv, argv);
	environ = fill_pointers(&launch->exec->env, env); /* execvp() searches its PATH */
	if (argv[0] == NULL || argv[0][0] == '\0')
		return error_set(err, ERR_INVALID, "argv: the program's name is empty");
	(void)execvp(argv[0], argv);
	return error_sys(err, "%s", argv[0]);
}

/* Where the host's fs.suid_dumpable is 1, a change of the user id makes the memory dumpable, which
 * is also the keeper's until execve(). */
static int become_user(const struct launch *launch, struct error *err)
{
	int r = user_become(launch->user, err);

	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return r;
}

/* The order matters: limits are set with the agent's rights, the directory is entered with the
 * user's, and the seccomp filter comes last because it may deny the calls before it. */
void launch_run(const struct launch *launch, struct error *err)
{
	(void)umask(launch->exec->umask);
	(void)setpriority(PRIO_PROCESS, 0, launch->nice);
	reset_signals();
	prefer_for_oom_killer(launch);
	if (set_descriptors(launch, err) == 0 && set_limits(launch, err) == 0 &&
	    become_user(launch, err) == 0 && enter_directory(launch, err) == 0 &&
	    confinement_apply_program(launch->confine, err) == 0)
		(void)exec_program(launch, err);
	_exit(127);
}
