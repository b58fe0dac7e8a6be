/* rx_hidden KIND MIB SECONDS - uses memory that no process maps, holds it, and prints "held".
 * Kinds: memfd, sysv, shm, sockets and pipes (the bytes in them). */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MIB = 1 << 20 };
static char block[MIB];

static long take_one(const char *kind, int number)
{
	char name[32];
	int fds[2] = { -1, -1 }, size = MIB;
	long done = 0;
	ssize_t n;

	(void)snprintf(name, sizeof name, "/dev/shm/%d", number);
	if (strcmp(kind, "sysv") == 0) {
		void *at = shmat(shmget(IPC_PRIVATE, MIB, 0600), NULL, 0);

		return at == (void *)-1 ? -1 : (memset(at, 1, MIB), shmdt(at), MIB);
	}
	if (strcmp(kind, "sockets") == 0 &&
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0)
		(void)setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
	else if (strcmp(kind, "pipes") == 0 && pipe2(fds, O_NONBLOCK) == 0)
		(void)fcntl(fds[1], F_SETPIPE_SZ, size);
	else if (strcmp(kind, "memfd") == 0)
		fds[1] = memfd_create("m", 0);
	else if (strcmp(kind, "shm") == 0)
		fds[1] = open(name, O_RDWR | O_CREAT, 0600);
	while (done < MIB && (n = write(fds[1], block, 4096)) > 0)
		done += n;
	return done > 0 ? done : -1;
}

int main(int argc, char **argv)
{
	long wanted = argc == 4 ? atol(argv[2]) * MIB : 0, done = 0, more;

	for (int i = 0; done < wanted && (more = take_one(argv[1], i)) > 0; i++)
		done += more;
	(void)printf("%ld MiB\n", done / MIB);
	(void)fflush(stdout);
	(void)sleep(argc == 4 ? (unsigned)atoi(argv[3]) : 0);
	(void)printf("%s\n", done < wanted ? "refused" : "held");
	return 0;
}
