#include "engine/remote/pending.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "engine/remote/messages.h"

void pending_add(struct list *all, uint64_t number, const struct pending *what)
{
	struct pending *pending = mem_new(sizeof *pending);

	*pending = *what;
	pending->number = number;
	list_add(all, &pending->node);
}

static void report_connected(const struct pending *pending, const struct engine_reply *reply,
                             int *fds, size_t count)
{
	struct error err;

	if (!reply->failed && count == 1) {
		pending->connected(pending->ctx, TAKE_FD(fds[0]), NULL);
		return;
	}
	/* A reply without its descriptor: at RLIMIT_NOFILE the kernel delivers it so. */
	errno = EMFILE;
	(void)error_sys(&err, "the server has no descriptors left for a connection");
	pending->connected(pending->ctx, -1, reply->failed ? &reply->err : &err);
}

/* The entry is removed from the list before the callback, which may add another entry. */
static void finish_request(struct pending *pending, const struct engine_reply *reply, int *fds,
                           size_t count)
{
	list_remove(&pending->node);
	if (reply->kind == REPLY_CONNECTED && pending->connected != NULL)
		report_connected(pending, reply, fds, count);
	else if (reply->kind == REPLY_LISTED && pending->each != NULL)
		pending->each(pending->ctx, NULL);
	else if (reply->kind == REPLY_ERASED && pending->erased != NULL)
		pending->erased(pending->ctx, reply->failed ? &reply->err : NULL);
	else if (reply->kind == REPLY_PYTHON && pending->made != NULL)
		pending->made(pending->ctx, reply->failed ? NULL : reply->image,
		              reply->failed ? &reply->err : NULL);
	free(pending);
}

void pending_receive(struct list *all, const struct engine_reply *reply, int *fds, size_t count)
{
	LIST_EACH (node, all) {
		struct pending *pending = container_of(node, struct pending, node);

		if (pending->number != reply->number)
			continue;
		if (reply->kind == REPLY_LISTED && reply->id[0] != '\0' && pending->each != NULL)
			pending->each(pending->ctx, reply->id);
		else
			finish_request(pending, reply, fds, count);
		return;
	}
}

void pending_fail(struct list *all, const struct error *why)
{
	while (!list_is_empty(all)) {
		struct pending *pending = container_of(all->next, struct pending, node);

		list_remove(&pending->node);
		if (pending->erased != NULL)
			pending->erased(pending->ctx, why);
		if (pending->connected != NULL)
			pending->connected(pending->ctx, -1, why);
		if (pending->made != NULL)
			pending->made(pending->ctx, NULL, why);
		free(pending);
	}
}

void pending_done(struct list *all)
{
	while (!list_is_empty(all)) {
		struct pending *pending = container_of(all->next, struct pending, node);

		list_remove(&pending->node);
		free(pending);
	}
}
