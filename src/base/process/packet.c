#include "base/process/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

bool packet_send(int socket, void *bytes, size_t len, int fd)
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
bool packet_receive(int socket, void *bytes, size_t len)
{
	struct iovec part = { bytes, len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	do
		n = recvmsg(socket, &message, MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
}

int packet_take(int socket, void *bytes, size_t len, int *ret_fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { bytes, len };
	/* CMSG_LEN, not CMSG_SPACE: with room for two descriptors the kernel would install a second
	 * one, which no code closes. MSG_CMSG_CLOEXEC: a program that this process starts must not
	 * inherit the descriptor. */
	struct msghdr message = { .msg_iov = &part,
		                  .msg_iovlen = 1,
		                  .msg_control = &control,
		                  .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
	const struct cmsghdr *header;
	AUTO_FD int fd = -1;

	*ret_fd = -1;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	header = CMSG_FIRSTHDR(&message);
	if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof fd))
		memcpy(&fd, CMSG_DATA(header), sizeof fd);
	if (n != (ssize_t)len)
		return -1;
	*ret_fd = TAKE_FD(fd);
	return 1;
}
