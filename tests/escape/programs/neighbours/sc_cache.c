/* sc_cache FILE - asks the kernel which pages of a file are cached, that is, what others have read.
 * Prints the answers of mincore (with the number of pages) and cachestat. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, CACHESTAT = 451, MEMORY_MERGE = 67, SCHED_CORE = 62 };

int main(int argc, char **argv)
{
	static unsigned char there[65536];
	uint64_t range[2] = { 0, 0 }, answer[5];
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	struct stat st;
	size_t pages, count = 0;
	void *at;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 2;
	pages = ((size_t)st.st_size + PAGE - 1) / PAGE;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED || pages > sizeof there)
		return 2;
	if (mincore(at, (size_t)st.st_size, there) < 0)
		(void)printf("mincore %s\n", strerrorname_np(errno));
	else {
		for (size_t i = 0; i < pages; i++)
			count += there[i] & 1;
		(void)printf("mincore %s\n", count == pages ? "all" : count == 0 ? "none" : "SOME");
	}
	(void)printf("cachestat %s\n", syscall(CACHESTAT, fd, range, answer, 0) < 0
	                                       ? strerrorname_np(errno)
	                                       : "ANSWERS");
	(void)printf("merge %s\n", prctl(MEMORY_MERGE, 1, 0, 0, 0) < 0 ? "refused" : "GOT");
	(void)printf("core %s\n", prctl(SCHED_CORE, 1, 0, 0, 0) < 0 ? "refused" : "GOT");
	return 0;
}
