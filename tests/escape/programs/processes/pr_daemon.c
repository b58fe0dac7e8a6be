/* pr_daemon MARK [stay] - leaves daemons behind: in sessions of their own, ignoring all signals,
 * without descriptors, some of them forking again and again. MARK on the command line identifies
 * them. Then exits with 7, or stays. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void ignore_signals(void)
{
	for (int signo = 1; signo <= 64; signo++)
		signal(signo, SIG_IGN);
}

static void become_daemon(int moving)
{
	ignore_signals();
	prctl(PR_SET_PDEATHSIG, 0);
	setsid();
	if (fork() != 0)
		_exit(0);
	setsid();
	for (int fd = 0; fd < 256; fd++)
		close(fd);
	for (;;) {
		usleep(moving ? 2000 : 1000000);
		if (moving && fork() > 0)
			_exit(0);
	}
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 8; i++)
		if (fork() == 0)
			become_daemon(i % 2);
	usleep(100000);
	printf("left behind: %s\n", argc > 1 ? argv[1] : "");
	fflush(stdout);
	if (argc > 2 && strcmp(argv[2], "stay") == 0)
		for (ignore_signals();;)
			pause();
	return 7;
}
