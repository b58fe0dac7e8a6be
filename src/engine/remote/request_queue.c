#include "engine/remote/request_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "engine/remote/messages.h"

struct queued_request {
	struct list node;
	struct engine_request request;
};

struct engine_request *request_queue_add(struct list *queue)
{
	struct queued_request *queued = mem_new(sizeof *queued);

	list_add(queue, &queued->node);
	return &queued->request;
}

/* An error other than a full socket means that the process at the other end has exited. remote.c
 * handles that when it reads end of file, so the request is removed without a report. */
bool request_queue_send(struct list *queue, int socket)
{
	while (!list_is_empty(queue)) {
		struct queued_request *first = container_of(queue->next, struct queued_request,
		                                            node);

		if (send(socket, &first->request, sizeof first->request,
		         MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
		    (errno == EAGAIN || errno == EINTR || errno == ENOBUFS))
			return true;
		list_remove(&first->node);
		free(first);
	}
	return false;
}

void request_queue_done(struct list *queue)
{
	while (!list_is_empty(queue)) {
		struct queued_request *first = container_of(queue->next, struct queued_request,
		                                            node);

		list_remove(&first->node);
		free(first);
	}
}
