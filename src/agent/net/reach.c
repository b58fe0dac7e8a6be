#include "agent/net/reach.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/program/launch.h"
#include "agent/program/tree.h"
#include "base/error.h"

/* If nobody can end it, it ends by itself. */
static NORETURN void be_found(const struct user *user, int ready)
{
	struct error err;

	(void)alarm(1);
	if (become(user, &err) < 0)
		(void)!write(ready, &err, sizeof err);
	(void)close(ready);
	for (;;)
		(void)pause();
}

/* Once it is what it is to be: 0, or why it could not become so. */
static int wait_until_ready(int ready, struct error *err)
{
	struct error why;

	if (read(ready, &why, sizeof why) == sizeof why) {
		*err = why;
		return -1;
	}
	return 0;
}

static int end_it(pid_t pid, struct error *err)
{
	int status;

	if (tree_signal(SIGKILL) == 0)
		return error_set(err, ERR_SYSTEM,
		                 "/proc does not show the user's processes: mount it, without "
		                 "hidepid or with gid= the agent's group");
	if (waitpid(pid, &status, 0) < 0 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		return error_set(err, ERR_SYSTEM, "the user's processes cannot be signalled");
	return 0;
}

static int try_it(const struct user *user, struct error *err)
{
	int ends[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_sys(err, "pipe");
	pid = fork();
	if (pid == 0)
		be_found(user, ends[1]);
	(void)close(ends[1]);
	r = pid < 0 ? error_sys(err, "fork") : wait_until_ready(ends[0], err);
	(void)close(ends[0]);
	if (r == 0)
		return end_it(pid, err);
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	return -1;
}

static uint32_t reached = WIRE_SAME_ID; /* nobody's */

void reach_ahead(uint32_t uid)
{
	const struct user user = { .uid = uid, .gid = uid };
	struct error err;

	/* Why not is told when it is asked for. */
	if (try_it(&user, &err) == 0)
		reached = uid;
}

int reach_check(const struct user *user, struct error *err)
{
	if (user->uid == reached && user->gid == reached && user->group_count == 0)
		return 0;
	return try_it(user, err);
}
