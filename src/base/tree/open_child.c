#include "base/tree/open_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* openat2(2) fails with EAGAIN when a rename or mount happens anywhere while it resolves "..". */
enum { ATTEMPTS_MAX = 64 };

int open_resolved(int at, const char *name, int flags, mode_t mode, unsigned resolve)
{
	struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC,
		.mode = (flags & O_CREAT) != 0 ? mode & 0777 : 0,
		.resolve = resolve,
	};
	long fd = -1;

	/* Unlike open(2), openat2(2) fails with EINVAL on flags that have no effect with O_PATH. */
	if ((flags & O_PATH) == 0)
		how.flags |= O_NOCTTY | O_NONBLOCK;
	for (int i = 0; i < ATTEMPTS_MAX; i++) {
		fd = syscall(SYS_openat2, at, name, &how, sizeof how);
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return (int)fd;
}

int open_child(int at, const char *name, int flags)
{
	return open_resolved(at, name, flags | O_NOFOLLOW, 0,
	                     RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
}

/* chmod(2) by name could be led through a symbolic link that replaced the directory, and fchmod(2)
 * refuses O_PATH descriptors. /proc/self/fd names the directory that was checked. */
static int make_accessible(int at, const char *name, mode_t need)
{
	AUTO_FD int fd = open_child(at, name, O_PATH | O_DIRECTORY);
	char fd_path[32];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	(void)snprintf(fd_path, sizeof fd_path, "/proc/self/fd/%d", fd);
	if (st.st_uid == geteuid() && chmod(fd_path, (st.st_mode & 07777) | need) == 0)
		return 0;
	errno = EACCES;
	return -1;
}

int open_child_dir(int at, const char *name, mode_t need, struct stat *ret)
{
	AUTO_FD int fd = open_child(at, name, O_RDONLY | O_DIRECTORY);

	if (fd < 0 && errno == EACCES && make_accessible(at, name, need) == 0)
		fd = open_child(at, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || fstat(fd, ret) < 0)
		return -1;
	/* With the r bit alone the names can be read, but the entries cannot be opened. */
	if (ret->st_uid == geteuid() && (ret->st_mode & need) != need)
		(void)fchmod(fd, (ret->st_mode & 07777) | need);
	return TAKE_FD(fd);
}
