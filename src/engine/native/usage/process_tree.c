/* process_tree.c - a process and its descendants, from /proc/PID/task/TID/children. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "engine/native/usage/internal.h"

struct process_list {
	int proc;
	pid_t *all;
	size_t count;
};

static void add_pid(struct process_list *list, pid_t pid)
{
	if (pid > 0 && list->count < PROCESS_TREE_MAX)
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
	DIR *dir;

	(void)snprintf(path, sizeof path, "%d/task", pid);
	dir = fd_open_dir(proc, path);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' && !fn(ctx, (pid_t)strtol(entry->d_name, NULL, 10)))
			break;
	(void)closedir(dir);
}

/* Children are listed per thread: the thread that forked is the parent. The list grows while it is
 * walked, which visits the whole tree without recursion. */
size_t process_tree_pids(int proc, pid_t pid, pid_t all[PROCESS_TREE_MAX])
{
	struct process_list list = { .proc = proc, .all = all };

	add_pid(&list, pid);
	for (size_t i = 0; i < list.count; i++)
		process_each_thread(proc, all[i], add_children, &list);
	return list.count;
}
