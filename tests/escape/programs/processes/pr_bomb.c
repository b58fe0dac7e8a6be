/* pr_bomb MARK - forks endlessly and ignores all signals. MARK on the command line identifies
 * it. */
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
