/* pr_open PID - tries to open memory, descriptors and root of another process. Prints OPENED for
 * each success. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *const names[] = {
	"mem",        "environ",    "maps",    "smaps",   "auxv",  "exe",         "root/etc",
	"cwd/.",      "fd/0",       "fd/1",    "fd/3",    "fd/4",  "fdinfo/3",    "map_files",
	"ns/user",    "ns/mnt",     "ns/net",  "syscall", "stack", "personality", "io",
	"task/1/mem", "clear_refs", "pagemap", "fd",      "fdinfo"
};

int main(int argc, char **argv)
{
	int pid = argc > 1 ? atoi(argv[1]) : 1, fd;
	char path[64], byte;
	struct iovec here = { &byte, 1 }, there = { (void *)0x400000, 1 };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		for (int flags = O_RDONLY; flags <= O_RDWR; flags++) {
			snprintf(path, sizeof path, "/proc/%d/%s", pid, names[i]);
			fd = open(path, flags | O_NONBLOCK);
			if (fd >= 0)
				printf("OPENED %s %d\n", path, flags);
		}
	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	if (readlink(path, &byte, 1) > 0)
		printf("OPENED the link %s\n", path);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	for (int i = 0; fd >= 0 && i < 64; i++)
		if (syscall(SYS_pidfd_getfd, fd, i, 0) >= 0)
			printf("OPENED descriptor %d\n", i);
	if (process_vm_readv(pid, &here, 1, &there, 1, 0) > 0)
		printf("OPENED its memory\n");
	return 0;
}
