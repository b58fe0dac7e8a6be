/* rx_scm - sends descriptors in messages over sockets that are themselves sent, as many as
 * possible. The kernel allows a user as many in transit as one process may have open
 * (RLIMIT_NOFILE). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int send_fd(int over, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int) * 2)];
	} control = { .header = { CMSG_LEN(sizeof(int) * 2), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec byte = { "x", 1 };
	struct msghdr message = { .msg_iov = &byte,
		                  .msg_iovlen = 1,
		                  .msg_control = &control,
		                  .msg_controllen = sizeof control };
	int fds[2] = { fd, fd };

	memcpy(CMSG_DATA(&control.header), fds, sizeof fds);
	return sendmsg(over, &message, MSG_DONTWAIT) == 1 ? 0 : -1;
}

int main(void)
{
	int sent = 0, inner = -1, pair[2];

	while (sent < 100000 && socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0) {
		/* Each socket holds the one before; only the newest stays open. */
		for (int i = 0; i < 4; i++) {
			if (send_fd(pair[0], inner >= 0 ? inner : 1) < 0) {
				(void)printf("%d %s\n", sent, strerrorname_np(errno));
				return 0;
			}
			sent += 2;
		}
		(void)close(pair[0]);
		if (inner >= 0)
			(void)close(inner);
		inner = pair[1];
	}
	(void)printf("%d all\n", sent);
	return 0;
}
