/* file_limit.c - changes RLIMIT_FSIZE of processes that are running (see internal.h). */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/native/usage/internal.h"

enum { CHILD_MS = 200 };

/* The number of a process in the sandbox's pid namespace; 0: the process has exited. */
static pid_t inner_pid(int proc, pid_t pid)
{
	char text[8192]; /* the list of groups comes before the line */
	const char *line, *end, *last;

	if (!proc_read_file(proc, pid, "status", text, sizeof text) ||
	    (line = strstr(text, "\nNSpid:")) == NULL || (end = strchr(line + 1, '\n')) == NULL ||
	    (last = memrchr(line, '\t', (size_t)(end - line))) == NULL)
		return 0;
	return (pid_t)strtol(last + 1, NULL, 10);
}

static void limit_one(pid_t pid, uint64_t bytes, uint64_t kept)
{
	struct rlimit value;

	if (pid <= 0 || prlimit(pid, RLIMIT_FSIZE, NULL, &value) < 0 ||
	    (value.rlim_cur >= bytes && value.rlim_cur <= kept))
		return;
	value.rlim_cur = bytes < value.rlim_max ? bytes : value.rlim_max;
	(void)prlimit(pid, RLIMIT_FSIZE, &value, NULL);
}

/* Where a sandbox has a single id, its programs can send signals to the child, and SIGSTOP would
 * keep the caller waiting for ever. */
static void wait_for_child(pid_t child)
{
	AUTO_FD int fd = (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd exits = { .fd = fd, .events = POLLIN };

	if (fd < 0 || poll(&exits, 1, CHILD_MS) <= 0)
		(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
}

/* prlimit(2) names a process by its number, which may be another process's by then. In the
 * sandbox's pid namespace that can only be one of the same sandbox, never one of the host. setns(2)
 * moves the children of the caller, not the caller itself. */
void process_tree_limit_files(int proc, pid_t pid, const struct file_limits *limits)
{
	static pid_t all[PROCESS_TREE_MAX];
	size_t count = process_tree_pids(proc, pid, all);
	char path[32];
	AUTO_FD int ns = -1;
	pid_t child;

	for (size_t i = 0; i < count; i++)
		all[i] = inner_pid(proc, all[i]);
	(void)snprintf(path, sizeof path, "%d/ns/pid", pid);
	ns = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWPID) < 0)
		return; /* the sandbox has ended */
	child = fork();
	if (child == 0) {
		limit_one(all[0], limits->first, 0);
		for (size_t i = 1; i < count; i++)
			limit_one(all[i], limits->others, limits->kept);
		_exit(0);
	}
	if (child > 0)
		wait_for_child(child);
}
