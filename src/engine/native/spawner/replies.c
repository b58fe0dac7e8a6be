/* replies.c - the queue of replies to the server. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "engine/native/spawner/internal.h"

struct queued_reply {
	struct list node;
	struct spawner_reply reply;
	size_t fd_count;
	int fds[REPLY_FDS_MAX]; /* closed when they are sent */
};

void replies_init(struct replies *replies)
{
	replies->count = 0;
	list_init(&replies->queue);
}

static struct queued_reply *queue_reply(struct replies *replies, const struct spawner_reply *reply)
{
	struct queued_reply *queued = mem_new(sizeof *queued);

	queued->reply = *reply;
	list_add(&replies->queue, &queued->node);
	replies->count++;
	return queued;
}

void replies_add(struct replies *replies, const struct spawner_reply *reply)
{
	(void)queue_reply(replies, reply);
}

void replies_add_failure(struct replies *replies, enum spawner_reply_kind kind, uint64_t number,
                         const struct error *err)
{
	replies_add(replies, &(struct spawner_reply){
	                             .kind = kind, .number = number, .failed = true, .err = *err });
}

/* The server has no rights in the cgroup tree. The server gets open files to read the counters
 * from, not the directory: openat(2) of ".." would lead from there through the whole tree. */
void replies_add_started(struct replies *replies, const struct host_resources *host,
                         struct spawner_sandbox *sandbox)
{
	const struct spawner_reply reply = { .kind = REPLY_STARTED,
		                             .number = sandbox->number,
		                             .pid = (uint32_t)sandbox->pid,
		                             .user = { SPEC_UID, SPEC_GID,
		                                       host->userns.mode == USERNS_SINGLE_ID } };
	struct queued_reply *queued = queue_reply(replies, &reply);
	int counters[CGROUP_COUNTER_FILES];

	queued->fds[queued->fd_count++] = TAKE_FD(sandbox->channel);
	cgroup_open_counters(&sandbox->cgroup, counters);
	for (unsigned i = 0; i < CGROUP_COUNTER_FILES; i++)
		if (counters[i] >= 0) {
			queued->reply.counters |= 1U << i;
			queued->fds[queued->fd_count++] = counters[i];
		}
}

void replies_add_connected(struct replies *replies, uint64_t number, int fd)
{
	const struct spawner_reply reply = { .kind = REPLY_CONNECTED, .number = number };
	struct queued_reply *queued = queue_reply(replies, &reply);

	queued->fds[queued->fd_count++] = fd;
}

static ssize_t send_reply(int socket, struct queued_reply *queued)
{
	struct iovec part = { &queued->reply, sizeof queued->reply };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof queued->fds)];
	} control = { 0 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (queued->fd_count != 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(queued->fd_count * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(queued->fd_count * sizeof(int));
		memcpy(CMSG_DATA(&control.head), queued->fds, queued->fd_count * sizeof(int));
	}
	return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* A failed sendmsg(2) sends nothing of a SEQPACKET packet, so the reply stays first in the
 * queue. */
bool replies_flush(struct replies *replies, int socket)
{
	while (!list_is_empty(&replies->queue)) {
		struct queued_reply *first = container_of(replies->queue.next, struct queued_reply,
		                                          node);

		/* The analyser does not follow the links.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		if (send_reply(socket, first) < 0) {
			if (errno == EINTR)
				continue;
			return errno == EAGAIN || errno == ENOBUFS;
		}
		for (size_t i = 0; i < first->fd_count; i++)
			(void)close(first->fds[i]);
		list_remove(&first->node);
		replies->count--;
		free(first);
	}
	return true;
}
