/* pr_signals PID - sends every signal with every call. Prints how many calls succeeded ("taken"),
 * the errors, and that it is still running. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int taken, errors[200];

static void count(long result)
{
	if (result == 0)
		taken++;
	else
		errors[errno % 200]++;
}

int main(int argc, char **argv)
{
	int pid = argc > 1 ? atoi(argv[1]) : 1;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	siginfo_t info;

	for (int signo = 1; signo <= 64; signo++) {
		memset(&info, 0, sizeof info);
		info.si_signo = signo;
		info.si_code = SI_QUEUE;
		info.si_pid = getpid();
		count(kill(pid, signo));
		count(syscall(SYS_tkill, pid, signo));
		count(syscall(SYS_tgkill, pid, pid, signo));
		count(syscall(SYS_rt_sigqueueinfo, pid, signo, &info));
		count(syscall(SYS_rt_tgsigqueueinfo, pid, pid, signo, &info));
		if (fd >= 0)
			count(syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0));
	}
	usleep(300000);
	printf("taken %d", taken);
	for (int i = 0; i < 200; i++)
		if (errors[i])
			printf(" errno %d", i);
	return printf(" still here\n") < 0;
}
