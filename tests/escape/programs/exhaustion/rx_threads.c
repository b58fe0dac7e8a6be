/* rx_threads N - creates up to N threads. Prints how many. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

int main(int argc, char **argv)
{
	int wanted = argc > 1 ? atoi(argv[1]) : 1000, got = 0, why = 0;
	pthread_attr_t attr;
	pthread_t thread;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, 65536);
	while (got < wanted && (why = pthread_create(&thread, &attr, wait_for_ever, NULL)) == 0)
		got++;
	(void)printf("%d threads, then: %s\n", got, strerror(why));
	return got == wanted;
}
