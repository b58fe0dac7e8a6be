#include "base/tree/open_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

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

int open_parent(int at)
{
	return open_resolved(at, "..", O_RDONLY | O_DIRECTORY, 0, RESOLVE_NO_XDEV);
}
