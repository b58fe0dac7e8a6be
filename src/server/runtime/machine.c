/* machine.c - how much this machine has of each resource that a limit of sandboxes is about (see
 * internal.h). */
#include <fcntl.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "engine/native/cgroup/cgroup.h"
#include "engine/native/root/root.h"
#include "server/runtime/internal.h"

static void read_memory(struct spec_limits *ret)
{
	struct sysinfo info;

	if (sysinfo(&info) < 0)
		return;
	ret->memory = num_min(ret->memory, (uint64_t)info.totalram * info.mem_unit);
	ret->swap = (uint64_t)info.totalswap * info.mem_unit;
}

/* The processors that this process may run on. A machine with more than CPU_SETSIZE of them does
 * not fit into a cpu_set_t. */
static uint64_t count_processors(void)
{
	cpu_set_t set;
	long online;

	if (sched_getaffinity(0, sizeof set, &set) == 0)
		return (uint64_t)CPU_COUNT(&set);
	online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (uint64_t)online : UINT64_MAX / 1000;
}

/* Half of the process ids are left to the host. The spawner refuses more processes than the host's
 * table of open files has room for. */
static uint64_t count_processes(uint64_t cgroup_max)
{
	uint64_t ids = num_min(num_min(fd_read_number(AT_FDCWD, "/proc/sys/kernel/threads-max"),
	                               fd_read_number(AT_FDCWD, "/proc/sys/kernel/pid_max")),
	                       cgroup_max);
	const struct kernel_shares shares = { .file_max = fd_read_number(AT_FDCWD,
		                                                         "/proc/sys/fs/file-max") };

	return num_min(ids / 2, kernel_shares_pids(&shares));
}

/* Some file systems report 0 because they have no fixed number of blocks or inodes. */
static void read_disk(const char *state, struct spec_limits *ret)
{
	struct statvfs fs;

	if (statvfs(state, &fs) < 0)
		return;
	if (fs.f_blocks != 0)
		ret->disk = ret->file_size = (uint64_t)fs.f_blocks * fs.f_frsize;
	if (fs.f_files != 0)
		ret->inodes = fs.f_files;
}

void machine_read(const char *state, struct spec_limits *ret)
{
	uint64_t pids;

	for (size_t i = 0; i < spec_limit_count; i++)
		spec_limits_set(ret, i, UINT64_MAX);
	cgroup_own_limits(&ret->memory, &pids);
	read_memory(ret);
	ret->cpu = count_processors() * 1000;
	ret->pids = count_processes(pids);
	ret->files = fd_read_number(AT_FDCWD, "/proc/sys/fs/nr_open");
	read_disk(state, ret);
}
