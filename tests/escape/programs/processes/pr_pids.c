/* pr_pids - prints every pid that kill() or getsid() finds. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	for (int pid = 1; pid <= 4194304; pid++) {
		if (kill(pid, 0) == 0 || errno != ESRCH)
			printf("%d ", pid);
		else if (pid < 100000 && getsid(pid) >= 0)
			printf("%d ", pid);
	}
	return printf("\n") < 0;
}
