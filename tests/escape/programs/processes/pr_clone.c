/* pr_clone - creates siblings (CLONE_PARENT), processes that share memory (CLONE_VM) and as many
 * threads as possible. Prints how many, exits with 9. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char stacks[64][16384] __attribute__((aligned(16)));

static int brother(void *arg)
{
	(void)arg;
	usleep(200000);
	_exit(3); /* must not become the status of the run */
}

static void *idle(void *arg)
{
	pause();
	return arg;
}

int main(void)
{
	int brothers = 0, sharing = 0, threads = 0;
	pthread_attr_t attr;
	pthread_t thread;

	for (int i = 0; i < 16; i++)
		brothers += clone(brother, stacks[i] + sizeof stacks[i], CLONE_PARENT | SIGCHLD,
		                  NULL) > 0;
	for (int i = 16; i < 32; i++)
		sharing += clone(brother, stacks[i] + sizeof stacks[i],
		                 CLONE_VM | CLONE_FILES | SIGCHLD, NULL) > 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	while (threads < 10000 && pthread_create(&thread, &attr, idle, NULL) == 0)
		threads++;
	printf("brothers %d sharing %d threads %d\n", brothers, sharing, threads);
	fflush(stdout);
	usleep(400000);
	exit(9);
}
