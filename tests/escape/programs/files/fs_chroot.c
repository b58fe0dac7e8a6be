/* fs_chroot PATH - the classic escape: chroot() to a subdirectory, then ".." from a directory that
 * was kept open. Then tries to read PATH of the host. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../try.h"

int main(int argc, char **argv)
{
	int here = open(".", O_RDONLY | O_DIRECTORY);

	(void)argc;
	(void)mkdir("/tmp/a", 0755);
	report("chroot below", chroot("/tmp/a"));
	report("chroot here", chroot("."));
	report("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp/a"));
	(void)fchdir(here);
	for (int i = 0; i < 256; i++)
		(void)chdir("..");
	report("chroot above", chroot("."));
	report("read", open(argv[1], O_RDONLY));
	return 0;
}
