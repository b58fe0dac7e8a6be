#include "base/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

bool message_send(int socket, void *bytes, size_t len, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct iovec part = { bytes, len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(&control.align), &fd, sizeof fd);
		message.msg_control = &control;
		message.msg_controllen = sizeof control;
	}
	do
		n = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n >= 0;
}

/* Without a buffer for control messages the kernel closes descriptors that were sent along, and
 * sets MSG_CTRUNC. */
bool message_receive(int socket, void *bytes, size_t len)
{
	struct iovec part = { bytes, len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	do
		n = recvmsg(socket, &message, MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
}
