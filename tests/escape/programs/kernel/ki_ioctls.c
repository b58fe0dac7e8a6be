/* ki_ioctls SECONDS - random ioctls on everything that can be opened, in children, since some
 * commands kill or stop the process. The test checks that the kernel logs no fault. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *const paths[] = {
	"/dev/null",          "/dev/zero",      "/dev/full",
	"/dev/random",        "/dev/urandom",   "/dev/tty",
	"/dev/ptmx",          "/dev/pts/0",     "/",
	"/usr/bin/env",       "/dev/shm",       "/tmp",
	"/proc/self/ns/user", "/proc/self/mem", "/proc/self/mountinfo"
};
enum { PATHS = sizeof paths / sizeof paths[0], ROUND = 2000 };

static int choose(int at)
{
	int fds[2] = { -1, -1 };

	if (at < PATHS)
		return open(paths[at], O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (at == PATHS)
		return pipe2(fds, O_NONBLOCK) == 0 ? fds[0] : -1;
	return at == PATHS + 1 ? socket(AF_INET, SOCK_STREAM, 0) : socket(AF_UNIX, SOCK_DGRAM, 0);
}

static void play(unsigned seed)
{
	static const unsigned char kinds[] = { 'T', 'f', 'X', 'R', 0x89, 0x12, 0xb7, 'v', 'M', 0 };
	static unsigned long page[2048];

	srandom(seed);
	for (int i = 0; i < ROUND; i++) {
		int fd = choose((int)(random() % (PATHS + 3)));
		unsigned long command = (unsigned long)kinds[random() % 10] << 8 |
		                        (random() & 0xff);

		command |= random() % 2 ? (unsigned long)random() << 16 & 0xc3ff0000 : 0;
		for (int n = 0; n < 16; n++)
			page[n] = random() % 3 ? (unsigned long)random() : 0;
		ioctl(fd, command,
		      random() % 4 ? (unsigned long)page : (unsigned long)random() % 64);
		close(fd);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	unsigned rounds = 0;

	for (; time(NULL) < until; rounds++) {
		pid_t child = fork();

		if (child == 0)
			play(rounds);
		for (int i = 0; i < 2000 && waitpid(child, NULL, WNOHANG) == 0; i++)
			usleep(1000);
		kill(child, SIGKILL);
	}
	return printf("commands %u\n", rounds * ROUND) < 0;
}
