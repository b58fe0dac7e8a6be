#include "sandbox/porter/porter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/process/packet.h"
#include "sandbox/porter/internal.h"

static int allow_options(struct porter_slots *slots, const struct porter_config *config,
                         struct error *err)
{
	AUTO_FREE char *copy = mem_dup(config->paths != NULL ? config->paths : "");
	char *save = NULL;

	for (char *path = strtok_r(copy, ":", &save); path != NULL;
	     path = strtok_r(NULL, ":", &save))
		if (porter_slots_allow(slots, path, err) < 0)
			return error_wrap(err, "allow-path");
	return config->directory != NULL ? porter_slots_allow(slots, config->directory, err) : 0;
}

/* Waits until the porter is confined, and returns why it could not be. */
static int wait_until_confined(int socket, struct error *err)
{
	static struct porter_reply reply;

	if (!packet_receive(socket, &reply, sizeof reply))
		return error_set(err, ERR_SYSTEM, "start the porter: the process has ended");
	if (!reply.failed)
		return 0;
	*err = reply.err;
	return error_wrap(err, "start the porter");
}

static int fork_porter(struct porter *porter, struct porter_slots *slots, struct error *err)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return error_sys(err, "create the socket of the porter");
	porter->socket = fds[0];
	porter->pid = fork();
	if (porter->pid == 0)
		porter_serve(slots, fds[1]);
	(void)close(fds[1]);
	if (porter->pid < 0) {
		porter->pid = 0;
		return error_sys(err, "start the porter");
	}
	return wait_until_confined(porter->socket, err);
}

int porter_start(const struct porter_config *config, struct porter *ret, struct error *err)
{
	struct porter porter = { .socket = -1 };
	struct porter_slots slots = { .accepts_roots = config->accepts_roots,
		                      .state = config->state,
		                      .exports = config->exports };
	int r = allow_options(&slots, config, err);

	if (r == 0 && (slots.fixed != 0 || slots.accepts_roots))
		r = fork_porter(&porter, &slots, err);
	for (; r == 0 && porter.count < slots.fixed; porter.count++)
		porter.directories[porter.count] = mem_dup(slots.at[porter.count].path);
	porter_slots_done(&slots);
	if (r < 0)
		porter_stop(&porter);
	else
		*ret = porter;
	return r;
}

void porter_stop(struct porter *porter)
{
	cleanup_fd(&porter->socket);
	porter->socket = -1;
	while (porter->pid > 0 && waitpid(porter->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	porter->pid = 0;
	for (size_t i = 0; i < porter->count; i++)
		free(porter->directories[i]);
	porter->count = 0;
}
