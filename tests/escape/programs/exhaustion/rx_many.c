/* rx_many KIND N - creates up to N objects of a kind. Prints how many, and why not more. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define is(a, b) (strcmp(a, b) == 0)

static int one(const char *kind, int number)
{
	struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = 8192 };
	char name[32];
	int fd;

	(void)snprintf(name, sizeof name, "/workspace/m%d", number);
	if (is(kind, "fd"))
		return open("/dev/null", O_RDONLY);
	if (is(kind, "pty"))
		return posix_openpt(O_RDWR | O_NOCTTY);
	if (is(kind, "epoll"))
		return epoll_create1(0);
	if (is(kind, "eventfd"))
		return eventfd(0, 0);
	if (is(kind, "timerfd"))
		return timerfd_create(CLOCK_MONOTONIC, 0);
	if (is(kind, "inotify"))
		return inotify_init();
	if (is(kind, "mq"))
		return mq_open(name + strlen("/workspace"), O_RDWR | O_CREAT, 0600, &attr);
	if (is(kind, "sem"))
		return semget(IPC_PRIVATE, 250, 0600);
	if (is(kind, "missing")) /* the kernel caches missing names as well */
		return access(name, F_OK) == 0;
	if (is(kind, "deep"))
		return mkdir("d", 0700) | chdir("d");
	if (is(kind, "file") && (fd = open(name, O_CREAT | O_WRONLY, 0600)) >= 0)
		return close(fd);
	return -1;
}

int main(int argc, char **argv)
{
	int got = 0, wanted = argc == 3 ? atoi(argv[2]) : 0;

	while (got < wanted && one(argv[1], got) >= 0)
		got++;
	(void)printf("%d %s\n", got, got < wanted ? strerrorname_np(errno) : "all");
	return 0;
}
