/* rx_disk KIND MIB - uses so much of the disk in the given way, waits a second and prints
 * "held". */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MIB = 1 << 20 };
static char block[MIB];

/* FS_IOC_RESVSP64: reserves space like fallocate. */
static int reserve(int fd)
{
	struct {
		short type, whence;
		long long start, len;
		int more[6];
	} space = { .len = 4LL << 30 };

	return ioctl(fd, _IOW('X', 42, space), &space) | close(fd);
}

/* Keeps only a mapping of the file: no name and no descriptor. */
static int take_mapped(int fd, const char *name)
{
	char *at = ftruncate(fd, MIB) < 0
	                   ? MAP_FAILED
	                   : mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED || close(fd) < 0 || unlink(name) < 0)
		return -1;
	memset(at, 1, MIB);
	return madvise(at, MIB,
	               MADV_DONTNEED); /* written to disk, so that it does not count as memory */
}

static int is_one_file(const char *kind)
{
	return strcmp(kind, "write") == 0 || strcmp(kind, "raised") == 0;
}

/* The soft limit on the size of a file is below the disk limit; the hard one need not be. */
static int raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return -1;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_FSIZE, &limit);
}

static int take_one(const char *kind, int number)
{
	char name[32];
	int fd;

	if (strcmp(kind, "stopping") == 0 && (raise_file_limit() < 0 || usleep(5000) < 0))
		return -1;
	(void)snprintf(name, sizeof name, "f%d", is_one_file(kind) ? 0 : number);
	fd = strcmp(kind, "tmpfile") == 0 ? open(".", O_TMPFILE | O_RDWR, 0600)
	                                  : open(name, O_RDWR | O_CREAT | O_APPEND, 0600);
	if (fd < 0)
		return -1;
	if (strcmp(kind, "unlinked") == 0)
		(void)unlink(name);
	if (strcmp(kind, "fallocate") == 0)
		return fallocate(fd, 0, 0, MIB) | close(fd);
	if (strcmp(kind, "reserve") == 0)
		return reserve(fd);
	if (strcmp(kind, "mapped") == 0)
		return take_mapped(fd, name);
	if (strcmp(kind, "mmap") == 0) {
		char *at = ftruncate(fd, MIB) < 0
		                   ? MAP_FAILED
		                   : mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (at == MAP_FAILED)
			return -1;
		memset(at, 1, MIB);
		return munmap(at, MIB) | close(fd);
	}
	if (write(fd, block, MIB) < 0) /* a short write is continued by the next one */
		return -1;
	if (strcmp(kind, "unlinked") != 0 && strcmp(kind, "tmpfile") != 0)
		(void)close(fd); /* unlinked files exist as long as they are open */
	return 0;
}

static int take_all(const char *kind, int count)
{
	memset(block, 1, sizeof block);
	if (strcmp(kind, "raised") == 0 && raise_file_limit() < 0)
		return 1;
	for (int i = 0; i < count; i++)
		if (take_one(kind, i) < 0) {
			perror("refused");
			return 1;
		}
	(void)sleep(1);
	(void)printf("held\n");
	(void)fflush(stdout);
	return 0;
}

static int in_thread(void *count)
{
	_exit(take_all("unlinked", *(int *)count));
}

/* thread: a thread with its own table of descriptors. leaderless: the first thread has exited. */
static int take_in_thread(int count, int flags)
{
	static char stack[MIB];

	if (clone(in_thread, stack + MIB,
	          CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | flags,
	          &count) < 0)
		return 1;
	if (flags != 0)
		(void)syscall(SYS_exit, 0);
	return pause();
}

static int stop_others(void *unused)
{
	while (kill(-1, SIGSTOP) == 0)
		continue;
	return unused != NULL;
}

/* Stops the processes that it may send signals to, those of belljar among them where they have the
 * program's id. */
static int take_stopping(int count)
{
	static char stack[MIB];

	if (clone(stop_others, stack + MIB,
	          CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_FILES,
	          NULL) < 0)
		return 1;
	_exit(take_all("stopping", count));
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (strcmp(argv[1], "stopping") == 0)
		return take_stopping(atoi(argv[2]));
	if (strcmp(argv[1], "thread") == 0)
		return take_in_thread(atoi(argv[2]), 0);
	if (strcmp(argv[1], "leaderless") == 0)
		return take_in_thread(atoi(argv[2]), CLONE_FILES);
	return take_all(argv[1], atoi(argv[2]));
}
