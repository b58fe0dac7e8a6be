#include "egress/dialer/dialer.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/packet.h"
#include "egress/dialer/internal.h"

int dialer_start(const struct dialer_config *config, struct dialer *ret, struct error *err)
{
	static struct upstream upstream;
	struct dialer dialer = { .socket = -1 };
	int fds[2];

	if (upstream_read(&upstream, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return error_sys(err, "create the socket of the dialer");
	dialer.socket = fds[0];
	dialer.pid = fork();
	if (dialer.pid == 0)
		dialer_serve(config, &upstream, fds[1]);
	(void)close(fds[1]);
	if (dialer.pid < 0) {
		dialer.pid = 0;
		(void)error_sys(err, "start the dialer");
		dialer_stop(&dialer);
		return -1;
	}
	*ret = dialer;
	return 0;
}

int dialer_wait(const struct dialer *dialer, struct error *err)
{
	static struct dialer_reply reply;

	if (dialer->pid == 0)
		return 0;
	if (!packet_receive(dialer->socket, &reply, sizeof reply))
		return error_set(err, ERR_SYSTEM, "start the dialer: the process has ended");
	if (!reply.failed)
		return 0;
	*err = reply.err;
	return error_wrap(err, "start the dialer");
}

void dialer_stop(struct dialer *dialer)
{
	cleanup_fd(&dialer->socket);
	dialer->socket = -1;
	while (dialer->pid > 0 && waitpid(dialer->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	dialer->pid = 0;
}
