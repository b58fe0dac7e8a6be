/* op_stats.c - memory, processor time, processes and disk of the sandbox, seen from inside
 * (STATS). */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/files/ops.h"
#include "agent/files/path.h"
#include "base/cleanup.h"
#include "base/error.h"

/* The files of one counter in cgroup version 2 and in version 1. */
struct counter {
	const char *v2, *v1;
};
static const struct counter memory_used = { "/sys/fs/cgroup/memory.current",
	                                    "/sys/fs/cgroup/memory/memory.usage_in_bytes" };
static const struct counter memory_limit = { "/sys/fs/cgroup/memory.max",
	                                     "/sys/fs/cgroup/memory/memory.limit_in_bytes" };
static const struct counter pids_used = { "/sys/fs/cgroup/pids.current",
	                                  "/sys/fs/cgroup/pids/pids.current" };
static const struct counter pids_limit = { "/sys/fs/cgroup/pids.max",
	                                   "/sys/fs/cgroup/pids/pids.max" };

enum { TEXT_SIZE = 4096 };

static bool read_text(const char *path, char text[TEXT_SIZE])
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd >= 0 ? read(fd, text, TEXT_SIZE - 1) : -1;

	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

/* Reads a number; "max", and a number that no machine has, mean no limit: 0. */
static bool read_counter(const struct counter *counter, uint64_t *ret)
{
	char text[TEXT_SIZE];

	if (!read_text(counter->v2, text) && !read_text(counter->v1, text))
		return false;
	*ret = text[0] == 'm' ? 0 : strtoull(text, NULL, 10);
	if (*ret >= UINT64_MAX / 4)
		*ret = 0;
	return true;
}

/* The limit is reported only together with the cgroup's own count: sums over /proc differ from
 * it. */
static bool read_pair(const struct counter *used, const struct counter *limit, uint64_t *ret_used,
                      uint64_t *ret_limit)
{
	if (!read_counter(used, ret_used))
		return false;
	(void)read_counter(limit, ret_limit);
	return true;
}

static bool read_cpu(uint64_t *ret)
{
	char text[TEXT_SIZE];

	if (read_text("/sys/fs/cgroup/cpu.stat", text) && strncmp(text, "usage_usec ", 11) == 0) {
		*ret = strtoull(text + 11, NULL, 10);
		return true;
	}
	if (!read_text("/sys/fs/cgroup/cpuacct/cpuacct.usage", text))
		return false;
	*ret = strtoull(text, NULL, 10) / 1000;
	return true;
}

/* A field of /proc/PID/stat, counted from behind the program's name. The name may contain spaces
 * and parentheses, so the last parenthesis is searched. */
static unsigned long long stat_field(const char *text, int field)
{
	const char *at = strrchr(text, ')');

	for (; at != NULL && field > 0; field--)
		at = strchr(at + 1, ' ');
	return at != NULL ? strtoull(at, NULL, 10) : 0;
}

/* Without cgroups: adds up what /proc shows of a process. */
static void add_process(const char *pid, unsigned wanted, struct wire_stats_are *stats)
{
	enum { USER = 12, SYSTEM = 13, PAGES = 22 };
	char path[64], text[TEXT_SIZE];

	(void)snprintf(path, sizeof path, "/proc/%s/stat", pid);
	if (!read_text(path, text))
		return;
	if ((wanted & WIRE_STATS_PROCESSES) != 0)
		stats->processes++;
	if ((wanted & WIRE_STATS_MEMORY) != 0)
		stats->memory_bytes += stat_field(text, PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	if ((wanted & WIRE_STATS_CPU) != 0)
		stats->cpu_us += (stat_field(text, USER) + stat_field(text, SYSTEM)) * 1000000 /
		                 (unsigned long long)sysconf(_SC_CLK_TCK);
	stats->known |= (uint8_t)wanted;
}

static void add_processes(unsigned wanted, struct wire_stats_are *stats)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			add_process(entry->d_name, wanted, stats);
	if (dir != NULL)
		(void)closedir(dir);
}

static int read_disk(const struct job *job, struct wire_stats_are *stats, struct error *err)
{
	AUTO_FD int fd = path_open_directory(job, view_of(job->workspace), err);
	struct statvfs disk;

	if (fd < 0)
		return -1;
	if (fstatvfs(fd, &disk) < 0)
		return error_sys(err, "%s", job->workspace);
	/* Without the blocks that ext4 keeps for itself or for root of the host. */
	stats->disk_total = (disk.f_blocks - disk.f_bfree + disk.f_bavail) * disk.f_frsize;
	stats->disk_used = job->is_disk_full ? stats->disk_total
	                                     : (disk.f_blocks - disk.f_bfree) * disk.f_frsize;
	stats->files_total = disk.f_files;
	stats->files_used = disk.f_files - disk.f_ffree;
	stats->known |= WIRE_STATS_DISK;
	return 0;
}

int op_stats(const struct job *job, struct wire_stats_are *ret, struct error *err)
{
	unsigned wanted = WIRE_STATS_MEMORY | WIRE_STATS_CPU | WIRE_STATS_PROCESSES;

	*ret = (struct wire_stats_are){ 0 };
	if (read_pair(&memory_used, &memory_limit, &ret->memory_bytes, &ret->memory_limit))
		ret->known |= WIRE_STATS_MEMORY;
	if (read_cpu(&ret->cpu_us))
		ret->known |= WIRE_STATS_CPU;
	if (read_pair(&pids_used, &pids_limit, &ret->processes, &ret->processes_limit))
		ret->known |= WIRE_STATS_PROCESSES;
	wanted &= ~(unsigned)ret->known;
	if (wanted != 0)
		add_processes(wanted, ret);
	return read_disk(job, ret, err);
}
