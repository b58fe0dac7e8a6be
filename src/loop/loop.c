#include "loop/loop.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>

#include "base/error.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/internal.h"
#include "loop/socket.h"

struct loop {
	struct event_base *base;
	struct event *defer; /* due at once while `deferred` has entries */
	struct list deferred;
	char *chunk; /* NULL until the first socket reads */
};

struct deferred {
	struct list node;
	loop_fn *fn;
	void *ctx;
};

struct loop_timer {
	struct event *event;
	loop_fn *fn;
	void *ctx;
};

struct loop_signal {
	struct event *event;
	loop_fn *fn;
	void *ctx;
};

struct event_base *loop_base(struct loop *loop)
{
	return loop->base;
}

char *loop_chunk(struct loop *loop)
{
	if (loop->chunk == NULL)
		loop->chunk = mem_new(LOOP_SOCKET_CHUNK);
	return loop->chunk;
}

void *loop_must_have(void *handle)
{
	if (handle == NULL)
		abort();
	return handle;
}

/* A timer that is due at once. event_active() would run the event in the same iteration of the
 * loop, and calls that defer calls would starve timers and descriptors. */
static void schedule_deferred(struct loop *loop)
{
	static const struct timeval at_once;

	(void)event_add(loop->defer, &at_once);
}

/* Runs the calls that were deferred before on_deferred() started. Calls that are deferred meanwhile
 * wait for the next iteration of the loop. */
static void on_deferred(evutil_socket_t fd, short what, void *ctx)
{
	struct loop *loop = ctx;
	struct list *last = loop->deferred.prev;
	bool was_last = false;

	(void)fd;
	(void)what;
	while (!was_last) {
		struct list *node = loop->deferred.next;
		struct deferred *d;

		if (node == &loop->deferred)
			return;
		was_last = node == last;
		d = container_of(node, struct deferred, node);
		/* clang's analyser loses track of list links and reports a use after free here.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		list_remove(node);
		d->fn(d->ctx);
		free(d);
	}
	if (!list_is_empty(&loop->deferred))
		schedule_deferred(loop);
}

/* By default libevent writes its messages to stderr, past the log. */
static void on_library_message(int severity, const char *text)
{
	log_line(severity >= EVENT_LOG_ERR ? LOG_ERROR : LOG_DEBUG, "event loop: %s", text);
}

int loop_new(struct loop **ret, struct error *err)
{
	struct loop *loop = mem_new(sizeof *loop);

	event_set_log_callback(on_library_message);
	list_init(&loop->deferred);
	loop->base = event_base_new();
	if (loop->base == NULL) {
		free(loop);
		return error_sys(err, "create the event loop");
	}
	loop->defer = loop_must_have(event_new(loop->base, -1, 0, on_deferred, loop));
	*ret = loop;
	return 0;
}

void loop_run_deferred(struct loop *loop)
{
	while (!list_is_empty(&loop->deferred))
		on_deferred(-1, 0, loop);
}

/* Deferred calls still run, because they free objects. */
struct loop *loop_free(struct loop *loop)
{
	if (loop == NULL)
		return NULL;
	loop_run_deferred(loop);
	event_free(loop->defer);
	event_base_free(loop->base);
	free(loop->chunk);
	free(loop);
	return NULL;
}

void loop_run(struct loop *loop)
{
	(void)event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY);
}

void loop_stop(struct loop *loop)
{
	(void)event_base_loopexit(loop->base, NULL);
}

void loop_defer(struct loop *loop, loop_fn *fn, void *ctx)
{
	struct deferred *d = mem_new(sizeof *d);

	d->fn = fn;
	d->ctx = ctx;
	if (list_is_empty(&loop->deferred))
		schedule_deferred(loop);
	list_add(&loop->deferred, &d->node);
}

static void on_timer(evutil_socket_t fd, short what, void *ctx)
{
	struct loop_timer *timer = ctx;

	(void)fd;
	(void)what;
	timer->fn(timer->ctx);
}

struct loop_timer *loop_timer_new(struct loop *loop, loop_fn *fn, void *ctx)
{
	struct loop_timer *timer = mem_new(sizeof *timer);

	timer->fn = fn;
	timer->ctx = ctx;
	timer->event = loop_must_have(event_new(loop->base, -1, 0, on_timer, timer));
	return timer;
}

void loop_timer_start(struct loop_timer *timer, uint64_t ms)
{
	struct timeval delay = { .tv_sec = (time_t)(ms / 1000),
		                 .tv_usec = (suseconds_t)(ms % 1000 * 1000) };

	(void)event_add(timer->event, &delay);
}

void loop_timer_stop(struct loop_timer *timer)
{
	(void)event_del(timer->event);
}

struct loop_timer *loop_timer_free(struct loop_timer *timer)
{
	if (timer == NULL)
		return NULL;
	event_free(timer->event);
	free(timer);
	return NULL;
}

static void on_signal(evutil_socket_t fd, short what, void *ctx)
{
	struct loop_signal *sig = ctx;

	(void)fd;
	(void)what;
	sig->fn(sig->ctx);
}

struct loop_signal *loop_signal_new(struct loop *loop, int signo, loop_fn *fn, void *ctx)
{
	struct loop_signal *sig = mem_new(sizeof *sig);

	sig->fn = fn;
	sig->ctx = ctx;
	sig->event = loop_must_have(evsignal_new(loop->base, signo, on_signal, sig));
	(void)event_add(sig->event, NULL);
	return sig;
}

struct loop_signal *loop_signal_free(struct loop_signal *sig)
{
	if (sig == NULL)
		return NULL;
	event_free(sig->event);
	free(sig);
	return NULL;
}
