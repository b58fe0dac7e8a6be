/* locks.c - the record locks (fcntl(2), F_SETLK) of a sandbox's processes.
 *
 * The kernel's memory for record locks counts in no cgroup. When a process closes any descriptor of
 * a file, the kernel removes all record locks of the process on that file. So each record lock
 * belongs to an open descriptor, and /proc/TID/fdinfo shows it there as a line "lock:". Locks of
 * flock(2) and leases are such lines too, at most one of each for an open file. The seccomp filter
 * refuses locks of open file descriptions (F_OFD_SETLK): these remain while the file is only mapped
 * or in transit over a Unix socket, where /proc does not show them. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "engine/native/usage/internal.h"

struct lock_sum {
	int proc;
	pid_t counted; /* the latest thread whose descriptors were read; 0: none yet */
	uint64_t locks, limit;
};

/* Threads of one process normally share their descriptors, and a lock must count once. On a kernel
 * without kcmp(2) the locks count for each thread. */
static bool share_descriptors(pid_t one, pid_t other)
{
	return syscall(SYS_kcmp, one, other, KCMP_FILES, 0, 0) == 0;
}

/* No other line of fdinfo begins with the letter l. */
static void add_locks_of_file(struct lock_sum *sum, int dir, const char *name)
{
	static char text[64 * 1024];
	AUTO_FD int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	bool at_line_start = true;
	ssize_t n;

	while (fd >= 0 && sum->locks <= sum->limit && (n = read(fd, text, sizeof text)) > 0)
		for (const char *at = text, *end = text + n; at < end;) {
			const char *newline = memchr(at, '\n', (size_t)(end - at));

			sum->locks += at_line_start && *at == 'l';
			at_line_start = newline != NULL;
			at = newline != NULL ? newline + 1 : end;
		}
}

static bool add_locks_of_thread(void *ctx, pid_t thread)
{
	struct lock_sum *sum = ctx;
	char path[32];
	const struct dirent *entry;
	AUTO_DIR DIR *dir = NULL;

	if (sum->counted != 0 && share_descriptors(sum->counted, thread))
		return true;
	sum->counted = thread;
	(void)snprintf(path, sizeof path, "%d/fdinfo", thread);
	dir = fd_open_dir(sum->proc, path);
	while (dir != NULL && sum->locks <= sum->limit && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			add_locks_of_file(sum, dirfd(dir), entry->d_name);
	return sum->locks <= sum->limit;
}

uint64_t process_tree_locks(int proc, pid_t pid, uint64_t limit)
{
	static pid_t all[PROCESS_TREE_MAX];
	size_t count = process_tree_pids(proc, pid, all);
	struct lock_sum sum = { .proc = proc, .limit = limit };

	for (size_t i = 0; i < count && sum.locks <= limit; i++)
		process_each_thread(proc, all[i], add_locks_of_thread, &sum);
	return sum.locks;
}
