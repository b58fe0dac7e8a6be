#include "agent/program/keep_fds.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIRST = 3 };

static int moved(int fd)
{
	if (fd < 0)
		_exit(1); /* the agent says that we were lost */
	return fd;
}

void keep_fds(int *const fds[], size_t count)
{
	int next = FIRST;

	/* Out of the way first: one may stand where another shall go. */
	for (size_t i = 0; i < count; i++)
		if (*fds[i] >= 0)
			*fds[i] = moved(fcntl(*fds[i], F_DUPFD_CLOEXEC, FIRST + (int)count));
	for (size_t i = 0; i < count; i++)
		if (*fds[i] >= 0)
			*fds[i] = moved(dup3(*fds[i], next++, O_CLOEXEC));
	(void)syscall(SYS_close_range, next, ~0U, 0);
}
