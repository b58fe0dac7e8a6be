#include "engine/native/spawner/answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/mem.h"

struct waiting {
	struct list node;
	struct answer answer;
	size_t count;
	int fds[ANSWER_FDS_MAX];
};

void answers_init(struct answers *answers, int socket)
{
	answers->socket = socket;
	answers->count = 0;
	list_init(&answers->waiting);
}

void answers_add(struct answers *answers, const struct answer *answer, const int *fds, size_t count)
{
	struct waiting *waiting = mem_new(sizeof *waiting);

	waiting->answer = *answer;
	waiting->count = count;
	if (count != 0)
		memcpy(waiting->fds, fds, count * sizeof *fds);
	list_add(&answers->waiting, &waiting->node);
	answers->count++;
}

static ssize_t send_one(int socket, struct waiting *waiting)
{
	struct iovec part = { &waiting->answer, sizeof waiting->answer };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof waiting->fds)];
	} control = { 0 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (waiting->count != 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(waiting->count * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(waiting->count * sizeof(int));
		memcpy(CMSG_DATA(&control.head), waiting->fds, waiting->count * sizeof(int));
	}
	return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool answers_flush(struct answers *answers)
{
	while (!list_is_empty(&answers->waiting)) {
		struct waiting *first = container_of(answers->waiting.next, struct waiting, node);

		/* The analyser does not follow the links.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		if (send_one(answers->socket, first) < 0) {
			if (errno == EINTR)
				continue;
			return errno == EAGAIN || errno == ENOBUFS;
		}
		for (size_t i = 0; i < first->count; i++)
			(void)close(first->fds[i]);
		list_remove(&first->node);
		answers->count--;
		free(first);
	}
	return true;
}
