/* porter_serve.c - the porter's process: confines itself, then handles one request at a time. */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/process/helper.h"
#include "base/process/packet.h"
#include "engine/agent_image.h"
#include "sandbox/porter/internal.h"

enum { EXIT_SECONDS = 3 };

/* --- requests ---------------------------------------------------------------------- */

static bool is_zero_from(const char path[HOST_PATH_SIZE], size_t at)
{
	for (; at < HOST_PATH_SIZE; at++)
		if (path[at] != '\0')
			return false;
	return true;
}

/* The path must be the text that host_path_normal() makes, which has no '..' in it. */
static bool is_normal_path(const char path[HOST_PATH_SIZE])
{
	char normal[HOST_PATH_SIZE];
	struct error ignored;

	return memchr(path, '\0', HOST_PATH_SIZE) != NULL && is_zero_from(path, strlen(path)) &&
	       host_path_normal(path, normal, &ignored) == 0 && strcmp(path, normal) == 0;
}

static bool is_valid_request(const struct porter_slots *slots, const struct porter_request *request)
{
	if (request->kind >= PORTER_REQUEST_KINDS || request->index >= PORTER_DIRECTORIES_MAX)
		return false;
	if (request->kind != PORTER_OPEN &&
	    (!slots->accepts_roots || request->index < slots->fixed))
		return false;
	return request->kind == PORTER_ADD_ROOT ? is_normal_path(request->path)
	                                        : is_zero_from(request->path, 0);
}

/* Handles a valid request. Returns the descriptor for the reply, or -1. */
static int handle_request(struct porter_slots *slots, const struct porter_request *request,
                          const struct porter_image *image, struct porter_reply *reply)
{
	int fd = -1, r = 0;

	if (request->kind == PORTER_OPEN)
		r = fd = porter_start_agent(slots, request->index, image, reply, &reply->err);
	else if (request->kind == PORTER_REMOVE_ROOT)
		porter_slots_remove(slots, request->index);
	else
		r = porter_slots_add_root(slots, request->index, request->path, &reply->err);
	reply->failed = r < 0;
	return fd;
}

/* --- the process ------------------------------------------------------------------- */

/* Waits for the agents, which exit when the server closes their channels, so that no process is
 * left behind. An agent that hangs in a file system that does not reply is given EXIT_SECONDS. */
static NORETURN void exit_after_agents(void)
{
	(void)alarm(EXIT_SECONDS);
	while (wait(NULL) >= 0 || errno == EINTR)
		continue;
	_exit(0);
}

static int prepare_process(const struct porter_slots *slots, int socket, struct porter_image *image,
                           struct error *err)
{
	int keep[PORTER_DIRECTORIES_MAX + 1];
	size_t count = 0;

	keep[count++] = socket;
	for (size_t i = 0; i < slots->fixed; i++)
		keep[count++] = slots->at[i].fd;
	if (helper_begin("belljar-porter", keep, count, err) < 0)
		return -1;
	/* Not dumpable: a process of the same user, such as one of a sandbox with a single user id,
	 * can neither attach with ptrace() nor open /proc/PID/fd. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	porter_count_agents();
	image->fd = agent_image_open(AGENT_ON_HOST, &image->is_sealed, err);
	return image->fd < 0 ? -1 : porter_confine(slots, image, err);
}

/* A request that no honest server sends ends the porter: the server was taken over. */
void porter_serve(void *ctx, int socket)
{
	static struct porter_request request;
	static struct porter_reply reply;
	struct porter_slots *slots = ctx;
	struct porter_image image;
	struct error err;

	helper_report(socket, prepare_process(slots, socket, &image, &err) < 0 ? &err : NULL);
	while (packet_receive(socket, &request, sizeof request) &&
	       is_valid_request(slots, &request)) {
		AUTO_FD int fd = -1;

		reply = (struct porter_reply){ 0 };
		fd = handle_request(slots, &request, &image, &reply);
		if (!packet_send(socket, &reply, sizeof reply, fd))
			break;
	}
	exit_after_agents();
}
