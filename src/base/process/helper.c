#include "base/process/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/process/packet.h"

/* The first packet of a process. */
struct hello {
	bool failed;
	struct error why;
};

int helper_start(const char *name, helper_fn *run, void *ctx, pid_t *pid, int *socket,
                 struct error *err)
{
	int fds[2];

	*pid = 0;
	*socket = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return error_sys(err, "create the socket of the %s", name);
	*pid = fork();
	if (*pid == 0)
		run(ctx, fds[1]);
	(void)close(fds[1]);
	if (*pid < 0) {
		*pid = 0;
		(void)error_sys(err, "start the %s", name);
		(void)close(fds[0]);
		return -1;
	}
	*socket = fds[0];
	return 0;
}

int helper_wait(const char *name, int socket, struct error *err)
{
	struct hello hello = { 0 };

	if (!packet_receive(socket, &hello, sizeof hello))
		return error_set(err, ERR_SYSTEM, "start the %s: the process has ended", name);
	if (!hello.failed)
		return 0;
	*err = hello.why;
	return error_wrap(err, "start the %s", name);
}

void helper_stop(pid_t *pid, int *socket)
{
	cleanup_fd(socket);
	*socket = -1;
	while (*pid > 0 && waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	*pid = 0;
}

int helper_begin(const char *name, const int *keep, size_t count, struct error *err)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP };
	int null;

	(void)prctl(PR_SET_NAME, name, 0, 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	/* A program that starts belljar may have ignored SIGCHLD: wait(2) would then find no child
	 * that has exited. */
	(void)signal(SIGCHLD, SIG_DFL);
	if (fd_close_others(keep, count, err) < 0)
		return -1;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return error_sys(err, "put /dev/null on descriptors 0 and 1");
	if (null > STDERR_FILENO)
		(void)close(null);
	return 0;
}

void helper_report(int socket, const struct error *why)
{
	struct hello hello = { .failed = why != NULL };

	if (why != NULL)
		hello.why = *why;
	if (!packet_send(socket, &hello, sizeof hello, -1) || why != NULL)
		_exit(1);
}
