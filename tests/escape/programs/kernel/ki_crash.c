/* ki_crash - crashes after enabling core dumps in every possible way. */
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

int main(void)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	int fd = open("/proc/self/coredump_filter", O_WRONLY);

	setrlimit(RLIMIT_CORE, &all);
	prlimit(0, RLIMIT_CORE, &all, NULL);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (fd >= 0)
		(void)!write(fd, "0xff", 4);
	*(volatile int *)8 = 1;
	return 0;
}
