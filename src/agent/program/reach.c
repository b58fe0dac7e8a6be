#include "agent/program/reach.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/program/tree.h"
#include "agent/user.h"
#include "base/error.h"

/* The child: becomes the user, closes `ready` and waits to be killed. SIGALRM ends the child if the
 * agent cannot kill it; the time is long, because on a busy machine the agent may need seconds. */
static NORETURN void run_target(const struct user *user, int ready)
{
	struct error err;

	(void)alarm(20);
	if (user_become(user, &err) < 0)
		(void)!write(ready, &err, sizeof err);
	(void)close(ready);
	for (;;)
		(void)pause();
}

/* read() returns 0 when the target has closed the pipe: it is the user now. */
static int wait_for_target(int ready, struct error *err)
{
	struct error why;

	if (read(ready, &why, sizeof why) == sizeof why) {
		*err = why;
		return -1;
	}
	return 0;
}

static int kill_target(pid_t pid, struct error *err)
{
	/* The agent has no other descendants yet, so this finds exactly the target. */
	if (tree_signal(SIGKILL) == 0)
		return error_set(
		        err, ERR_SYSTEM,
		        "/proc does not show the user's processes: mount it without hidepid, "
		        "or with gid= the agent's group");
	/* The kernel checks the permission for signal 0 too, and also for a zombie. Looking at the
	 * signal that ended the target would not do: on a slow machine its SIGALRM may be first. */
	if (kill(pid, 0) < 0)
		return error_set(err, ERR_SYSTEM,
		                 "the agent cannot kill the user's processes: start it with "
		                 "CAP_KILL, or as that user");
	(void)waitpid(pid, NULL, 0);
	return 0;
}

static int run_check(const struct user *user, struct error *err)
{
	int ends[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_sys(err, "pipe");
	pid = fork();
	if (pid == 0)
		run_target(user, ends[1]);
	(void)close(ends[1]);
	r = pid < 0 ? error_sys(err, "fork") : wait_for_target(ends[0], err);
	(void)close(ends[0]);
	if (r == 0)
		return kill_target(pid, err);
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	return -1;
}

static uint32_t checked_uid = UINT32_MAX; /* UINT32_MAX is no user's id */

void reach_check_ahead(uint32_t uid)
{
	const struct user user = { .uid = uid, .gid = uid };
	struct error err;

	if (run_check(&user, &err) == 0)
		checked_uid = uid;
}

int reach_check(const struct user *user, struct error *err)
{
	if (user->uid == checked_uid && user->gid == checked_uid && user->group_count == 0)
		return 0;
	return run_check(user, err);
}
