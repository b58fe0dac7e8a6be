#include "engine/native/tree_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { PROCESSES_MAX = 4096 };

static ssize_t read_text(int proc, pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];
	AUTO_FD int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof path, "%d/%s", pid, file);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, size - 1) : -1;
	text[n > 0 ? n : 0] = '\0';
	return n;
}

static uint64_t memory_of(int proc, pid_t pid)
{
	char text[1024];
	const char *found;

	if (read_text(proc, pid, "smaps_rollup", text, sizeof text) > 0 &&
	    (found = strstr(text, "\nPss:")) != NULL)
		return strtoull(found + 5, NULL, 10) * 1024;
	if (read_text(proc, pid, "statm", text, sizeof text) > 0 &&
	    (found = strchr(text, ' ')) != NULL)
		return strtoull(found, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

/* Children of the first thread only: the agent has no other, and what other threads start comes
 * to it when they end. Those of a program with threads are found through its own list. */
static size_t add_children(int proc, pid_t pid, pid_t *all, size_t count)
{
	char file[32], text[16384], *rest = text;

	(void)snprintf(file, sizeof file, "task/%d/children", pid);
	if (read_text(proc, pid, file, text, sizeof text) <= 0)
		return count;
	while (count < PROCESSES_MAX) {
		long child = strtol(rest, &rest, 10);

		if (child <= 0)
			break;
		all[count++] = (pid_t)child;
	}
	return count;
}

uint64_t tree_memory(int proc, pid_t pid)
{
	static pid_t all[PROCESSES_MAX];
	size_t count = 1;
	uint64_t sum = 0;

	all[0] = pid;
	for (size_t i = 0; i < count; i++) {
		sum += memory_of(proc, all[i]);
		count = add_children(proc, all[i], all, count);
	}
	return sum;
}
