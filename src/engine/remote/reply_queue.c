#include "engine/remote/reply_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

struct queued_reply {
	struct list node;
	struct engine_reply reply;
	size_t fd_count;
	int fds[REPLY_FDS_MAX]; /* closed when they are sent */
};

void replies_init(struct replies *replies)
{
	replies->count = 0;
	list_init(&replies->queue);
}

static struct queued_reply *queue_reply(struct replies *replies, const struct engine_reply *reply)
{
	struct queued_reply *queued = mem_new(sizeof *queued);

	queued->reply = *reply;
	list_add(&replies->queue, &queued->node);
	replies->count++;
	return queued;
}

void replies_add(struct replies *replies, const struct engine_reply *reply)
{
	(void)queue_reply(replies, reply);
}

void replies_add_failure(struct replies *replies, enum engine_reply_kind kind, uint64_t number,
                         const struct error *err)
{
	replies_add(replies, &(struct engine_reply){
	                             .kind = kind, .number = number, .failed = true, .err = *err });
}

void replies_add_with_fds(struct replies *replies, const struct engine_reply *reply, const int *fds,
                          size_t count)
{
	struct queued_reply *queued = queue_reply(replies, reply);

	memcpy(queued->fds, fds, count * sizeof *fds);
	queued->fd_count = count;
}

void replies_add_started(struct replies *replies, const struct engine_reply *reply, int channel,
                         const int counters[CGROUP_COUNTER_FILES])
{
	struct engine_reply started = *reply;
	int fds[REPLY_FDS_MAX] = { channel };
	size_t count = 1;

	started.kind = REPLY_STARTED;
	for (unsigned i = 0; i < CGROUP_COUNTER_FILES; i++)
		if (counters[i] >= 0) {
			started.counters |= 1U << i;
			fds[count++] = counters[i];
		}
	replies_add_with_fds(replies, &started, fds, count);
}

void replies_connect(struct replies *replies, const struct engine_request *request,
                     int (*connect)(void *ctx, const char *instance, struct error *err), void *ctx)
{
	const struct engine_reply reply = { .kind = REPLY_CONNECTED, .number = request->number };
	struct error err;
	int fd = -1;

	/* The server may have left out the terminating zero. */
	if (connect == NULL || memchr(request->argument, '\0', sizeof request->argument) == NULL)
		(void)error_set(&err, ERR_INVALID, "instance: not the name of a server");
	else
		fd = connect(ctx, request->argument, &err);
	if (fd < 0)
		replies_add_failure(replies, REPLY_CONNECTED, request->number, &err);
	else
		replies_add_with_fds(replies, &reply, &fd, 1);
}

void replies_add_report(struct replies *replies, const struct engine_report *report)
{
	for (size_t i = 0; i < report->count; i++)
		replies_add(replies, &(struct engine_reply){ .kind = REPLY_LAYER,
		                                             .layer = report->layers[i] });
	replies_add(replies, &(struct engine_reply){ .kind = REPLY_READY,
	                                             .limits_memory = report->limits_memory });
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
