#include "agent/poller.h"

#include <unistd.h>

#include "base/error.h"

int poller_init(struct poller *poller, struct error *err)
{
	struct epoll_event event = { .events = EPOLLIN };

	poller->outer = epoll_create1(EPOLL_CLOEXEC);
	poller->inner = epoll_create1(EPOLL_CLOEXEC);
	if (poller->outer < 0 || poller->inner < 0 ||
	    epoll_ctl(poller->outer, EPOLL_CTL_ADD, poller->inner, &event) < 0)
		return error_sys(err, "create the epoll sets");
	poller->inner_on = true;
	return 0;
}

void poller_enable_inner(struct poller *poller, bool on)
{
	struct epoll_event event = { .events = on ? EPOLLIN : 0 };

	if (poller->inner_on == on)
		return;
	poller->inner_on = on;
	(void)epoll_ctl(poller->outer, EPOLL_CTL_MOD, poller->inner, &event);
}

/* EPOLLHUP is reported even if no event is wanted, and level-triggered it would keep the loop busy.
 * Edge-triggered it is reported once. */
static struct epoll_event event_for(struct source *source)
{
	return (struct epoll_event){ .events = source->events != 0 ? source->events : EPOLLET,
		                     .data.ptr = source };
}

/* Adding can fail, because the number of epoll watches per user is limited (EPOLL_CTL_ADD: ENOSPC).
 * Changing the events later cannot, so the descriptor is added even if no event is wanted yet. */
int source_add(struct source *source, int set, int fd, uint32_t events, source_fn *ready,
               struct error *err)
{
	struct epoll_event event;

	*source = (struct source){ fd, set, events, ready };
	event = event_for(source);
	if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) < 0) {
		source->fd = -1;
		return error_sys(err, "add a descriptor to an epoll set");
	}
	return 0;
}

void source_want(struct source *source, uint32_t events)
{
	struct epoll_event event;

	if (source->fd < 0 || source->events == events)
		return;
	source->events = events;
	event = event_for(source);
	(void)epoll_ctl(source->set, EPOLL_CTL_MOD, source->fd, &event);
}

void source_close(struct source *source)
{
	if (source->fd < 0)
		return;
	(void)epoll_ctl(source->set, EPOLL_CTL_DEL, source->fd, NULL);
	(void)close(source->fd);
	source->fd = -1;
}
