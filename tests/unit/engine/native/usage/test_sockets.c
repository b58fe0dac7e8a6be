/* The memory of all sockets in a network namespace is found, whatever holds them. */
#include "unit/engine/native/rig.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "engine/native/usage/internal.h"

enum { KIB = 1024, PIECE = 48 * KIB, CONNECTIONS = 8 };

static const char bytes[PIECE] = "x";

static void need(bool done)
{
	if (!done)
		_exit(1);
}

static void bring_up_loopback(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	need(ioctl(fd, SIOCSIFFLAGS, &lo) == 0);
	(void)close(fd);
}

/* Connections with unread bytes that are never accepted; their other ends are closed. */
static void fill_backlog(void)
{
	struct sockaddr_in where = { .sin_family = AF_INET,
		                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof where;
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	need(bind(listener, (void *)&where, len) == 0 && listen(listener, CONNECTIONS) == 0 &&
	     getsockname(listener, (void *)&where, &len) == 0);
	for (int i = 0; i < CONNECTIONS; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		need(connect(fd, (void *)&where, len) == 0 && write(fd, bytes, PIECE) == PIECE);
		(void)close(fd);
	}
}

static void begin_datagram(void)
{
	struct sockaddr_in6 where = { .sin6_family = AF_INET6,
		                      .sin6_port = htons(9),
		                      .sin6_addr = in6addr_loopback };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	need(sendto(fd, bytes, PIECE, MSG_MORE, (void *)&where, sizeof where) == PIECE);
}

static void fill_pair(void)
{
	int fds[2];

	need(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0 && write(fds[0], bytes, PIECE) == PIECE);
}

static void fill_nothing(void)
{
}

/* A process in a network namespace of its own that has called `fill`. */
static pid_t start_holder(void (*fill)(void))
{
	char byte;
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		need(unshare(CLONE_NEWNET) == 0);
		bring_up_loopback();
		fill();
		need(write(ready[1], "", 1) == 1);
		(void)pause();
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

/* In a process of its own, because socket_memory() changes the network namespace. */
static uint64_t measure(void (*fill)(void), bool with_unix)
{
	int result[2], proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	pid_t holder = start_holder(fill);
	uint64_t sum = UINT64_MAX;

	assert_int_equal(pipe(result), 0);
	if (fork() == 0) {
		sum = socket_memory(proc, holder, with_unix, UINT64_MAX);
		need(write(result[1], &sum, sizeof sum) == sizeof sum);
		_exit(0);
	}
	assert_int_equal(read(result[0], &sum, sizeof sum), sizeof sum);
	assert_false(sockets_could_exceed(proc, holder, 1ull << 40));
	assert_int_equal(sockets_could_exceed(proc, holder, 1),
	                 fill == fill_backlog || fill == begin_datagram);
	(void)kill(holder, SIGKILL);
	while (wait(NULL) > 0)
		;
	(void)close(result[0]);
	(void)close(result[1]);
	(void)close(proc);
	return sum;
}

static void sockets_of_every_kind_count(void **state)
{
	if (geteuid() != 0)
		skip();
	assert_in_range(measure(fill_nothing, true), 0, PIECE - 1);
	assert_in_range(measure(fill_backlog, false), CONNECTIONS * PIECE,
	                64 * CONNECTIONS * PIECE);
	assert_in_range(measure(begin_datagram, false), PIECE, 8 * PIECE);
	assert_in_range(measure(fill_pair, true), PIECE, 8 * PIECE);
	assert_in_range(measure(fill_pair, false), 0, PIECE - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sockets_of_every_kind_count),
	};

	return RUN_TESTS("engine/native/usage/sockets", tests);
}
