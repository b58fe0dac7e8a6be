/* disk.c - the directory of all sandboxes' files, and project quotas. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/native/usage/usage.h"

#ifndef PRJQUOTA
#define PRJQUOTA 2
#endif

static const uint64_t quota_block = 1024; /* unit of if_dqblk limits on every file system */

static int quota_call(int fd, int call, uint32_t project, void *data)
{
	return (int)syscall(SYS_quotactl_fd, fd, QCMD((unsigned)call, PRJQUOTA), project, data);
}

/* Accounting alone (mount option without enforcement) would let a sandbox fill the disk. */
static int check_quota(int fd, struct error *err)
{
	struct fs_quota_statv state = { .qs_version = FS_QSTATV_VERSION1 };

	if (quota_call(fd, Q_XGETQSTATV, 0, &state) < 0)
		return error_sys(err,
		                 "the file system has no project quotas "
		                 "(ext4: tune2fs -O quota,project; both: mount with prjquota)");
	if ((state.qs_flags & FS_QUOTA_PDQ_ENFD) == 0)
		return error_set(err, ERR_UNSUPPORTED,
		                 "project quotas are not enforced: mount "
		                 "with prjquota");
	return 0;
}

static int open_sandboxes(int at, struct error *err)
{
	int fd;

	if (mkdirat(at, "sandboxes", 0700) < 0 && errno != EEXIST)
		return error_sys(err, "make the directory sandboxes");
	fd = openat(at, "sandboxes", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? error_sys(err, "open the directory sandboxes") : fd;
}

/* Missing quotas are no error: the spawner watches the disk instead. */
int disk_open(struct disk *ret, int state, bool quota, struct error *err)
{
	struct error why;

	*ret = (struct disk){ .kind = DISK_QUOTA, .dir = open_sandboxes(state, err) };
	if (ret->dir < 0)
		return -1;
	if (!quota)
		(void)error_set(&why, ERR_UNSUPPORTED, "only root can set quotas");
	if (quota && check_quota(ret->dir, &why) == 0)
		return 0;
	ret->kind = DISK_WATCHED;
	(void)snprintf(ret->why, sizeof ret->why, "%.*s", (int)sizeof ret->why - 1, why.msg);
	return 0;
}

void disk_close(struct disk *disk)
{
	if (disk->dir >= 0)
		(void)close(disk->dir);
	disk->dir = -1;
}

static int set_limits(const struct disk *disk, uint32_t project, uint64_t blocks, uint64_t inodes)
{
	struct if_dqblk limits = { .dqb_bhardlimit = blocks,
		                   .dqb_ihardlimit = inodes,
		                   .dqb_valid = QIF_LIMITS };

	return quota_call(disk->dir, Q_SETQUOTA, project, &limits);
}

int disk_set_quota(const struct disk *disk, int dir, uint32_t project,
                   const struct disk_usage *limit, struct error *err)
{
	uint64_t blocks = limit->bytes / quota_block;
	struct fsxattr attr;

	assert(disk->kind == DISK_QUOTA && project != 0);
	/* A quota of 0 means no limit to the kernel. */
	if (blocks == 0 || limit->inodes == 0)
		return error_set(err, ERR_INVALID, "a quota of less than %d bytes or of no files",
		                 (int)quota_block);
	/* The limits come before the inheritance flag: there is no moment in which files count as
	 * the project without a limit. */
	if (set_limits(disk, project, blocks, limit->inodes) < 0)
		return error_sys(err, "set the quota of project %u", project);
	if (ioctl(dir, FS_IOC_FSGETXATTR, &attr) < 0)
		return error_sys(err, "read the project of a directory");
	/* With PROJINHERIT new files get the directory's project, and link(2) and rename(2) from
	 * another project fail. In a user namespace the kernel refuses to change project and flag,
	 * so a program inside cannot leave its quota. */
	attr.fsx_projid = project;
	attr.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	if (ioctl(dir, FS_IOC_FSSETXATTR, &attr) < 0)
		return error_sys(err, "make a directory part of project %u", project);
	return 0;
}

/* A sandbox that was created while the file system had no quotas has no project. */
bool disk_has_quota(const struct disk *disk, int dir, uint32_t project)
{
	struct fsxattr attr;

	return disk->kind == DISK_QUOTA && ioctl(dir, FS_IOC_FSGETXATTR, &attr) == 0 &&
	       attr.fsx_projid == project && (attr.fsx_xflags & FS_XFLAG_PROJINHERIT) != 0;
}

void disk_clear_quota(const struct disk *disk, uint32_t project)
{
	if (disk->kind == DISK_QUOTA && project != 0)
		(void)set_limits(disk, project, 0, 0);
}
