#include "engine/native/tree_pids.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Of one thread. */
static size_t add_children(int task, const char *thread, pid_t *all, size_t count)
{
	char path[300], text[16384], *rest = text;
	AUTO_FD int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof path, "%s/children", thread);
	fd = openat(task, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	if (n <= 0)
		return count;
	text[n] = '\0';
	while (count < TREE_PIDS_MAX) {
		long child = strtol(rest, &rest, 10);

		if (child <= 0)
			break;
		all[count++] = (pid_t)child;
	}
	return count;
}

static size_t add_all_children(int proc, pid_t pid, pid_t *all, size_t count)
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
		return count;
	}
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			count = add_children(fd, entry->d_name, all, count);
	(void)closedir(dir);
	return count;
}

size_t tree_pids(int proc, pid_t pid, pid_t all[TREE_PIDS_MAX])
{
	size_t count = 1;

	all[0] = pid;
	for (size_t i = 0; i < count; i++)
		count = add_all_children(proc, all[i], all, count);
	return count;
}
