/* fs_chroot.c PATH - the oldest way out: a root below the root, then up past it with a directory
 * kept open. Then tries to read PATH, which is the host's. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "try.h"

int main(int argc, char **argv)
{
	int here = open(".", O_RDONLY | O_DIRECTORY);

	(void)argc;
	(void)mkdir("/tmp/a", 0755);
	tell("chroot below", chroot("/tmp/a"));
	tell("chroot here", chroot("."));
	tell("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp/a"));
	(void)fchdir(here);
	for (int i = 0; i < 256; i++)
		(void)chdir("..");
	tell("chroot above", chroot("."));
	tell("read", open(argv[1], O_RDONLY));
	return 0;
}
