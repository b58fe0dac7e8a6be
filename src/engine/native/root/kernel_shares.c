/* kernel_shares.c - the part of the kernel's tables that one sandbox may take. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "engine/native/root/root.h"

enum { INSTANCES_MAX = 64, WATCHES_MAX = 65536 };

static const char inotify_instances[] = "sys/fs/inotify/max_user_instances";
static const char inotify_watches[] = "sys/fs/inotify/max_user_watches";

static uint64_t share_of(uint64_t whole, uint64_t max)
{
	uint64_t share = whole / KERNEL_SHARE;

	return share < 1 ? 1 : share < max ? share : max;
}

void kernel_shares_read(int proc, struct kernel_shares *ret)
{
	ret->file_max = fd_read_number(proc, "sys/fs/file-max");
	ret->inotify_instances = share_of(fd_read_number(proc, inotify_instances), INSTANCES_MAX);
	ret->inotify_watches = share_of(fd_read_number(proc, inotify_watches), WATCHES_MAX);
}

uint64_t kernel_shares_pids(const struct kernel_shares *shares)
{
	return shares->file_max / 2 / KERNEL_FILES_LEAST;
}

int kernel_shares_fit(const struct kernel_shares *shares, struct spec_limits *limits,
                      struct error *err)
{
	uint64_t files = shares->file_max / KERNEL_SHARE / limits->pids;

	if (limits->pids > kernel_shares_pids(shares))
		return error_set(
		        err, ERR_LIMIT,
		        "pids: %" PRIu64 " processes with %d open files each are more "
		        "than half of the host's fs.file-max (%" PRIu64
		        "): ask for fewer, or raise it with sysctl -w fs.file-max=%" PRIu64,
		        limits->pids, KERNEL_FILES_LEAST, shares->file_max,
		        limits->pids * KERNEL_FILES_LEAST * KERNEL_SHARE);
	if (files < KERNEL_FILES_LEAST)
		files = KERNEL_FILES_LEAST;
	if (files < limits->files)
		limits->files = files;
	return 0;
}

/* The kernel counts an instance in the sandbox's namespace and in every namespace above it. A write
 * that fails leaves the limit of the host as the only one. */
static void keep_half(int proc, const char *host_limit, const char *own_limit)
{
	AUTO_FD int fd = openat(proc, own_limit, O_WRONLY | O_CLOEXEC);
	uint64_t whole = fd_read_number(proc, host_limit);

	if (fd >= 0 && whole <= INT32_MAX)
		(void)dprintf(fd, "%" PRIu64, whole / 2);
}

void kernel_shares_keep_half(int proc)
{
	keep_half(proc, inotify_instances, "sys/user/max_inotify_instances");
	keep_half(proc, inotify_watches, "sys/user/max_inotify_watches");
}
