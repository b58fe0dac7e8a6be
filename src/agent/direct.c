#include "agent/direct.h"

#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/direct_socket.h"

static const struct sockaddr_un address = { AF_UNIX, DIRECT_DIR "/" DIRECT_NAME };

int direct_listen(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)unlink(address.sun_path); /* the socket of an agent that was killed */
	if (fd >= 0 && (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
	                listen(fd, 1) < 0)) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

void direct_accept(int listener, int in, int out)
{
	struct pollfd fds[] = { { .fd = in, .events = POLLIN },
		                { .fd = listener, .events = POLLIN } };
	char byte;
	int fd = -1;

	if (poll(fds, 2, -1) > 0 && fds[1].revents != 0)
		fd = accept(listener, NULL, NULL);
	(void)unlink(address.sun_path);
	(void)close(listener);
	if (fd < 0)
		return;
	if (recv(fd, &byte, 1, MSG_PEEK) > 0) {
		(void)dup2(fd, in);
		(void)dup2(fd, out);
	}
	(void)close(fd);
}
