#include "sandbox/waiters.h"

#include <stdlib.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"

struct waiter {
	struct list node;
	int until;
	waiter_fn *fn;
	void *ctx;
};

struct telling {
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

static void forget(struct waiter *waiter)
{
	list_remove(&waiter->node);
	free(waiter);
}

void waiters_done(struct waiters *waiters)
{
	while (!list_is_empty(&waiters->all))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the links */
		forget(container_of(waiters->all.next, struct waiter, node));
}

bool waiters_is_empty(const struct waiters *waiters)
{
	return list_is_empty(&waiters->all);
}

void waiters_add(struct waiters *waiters, int until, waiter_fn *fn, void *ctx)
{
	struct waiter *waiter;

	if (fn == NULL)
		return;
	waiter = mem_new(sizeof *waiter);
	*waiter = (struct waiter){ .until = until, .fn = fn, .ctx = ctx };
	list_add(&waiters->all, &waiter->node);
}

static void tell(void *ctx)
{
	struct telling *telling = ctx;

	telling->fn(telling->ctx, telling->failed ? &telling->why : NULL);
	free(telling);
}

void waiters_notify_one(struct loop *loop, waiter_fn *fn, void *ctx, const struct error *why)
{
	struct telling *telling;

	if (fn == NULL)
		return;
	telling = mem_new(sizeof *telling);
	*telling = (struct telling){ .fn = fn, .ctx = ctx, .failed = why != NULL };
	if (why != NULL)
		telling->why = *why;
	loop_defer(loop, tell, telling);
}

static void tell_waiter(struct waiters *waiters, struct waiter *waiter, const struct error *why)
{
	waiters_notify_one(waiters->loop, waiter->fn, waiter->ctx, why);
	forget(waiter);
}

void waiters_notify(struct waiters *waiters, int until, const struct error *why)
{
	for (struct list *node = waiters->all.next; node != &waiters->all;) {
		struct waiter *waiter = container_of(node, struct waiter, node);

		node = node->next;
		if (waiter->until == until)
			tell_waiter(waiters, waiter, why);
	}
}

void waiters_notify_all(struct waiters *waiters, const struct error *why)
{
	while (!list_is_empty(&waiters->all))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the links */
		tell_waiter(waiters, container_of(waiters->all.next, struct waiter, node), why);
}

bool waiters_move(struct waiters *waiters, int from, int to)
{
	bool any = false;

	LIST_EACH (node, &waiters->all) {
		struct waiter *waiter = container_of(node, struct waiter, node);

		if (waiter->until != from)
			continue;
		waiter->until = to;
		any = true;
	}
	return any;
}
