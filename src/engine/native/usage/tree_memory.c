#include "engine/native/usage/tree_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/native/usage/nameless.h"
#include "engine/native/usage/tree_pids.h"

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

struct sum {
	int proc;
	uint64_t bytes;
};

/* Tables of pages are not among the pages, and can be as large. */
static uint64_t tables_of(int proc, pid_t thread)
{
	char text[2048];
	const char *found;

	if (!read_text(proc, thread, "status", text, sizeof text))
		return 0;
	found = strstr(text, "\nVmPTE:");
	return found != NULL ? strtoull(found + sizeof "\nVmPTE:" - 1, NULL, 10) * 1024 : 0;
}

/* Of its process: the first thread that has memory tells it for all. */
static bool add_memory(void *ctx, pid_t thread)
{
	struct sum *sum = ctx;
	uint64_t bytes = 0;
	char text[1024];
	const char *found;

	if (read_text(sum->proc, thread, "smaps_rollup", text, sizeof text) &&
	    (found = strstr(text, "\nPss:")) != NULL)
		bytes = strtoull(found + 5, NULL, 10) * 1024;
	else if (read_text(sum->proc, thread, "statm", text, sizeof text) &&
	         (found = strchr(text, ' ')) != NULL)
		bytes = strtoull(found, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
	if (bytes != 0)
		sum->bytes += bytes + tables_of(sum->proc, thread);
	return bytes == 0;
}

uint64_t tree_memory(int proc, pid_t pid)
{
	static const struct nameless_where memory = { .type = TMPFS_MAGIC };
	static pid_t all[TREE_PIDS_MAX];
	size_t count = tree_pids(proc, pid, all);
	struct sum sum = { .proc = proc, .bytes = nameless_files(proc, pid, &memory).bytes };

	for (size_t i = 0; i < count; i++)
		tree_threads(proc, all[i], add_memory, &sum);
	return sum.bytes;
}
