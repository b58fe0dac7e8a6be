/* direct_connection.c - a connection to the agent in a container that goes around the daemon (see
 * wire/direct_socket.h).
 *
 * Between broker and agent, the attached stream passes through the daemon and the process that
 * holds the container's pipes, and each message wakes both. If the daemon is on this machine and
 * the broker may read its volumes, which takes root, the broker connects to the agent's socket in
 * the volume instead. The path of the volume comes from the daemon, and programs can write to the
 * volume, so is_peer() checks that the process at the other end is PID 1 of the container. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/docker/internal.h"
#include "wire/direct_socket.h"

bool direct_is_possible(const struct broker *broker, const struct docker_container *container)
{
	AUTO_FD int dir = -1;

	if (!broker->options->daemon->is_local || container->pid <= 0 ||
	    container->direct_dir[0] != '/')
		return false;
	dir = open(container->direct_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir >= 0;
}

static bool is_peer(int fd, int64_t pid)
{
	struct ucred peer;
	socklen_t len = sizeof peer;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid == pid;
}

/* connect(2) takes only a path and follows links, and a program can leave a link in the volume. So
 * the socket is opened with O_NOFOLLOW, and its path is that of the descriptor in /proc. */
int direct_connect(const struct docker_container *container)
{
	AUTO_FD int dir = open(container->direct_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_FD int file = openat(dir, DIRECT_NAME, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat st;

	if (file < 0 || fd < 0 || fstat(file, &st) < 0 || !S_ISSOCK(st.st_mode))
		return -1;
	(void)snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", file);
	if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
	    !is_peer(fd, container->pid))
		return -1;
	return TAKE_FD(fd);
}
