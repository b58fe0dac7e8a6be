#include "loop/watch.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/mem.h"
#include "loop/internal.h"

struct loop_watch {
	struct event *readable, *writable;
	loop_fn *fn;
	void *ctx;
};

static void on_ready(evutil_socket_t fd, short what, void *ctx)
{
	struct loop_watch *watch = ctx;

	(void)fd;
	(void)what;
	watch->fn(watch->ctx);
}

struct loop_watch *loop_watch_new(struct loop *loop, int fd, loop_fn *fn, void *ctx)
{
	struct loop_watch *watch = mem_new(sizeof *watch);

	watch->fn = fn;
	watch->ctx = ctx;
	watch->readable = loop_must_have(
	        event_new(loop_base(loop), fd, EV_READ | EV_PERSIST, on_ready, watch));
	watch->writable = loop_must_have(
	        event_new(loop_base(loop), fd, EV_WRITE | EV_PERSIST, on_ready, watch));
	(void)event_add(watch->readable, NULL);
	return watch;
}

void loop_watch_read(struct loop_watch *watch, bool wanted)
{
	if (wanted)
		(void)event_add(watch->readable, NULL);
	else
		(void)event_del(watch->readable);
}

void loop_watch_write(struct loop_watch *watch, bool wanted)
{
	if (wanted)
		(void)event_add(watch->writable, NULL);
	else
		(void)event_del(watch->writable);
}

struct loop_watch *loop_watch_free(struct loop_watch *watch)
{
	if (watch == NULL)
		return NULL;
	event_free(watch->readable);
	event_free(watch->writable);
	free(watch);
	return NULL;
}
