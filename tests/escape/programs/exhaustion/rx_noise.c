/* rx_noise KIND N - does something N times: bytes (writes of one byte), crash (children killed by
 * SIGSEGV), sigsys (children killed by the filter), sync. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *kind)
{
	volatile int *nowhere = NULL;

	if (strcmp(kind, "crash") == 0)
		*nowhere = 1;
#ifdef __x86_64__
	__asm__ volatile("int $0x80" : : "a"(20) : "memory"); /* getpid of 32-bit programs */
#endif
	_exit(0);
}

int main(int argc, char **argv)
{
	int count = argc == 3 ? atoi(argv[2]) : 0, died = 0, status;

	for (int i = 0; i < count; i++) {
		if (strcmp(argv[1], "bytes") == 0)
			(void)!write(i % 2 == 0 ? STDOUT_FILENO : STDERR_FILENO, "x", 1);
		else if (strcmp(argv[1], "sync") == 0)
			sync();
		else {
			pid_t child = fork();

			if (child == 0)
				die(argv[1]);
			(void)waitpid(child, &status, 0);
			died += WIFSIGNALED(status);
		}
	}
	if (strcmp(argv[1], "bytes") != 0)
		(void)printf("%d died\n", died);
	return 0;
}
