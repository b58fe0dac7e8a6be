#include "engine/native/tree_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/native/nameless.h"
#include "engine/native/tree_pids.h"

static bool read_text(int proc, pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];
	AUTO_FD int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof path, "%d/%s", pid, file);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, size - 1) : -1;
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static uint64_t memory_of(int proc, pid_t pid)
{
	char text[1024];
	const char *found;

	if (read_text(proc, pid, "smaps_rollup", text, sizeof text) &&
	    (found = strstr(text, "\nPss:")) != NULL)
		return strtoull(found + 5, NULL, 10) * 1024;
	if (read_text(proc, pid, "statm", text, sizeof text) && (found = strchr(text, ' ')) != NULL)
		return strtoull(found, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

uint64_t tree_memory(int proc, pid_t pid)
{
	static pid_t all[TREE_PIDS_MAX];
	size_t count = tree_pids(proc, pid, all);
	uint64_t sum = nameless_files(proc, pid, TMPFS_MAGIC).bytes;

	for (size_t i = 0; i < count; i++)
		sum += memory_of(proc, all[i]);
	return sum;
}
