/* memory.c - the memory of all processes of a sandbox, where no cgroup counts it. */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/native/usage/internal.h"

bool proc_read_file(int proc, pid_t pid, const char *file, char *text, size_t size)
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

struct memory_sum {
	int proc;
	uint64_t bytes;
};

/* Pss does not include page tables. A program that maps one page in each of many gigabytes of
 * address space makes them larger than its pages. */
static uint64_t page_table_bytes(int proc, pid_t thread)
{
	char text[8192]; /* the list of groups comes before the line */
	const char *found;

	if (!proc_read_file(proc, thread, "status", text, sizeof text))
		return 0;
	found = strstr(text, "\nVmPTE:");
	return found != NULL ? strtoull(found + sizeof "\nVmPTE:" - 1, NULL, 10) * 1024 : 0;
}

/* All threads share their process's memory, so only the first thread that reports any is counted. A
 * thread that has exited while others run reports 0. */
static bool add_thread_memory(void *ctx, pid_t thread)
{
	struct memory_sum *sum = ctx;
	uint64_t bytes = 0;
	char text[1024];
	const char *found;

	if (proc_read_file(sum->proc, thread, "smaps_rollup", text, sizeof text) &&
	    (found = strstr(text, "\nPss:")) != NULL)
		bytes = strtoull(found + 5, NULL, 10) * 1024;
	else if (proc_read_file(sum->proc, thread, "statm", text, sizeof text) &&
	         (found = strchr(text, ' ')) != NULL)
		bytes = strtoull(found, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
	if (bytes != 0)
		sum->bytes += bytes + page_table_bytes(sum->proc, thread);
	return bytes == 0;
}

/* A memfd that is open but not mapped is in no process's Pss. */
uint64_t process_tree_memory(int proc, pid_t pid)
{
	static const struct unlinked_filter memory_files = { .type = TMPFS_MAGIC };
	static pid_t all[PROCESS_TREE_MAX];
	size_t count = process_tree_pids(proc, pid, all);
	struct memory_sum sum = { .proc = proc,
		                  .bytes = unlinked_files_usage(proc, pid, &memory_files).bytes };

	for (size_t i = 0; i < count; i++)
		process_each_thread(proc, all[i], add_thread_memory, &sum);
	return sum.bytes;
}
