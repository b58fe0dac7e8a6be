/* rx_kernel KIND PROCESSES N - each process makes up to N kernel objects of a kind and holds them. Prints
 * how many there are together and why the first process did not get more, then waits for its end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { PROCESSES_MAX = 512, WATCHED = 1000, PAGE = 4096, MAPPINGS = 65000, QUEUE = 16000 };
enum { LOCKS_PER_FILE = 500 }; /* the kernel walks through all locks of a file for each new one */

static int make_file(int i)
{
	(void)i;
	return open("/dev/null", O_RDONLY);
}

static int make_timer(int i)
{
	(void)i;
	return timerfd_create(CLOCK_MONOTONIC, 0);
}

static int make_memfd(int i)
{
	(void)i;
	return memfd_create("m", 0);
}

static int make_inotify(int i)
{
	(void)i;
	return inotify_init();
}

static int make_epoll_watch(int i)
{
	static int watched[WATCHED], epoll;
	struct epoll_event event = { .events = EPOLLIN };

	for (int k = 0; i == 0 && k < WATCHED; k++)
		watched[k] = eventfd(0, 0);
	if (i % WATCHED == 0)
		epoll = epoll_create1(0);
	return epoll_ctl(epoll, EPOLL_CTL_ADD, watched[i % WATCHED], &event);
}

static int make_mapping(int i)
{
	static char *area;

	if (i == 0)
		area = mmap(NULL, (size_t)MAPPINGS * 2 * PAGE, PROT_NONE,
		            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return mprotect(area + (size_t)i * 2 * PAGE, PAGE, PROT_READ);
}

static int make_message(int i)
{
	static int queue;
	const struct {
		long type;
		char text;
	} message = { 1, 'x' };

	if (i % QUEUE == 0)
		queue = msgget(IPC_PRIVATE, 0600);
	return msgsnd(queue, &message, 1, IPC_NOWAIT);
}

static int make_semaphores(int i)
{
	(void)i;
	return semget(IPC_PRIVATE, 32000, 0600);
}

/* Locks that do not touch stay apart. */
static int make_lock_of_kind(int i, int command)
{
	static int fd;
	const struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)i * 2, .l_len = 1
	};

	if (i % LOCKS_PER_FILE == 0)
		fd = memfd_create("l", 0);
	return fcntl(fd, command, &lock);
}

static int make_lock(int i)
{
	return make_lock_of_kind(i, F_SETLK);
}

static int make_description_lock(int i)
{
	return make_lock_of_kind(i, F_OFD_SETLK);
}

static const struct {
	const char *name;
	int (*make)(int i);
} kinds[] = {
	{ "files", make_file },          { "timers", make_timer },
	{ "memfds", make_memfd },        { "inotify", make_inotify },
	{ "watches", make_epoll_watch }, { "mappings", make_mapping },
	{ "messages", make_message },    { "semaphores", make_semaphores },
	{ "locks", make_lock },          { "description-locks", make_description_lock },
};

/* A process was killed at the memory limit, and will not report. */
static void on_child(int signo)
{
	(void)signo;
	_exit(1);
}

struct outcome {
	int count, why;
};

static void hold(int (*make)(int i), int wanted, struct outcome *outcome, int done)
{
	int i = 0;

	while (i < wanted && make(i) >= 0)
		i++;
	*outcome = (struct outcome){ i, i < wanted ? errno : 0 };
	(void)!write(done, "x", 1);
	(void)pause();
	_exit(0);
}

int main(int argc, char **argv)
{
	static struct outcome *outcomes;
	int processes = argc == 4 ? atoi(argv[2]) : 0, done[2], total = 0;
	int (*make)(int i) = NULL;
	char byte;

	for (size_t k = 0; argc == 4 && k < sizeof kinds / sizeof *kinds; k++)
		if (strcmp(kinds[k].name, argv[1]) == 0)
			make = kinds[k].make;
	outcomes = mmap(NULL, PROCESSES_MAX * sizeof *outcomes, PROT_READ | PROT_WRITE,
	                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (make == NULL || processes > PROCESSES_MAX || outcomes == MAP_FAILED || pipe(done) < 0)
		return 2;
	(void)signal(SIGCHLD, on_child);
	for (int i = 0; i < processes; i++)
		if (fork() == 0)
			hold(make, atoi(argv[3]), &outcomes[i], done[1]);
	for (int i = 0; i < processes; i++)
		(void)!read(done[0], &byte, 1);
	for (int i = 0; i < processes; i++)
		total += outcomes[i].count;
	(void)printf("%d %s\n", total,
	             outcomes[0].why != 0 ? strerrorname_np(outcomes[0].why) : "all");
	(void)fflush(stdout);
	(void)pause();
	return 0;
}
