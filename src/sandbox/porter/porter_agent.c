/* porter_agent.c - starts an agent that can do nothing but file operations below one directory.
 *
 * The agent is the same program as in a sandbox, but runs on the host, as the user who started
 * belljar or, if that is root, as the directory's owner, and has no capability. Its requests come
 * from the server, and the archives it unpacks come from sandboxes. Three mechanisms confine it:
 * its own path resolution (openat2 with RESOLVE_IN_ROOT) below a root that the server cannot
 * choose, Landlock, which denies files outside of the directory even if that resolution has a bug,
 * and the porter's seccomp filter, which denies execve() and everything that file operations do not
 * need. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/rights/caps.h"
#include "base/rights/landlock.h"
#include "engine/agent_image.h"
#include "sandbox/porter/internal.h"

/* An honest server has one agent per directory. A server that was taken over could otherwise fill
 * the machine's table of processes. */
enum { AGENTS_MAX = PORTER_DIRECTORIES_MAX };

static int agent_count; /* changed by a signal handler: accessed with __atomic functions */

/* --- in the child ------------------------------------------------------------------ */

int porter_allow_common(const struct landlock *landlock, const struct porter_image *image,
                        struct error *err)
{
	if (!image->is_sealed &&
	    landlock_allow(landlock, image->fd, LANDLOCK_EXECUTE | LANDLOCK_READ_FILE, err) < 0)
		return -1;
	if (landlock_allow_path(landlock, "/proc", LANDLOCK_READ_FILE | LANDLOCK_READ_DIR, err) < 0)
		return -1;
	return landlock_allow_path(landlock, "/dev/null", LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE,
	                           err);
}

/* Denies the other directories of the porter too. On a kernel without Landlock, or with version 1
 * of it, the agent's path resolution alone keeps it below its root. */
static int confine_files(int directory, const struct porter_image *image, struct error *err)
{
	AUTO_LANDLOCK struct landlock landlock = { .ruleset = -1 };

	if (landlock_open(&landlock, err) < 0 ||
	    landlock_allow(&landlock, directory, PORTER_RIGHTS, err) < 0 ||
	    porter_allow_common(&landlock, image, err) < 0)
		return -1;
	return landlock_enforce(&landlock, err);
}

/* Groups first and the user id last: without CAP_SETGID, which the change of the user id takes
 * away, the groups could not be changed. */
static int become_owner(const struct porter_slot *slot, struct error *err)
{
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(slot->gid, slot->gid, slot->gid) < 0 ||
	     setresuid(slot->uid, slot->uid, slot->uid) < 0))
		return error_sys(err, "become user %u, group %u", slot->uid, slot->gid);
	return caps_drop(err);
}

static void become_agent(const struct porter_slot *slot, int directory,
                         const struct porter_image *image, int channel, uint64_t exports,
                         struct error *err)
{
	(void)signal(SIGCHLD, SIG_DFL);
	(void)setsid(); /* a terminal's signals are for the server, not for a copy under way */
	if (become_owner(slot, err) < 0)
		return;
	if (fchdir(directory) < 0) {
		(void)error_sys(err, "enter the directory");
		return;
	}
	if (confine_files(directory, image, err) == 0)
		(void)agent_image_exec(image->fd, channel, slot->uid, &exports, err);
}

/* --- in the porter ----------------------------------------------------------------- */

static void reap_agents(int signo)
{
	/* errno is a variable of the thread.
	 * NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c) */
	int saved = errno;

	(void)signo;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		(void)__atomic_sub_fetch(&agent_count, 1, __ATOMIC_RELAXED);
	errno = saved; /* NOLINT(bugprone-signal-handler,cert-sig30-c) */
}

void porter_count_agents(void)
{
	(void)signal(SIGCHLD, reap_agents);
}

/* Fills in the user whose rights the agent has. Without privileges an agent cannot change its
 * groups, so the reply names the groups it has. */
static int fill_user(const struct porter_slot *slot, struct porter_reply *reply, struct error *err)
{
	gid_t groups[PORTER_GROUPS_MAX];
	int count;

	reply->uid = slot->uid;
	reply->gid = slot->gid;
	if (geteuid() == 0)
		return 0;
	count = getgroups(PORTER_GROUPS_MAX, groups);
	if (count < 0)
		return error_sys(err, "read the process's groups (at most %d)", PORTER_GROUPS_MAX);
	for (int i = 0; i < count; i++)
		reply->groups[reply->group_count++] = groups[i];
	return 0;
}

/* Reads why the child failed. If it became the agent, exec closed the pipe: end of file. */
static int read_child_error(int pipe, struct error *err)
{
	struct error why;
	ssize_t n;

	do
		n = read(pipe, &why, sizeof why);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof why)
		return 0;
	*err = why;
	return -1;
}

static pid_t fork_agent(struct error *err)
{
	pid_t pid;

	if (__atomic_load_n(&agent_count, __ATOMIC_RELAXED) >= AGENTS_MAX)
		return error_set(err, ERR_LIMIT,
		                 "%d directories of the host are open, which is the most: try "
		                 "again when copies have ended",
		                 AGENTS_MAX);
	(void)__atomic_add_fetch(&agent_count, 1, __ATOMIC_RELAXED);
	pid = fork();
	if (pid < 0) {
		(void)error_sys(err, "fork");
		(void)__atomic_sub_fetch(&agent_count, 1, __ATOMIC_RELAXED);
	}
	return pid;
}

int porter_start_agent(const struct porter_slots *slots, size_t index,
                       const struct porter_image *image, struct porter_reply *reply,
                       struct error *err)
{
	const struct porter_slot *slot = &slots->at[index];
	AUTO_FD int directory = porter_slots_open(slots, index, err);
	AUTO_FD int ours = -1, theirs = -1, error_read = -1, error_write = -1;
	int fds[2];
	pid_t pid;

	if (directory < 0 || fill_user(slot, reply, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return error_sys(err, "create the channel");
	ours = fds[0];
	theirs = fds[1];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_sys(err, "create a pipe");
	error_read = fds[0];
	error_write = fds[1];
	pid = fork_agent(err);
	if (pid == 0) {
		struct error why = { 0 };

		become_agent(slot, directory, image, theirs, slots->exports, &why);
		(void)!write(error_write, &why, sizeof why);
		_exit(1);
	}
	if (pid < 0)
		return -1;
	(void)close(TAKE_FD(error_write));
	if (read_child_error(error_read, err) < 0)
		return error_wrap(err, "start an agent in the directory");
	return TAKE_FD(ours);
}
