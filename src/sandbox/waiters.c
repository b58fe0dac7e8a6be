#include "sandbox/waiters.h"

#include <stdlib.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"

struct waiter {
	struct list node;
	int event;
	waiter_fn *fn;
	void *ctx;
};

/* A call that loop_defer() carries out. */
struct notification {
	waiter_fn *fn;
	void *ctx;
	bool failed;
	struct error why;
};

void waiters_init(struct waiters *waiters, struct loop *loop)
{
	waiters->loop = loop;
	list_init(&waiters->all);
}

static void remove_waiter(struct waiter *waiter)
{
	list_remove(&waiter->node);
	free(waiter);
}

void waiters_done(struct waiters *waiters)
{
	while (!list_is_empty(&waiters->all))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): list links are not followed */
		remove_waiter(container_of(waiters->all.next, struct waiter, node));
}

bool waiters_is_empty(const struct waiters *waiters)
{
	return list_is_empty(&waiters->all);
}

void waiters_add(struct waiters *waiters, int event, waiter_fn *fn, void *ctx)
{
	struct waiter *waiter;

	if (fn == NULL)
		return;
	waiter = mem_new(sizeof *waiter);
	*waiter = (struct waiter){ .event = event, .fn = fn, .ctx = ctx };
	list_add(&waiters->all, &waiter->node);
}

static void deliver_notification(void *ctx)
{
	struct notification *notification = ctx;

	notification->fn(notification->ctx, notification->failed ? &notification->why : NULL);
	free(notification);
}

void waiters_notify_one(struct loop *loop, waiter_fn *fn, void *ctx, const struct error *why)
{
	struct notification *notification;

	if (fn == NULL)
		return;
	notification = mem_new(sizeof *notification);
	*notification = (struct notification){ .fn = fn, .ctx = ctx, .failed = why != NULL };
	if (why != NULL)
		notification->why = *why;
	loop_defer(loop, deliver_notification, notification);
}

static void notify_waiter(struct waiters *waiters, struct waiter *waiter, const struct error *why)
{
	waiters_notify_one(waiters->loop, waiter->fn, waiter->ctx, why);
	remove_waiter(waiter);
}

void waiters_notify(struct waiters *waiters, int event, const struct error *why)
{
	for (struct list *node = waiters->all.next; node != &waiters->all;) {
		struct waiter *waiter = container_of(node, struct waiter, node);

		node = node->next;
		if (waiter->event == event)
			notify_waiter(waiters, waiter, why);
	}
}

void waiters_notify_all(struct waiters *waiters, const struct error *why)
{
	while (!list_is_empty(&waiters->all))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): list links are not followed */
		notify_waiter(waiters, container_of(waiters->all.next, struct waiter, node), why);
}

void waiters_remove(struct waiters *waiters, int event, waiter_fn *fn, void *ctx)
{
	LIST_EACH (node, &waiters->all) {
		struct waiter *waiter = container_of(node, struct waiter, node);

		if (waiter->event != event || waiter->fn != fn || waiter->ctx != ctx)
			continue;
		remove_waiter(waiter);
		return;
	}
}

bool waiters_move(struct waiters *waiters, int from, int to)
{
	bool any = false;

	LIST_EACH (node, &waiters->all) {
		struct waiter *waiter = container_of(node, struct waiter, node);

		if (waiter->event != from)
			continue;
		waiter->event = to;
		any = true;
	}
	return any;
}
