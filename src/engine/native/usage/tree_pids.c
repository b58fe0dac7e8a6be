#include "engine/native/usage/tree_pids.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

struct tree {
	int proc;
	pid_t *all;
	size_t count;
};

static void add(struct tree *tree, pid_t pid)
{
	if (pid > 0 && tree->count < TREE_PIDS_MAX)
		tree->all[tree->count++] = pid;
}

/* One read returns a page of them at most. Behind each is a space. */
static bool add_children(void *ctx, pid_t thread)
{
	struct tree *tree = ctx;
	char path[64], text[4096];
	AUTO_FD int fd = -1;
	pid_t child = 0;
	ssize_t n;

	(void)snprintf(path, sizeof path, "%d/task/%d/children", thread, thread);
	fd = openat(tree->proc, path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (text[i] >= '0' && text[i] <= '9')
				child = child * 10 + (text[i] - '0');
			else {
				add(tree, child);
				child = 0;
			}
	return true;
}

void tree_threads(int proc, pid_t pid, tree_thread_fn *fn, void *ctx)
{
	char path[32];
	const struct dirent *entry;
	DIR *dir;
	int fd;

	(void)snprintf(path, sizeof path, "%d/task", pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' && !fn(ctx, (pid_t)strtol(entry->d_name, NULL, 10)))
			break;
	(void)closedir(dir);
}

size_t tree_pids(int proc, pid_t pid, pid_t all[TREE_PIDS_MAX])
{
	struct tree tree = { .proc = proc, .all = all };

	add(&tree, pid);
	for (size_t i = 0; i < tree.count; i++)
		tree_threads(proc, all[i], add_children, &tree);
	return tree.count;
}
