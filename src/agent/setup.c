#include "agent/setup.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/program/reach.h"
#include "agent/program/tree.h"
#include "base/error.h"
#include "base/rights/caps.h"
#include "base/tree/open_child.h"

enum { PRIORITY = -10, SIGNALS_MAX = 64, SIGSET_BYTES = 8 };

static int open_null(struct error *err)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_sys(err, "open /dev/null");
	if (!S_ISCHR(st.st_mode))
		return error_set(err, ERR_SYSTEM, "/dev/null is not a device");
	return fd;
}

/* A signal that the agent's parent ignored would be ignored by every program, because execve()
 * keeps that. musl refuses sigaction() for the real-time signals it uses itself, hence the bare
 * system call, whose struct begins with the handler. */
static void reset_ignored_signals(void)
{
	static const uintptr_t default_action[8];

	for (int signo = 1; signo <= SIGNALS_MAX; signo++) {
		uintptr_t now[8] = { 0 };

		(void)syscall(SYS_rt_sigaction, signo, NULL, now, (size_t)SIGSET_BYTES);
		if (now[0] == (uintptr_t)SIG_IGN)
			(void)syscall(SYS_rt_sigaction, signo, default_action, NULL,
			              (size_t)SIGSET_BYTES);
	}
}

int setup_process(struct agent *agent, struct error *err)
{
	struct rlimit files;

	/* Not dumpable: a program with the agent's user id can neither ptrace() the agent nor read
	 * its memory. no_new_privs: no execve() of a set-user-id file adds rights. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_sys(err, "prctl");
	if (getpid() != 1 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return error_sys(err, "become a subreaper");
	if (caps_pass_none(err) < 0)
		return -1;
	reset_ignored_signals();
	/* write() to a closed channel is to fail with EPIPE instead of killing the agent. */
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return error_sys(err, "ignore SIGPIPE");
	/* Programs inherit this. At RLIMIT_FSIZE, which stands in for a full disk, write() then
	 * fails with EFBIG, as it does on a disk that is full: SIGXFSZ would kill a shell in the
	 * middle of its script, and git with its lock file in place. */
	(void)signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		agent->files = files.rlim_cur;
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	/* Killing a fork bomb needs more processor time than each of its processes gets. Without
	 * the right to raise it, the agent keeps its priority. */
	agent->nice = getpriority(PRIO_PROCESS, 0);
	(void)setpriority(PRIO_PROCESS, 0, PRIORITY);
	(void)umask(022);
	agent->proc = tree_open(err);
	agent->null = open_null(err);
	return agent->proc < 0 || agent->null < 0 ? -1 : 0;
}

static int open_root(const struct agent *agent, const struct wire_welcome *welcome,
                     struct error *err)
{
	int root, probe;

	/* On the host the porter has chosen the directory, and the server is not trusted with any
	 * other. */
	if (agent->on_host && strcmp(welcome->root.ptr, ".") != 0)
		return error_set(err, ERR_INVALID,
		                 "this agent serves the directory that it was started in: the root "
		                 "must be '.'");
	root = open(welcome->root.ptr, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return error_sys(err, "open the root %s", welcome->root.ptr);
	/* Every path is resolved with openat2(). Without it the agent must not serve at all. */
	probe = open_resolved(root, ".", O_PATH | O_DIRECTORY, 0,
	                      RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	if (probe < 0) {
		(void)error_sys(err, "resolve a path with openat2() "
		                     "(Linux 5.6 or newer)");
		(void)close(root);
		return -1;
	}
	(void)close(probe);
	return root;
}

int setup_sandbox(struct agent *agent, const struct wire_welcome *welcome, struct error *err)
{
	struct user *user = &agent->user;

	if (welcome->workspace.ptr[0] != '/')
		return error_set(err, ERR_INVALID, "workspace %s: not an absolute path",
		                 welcome->workspace.ptr);
	agent->root = open_root(agent, welcome, err);
	if (agent->root < 0)
		return -1;
	memcpy(agent->workspace, welcome->workspace.ptr, welcome->workspace.len + 1);
	user->uid = welcome->uid;
	user->gid = welcome->gid;
	user->group_count = welcome->groups.count;
	for (size_t i = 0; i < user->group_count; i++)
		user->groups[i] = wire_number_at(&welcome->groups, i);
	if (confinement_init(&agent->confine, welcome, err) < 0)
		return -1;
	if (user->uid != geteuid() && confinement_share_domain(&agent->confine, err) < 0)
		return -1;
	return reach_check(user, err);
}
