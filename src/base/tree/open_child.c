#include "base/tree/open_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RACES_MAX = 64 }; /* the kernel gives up when something is renamed while it walks */

static int step(int at, const char *name, int flags, unsigned resolve)
{
	struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC,
		.resolve = RESOLVE_NO_XDEV | resolve,
	};
	long fd = -1;

	/* The call refuses flags that mean nothing. */
	if ((flags & O_PATH) == 0)
		how.flags |= O_NOCTTY | O_NONBLOCK;
	for (int i = 0; i < RACES_MAX; i++) {
		fd = syscall(SYS_openat2, at, name, &how, sizeof how);
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return (int)fd;
}

int open_child(int at, const char *name, int flags)
{
	return step(at, name, flags | O_NOFOLLOW, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
}

int open_parent(int at)
{
	return step(at, "..", O_RDONLY | O_DIRECTORY, 0);
}
