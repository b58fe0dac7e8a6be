#include "agent/files/move.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOREPLACE = 1 }; /* RENAME_NOREPLACE of linux/fs.h, which not every libc has */

/* The best that is left. */
static int look_and_rename(int from_dir, const char *from, int to_dir, const char *to)
{
	struct stat st;

	if (fstatat(to_dir, to, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return renameat(from_dir, from, to_dir, to);
	errno = EEXIST;
	return -1;
}

int move_to_free(int from_dir, const char *from, int to_dir, const char *to)
{
	int saved;

	if (syscall(SYS_renameat2, from_dir, from, to_dir, to, NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (linkat(from_dir, from, to_dir, to, 0) < 0)
		return errno == EEXIST ? -1 : look_and_rename(from_dir, from, to_dir, to);
	/* If somebody else took the first name away, the second may be the last. */
	if (unlinkat(from_dir, from, 0) == 0 || errno == ENOENT)
		return 0;
	saved = errno;
	(void)unlinkat(to_dir, to, 0);
	errno = saved;
	return -1;
}
