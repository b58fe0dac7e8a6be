/* rx_fork [vfork] - a fork bomb. With vfork: children that never exec, each of a thread that
 * waits. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *keep(void *unused)
{
	if (vfork() == 0)
		for (;;)
			pause();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)printf("begins\n");
	(void)fflush(stdout);
	if (argc > 1 && strcmp(argv[1], "vfork") == 0)
		for (;;)
			if (pthread_create(&thread, NULL, keep, NULL) != 0)
				(void)usleep(1000);
	for (;;)
		(void)fork();
}
