/* process_tree.c - a process and its descendants, from /proc/PID/task/TID/children. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "engine/native/usage/internal.h"

enum { ACTIVITY_PROCESSES = 32, ACTIVITY_THREADS = 64 };

struct process_list {
	int proc;
	pid_t *all;
	size_t count, max;
	size_t threads; /* that were looked at */
};

static void add_pid(struct process_list *list, pid_t pid)
{
	if (pid > 0 && list->count < list->max)
		list->all[list->count++] = pid;
}

/* The file is a list of numbers, each followed by a space. The kernel returns at most one page per
 * read(2), which may end within a number. */
static bool add_children(void *ctx, pid_t thread)
{
	struct process_list *list = ctx;
	char path[64], text[4096];
	AUTO_FD int fd = -1;
	pid_t child = 0;
	ssize_t n;

	(void)snprintf(path, sizeof path, "%d/task/%d/children", thread, thread);
	fd = openat(list->proc, path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (text[i] >= '0' && text[i] <= '9')
				child = child * 10 + (text[i] - '0');
			else {
				add_pid(list, child);
				child = 0;
			}
	return true;
}

void process_each_thread(int proc, pid_t pid, process_thread_fn *fn, void *ctx)
{
	char path[32];
	const struct dirent *entry;
	AUTO_DIR DIR *dir = NULL;

	(void)snprintf(path, sizeof path, "%d/task", pid);
	dir = fd_open_dir(proc, path);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' && !fn(ctx, (pid_t)strtol(entry->d_name, NULL, 10)))
			break;
}

/* Children are listed per thread: the thread that forked is the parent. The list grows while it is
 * walked, which visits the whole tree without recursion. */
size_t process_tree_pids(int proc, pid_t pid, pid_t all[PROCESS_TREE_MAX])
{
	struct process_list list = { .proc = proc, .all = all, .max = PROCESS_TREE_MAX };

	add_pid(&list, pid);
	for (size_t i = 0; i < list.count; i++)
		process_each_thread(proc, all[i], add_children, &list);
	return list.count;
}

/* --- activity ------------------------------------------------------------------------- */

static bool add_some_children(void *ctx, pid_t thread)
{
	struct process_list *list = ctx;

	return ++list->threads <= ACTIVITY_THREADS && add_children(list, thread);
}

/* Adds to *sum the numbers in /proc/PID/stat behind the name: the 8th to the 15th are the page
 * faults and the processor time of all threads, and those of children that were waited for. */
static bool add_activity(int proc, pid_t pid, uint64_t *sum)
{
	char text[1024];
	const char *at;
	char *next;

	if (!proc_read_file(proc, pid, "stat", text, sizeof text) ||
	    (at = strrchr(text, ')')) == NULL)
		return false;
	for (int field = 0; at != NULL && field < 8; field++)
		at = strchr(at + 1, ' ');
	for (int field = 8; at != NULL && field <= 15; field++, at = next)
		*sum = *sum * 31 + strtoull(at, &next, 10);
	*sum = *sum * 31 + (uint64_t)pid;
	return at != NULL;
}

bool process_tree_activity(int proc, pid_t pid, uint64_t *ret)
{
	pid_t all[ACTIVITY_PROCESSES];
	struct process_list list = { .proc = proc, .all = all, .max = ACTIVITY_PROCESSES };

	*ret = 0;
	add_pid(&list, pid);
	for (size_t i = 0; i < list.count; i++) {
		if (!add_activity(proc, all[i], ret))
			return false;
		process_each_thread(proc, all[i], add_some_children, &list);
	}
	return list.count < list.max && list.threads <= ACTIVITY_THREADS;
}
