/* file_limit.c - changes RLIMIT_FSIZE of processes that are running (see internal.h). */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/native/usage/internal.h"

/* The number of a process in the sandbox's pid namespace; 0: the process has exited. */
static pid_t inner_pid(int proc, pid_t pid)
{
	char text[2048];
	const char *line, *end, *last;

	if (!proc_read_file(proc, pid, "status", text, sizeof text) ||
	    (line = strstr(text, "\nNSpid:")) == NULL || (end = strchr(line + 1, '\n')) == NULL ||
	    (last = memrchr(line, '\t', (size_t)(end - line))) == NULL)
		return 0;
	return (pid_t)strtol(last + 1, NULL, 10);
}

static void limit_one(pid_t pid, uint64_t bytes)
{
	struct rlimit value;

	if (pid <= 0 || prlimit(pid, RLIMIT_FSIZE, NULL, &value) < 0)
		return;
	value.rlim_cur = bytes < value.rlim_max ? bytes : value.rlim_max;
	(void)prlimit(pid, RLIMIT_FSIZE, &value, NULL);
}

/* prlimit(2) names a process by its number, which may be another process's by then. In the
 * sandbox's pid namespace that can only be one of the same sandbox, never one of the host. setns(2)
 * moves the children of the caller, not the caller itself. */
void process_tree_limit_files(int proc, pid_t pid, uint64_t first, uint64_t others)
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
		for (size_t i = 0; i < count; i++)
			limit_one(all[i], i == 0 ? first : others);
		_exit(0);
	}
	if (child > 0)
		(void)waitpid(child, NULL, 0);
}
