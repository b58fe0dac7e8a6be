#include "loop/output.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "loop/internal.h"
#include "loop/loop.h"

struct output {
	struct loop *loop;
	struct event *event;
	struct event *departure; /* the reader went away while nothing is being written */
	struct evbuffer *queue;
	const struct output_events *events;
	void *ctx;
	size_t max;
	int fd;
	bool was_blocking; /* then it is again in the end */
	bool failed;
};

static void fail(struct output *output)
{
	struct error err;

	(void)error_sys(&err, "write to descriptor %d", output->fd);
	output->failed = true;
	(void)event_del(output->event);
	(void)event_del(output->departure);
	(void)evbuffer_drain(output->queue, evbuffer_get_length(output->queue));
	output->events->failed(output->ctx, &err);
}

/* Nothing is ever read here: readable means broken, or (a socket, a terminal) that there
 * is something to read, which is not our business and ends the watch. */
static void on_departure(evutil_socket_t fd, short what, void *ctx)
{
	struct output *output = ctx;
	struct pollfd state = { .fd = fd, .events = POLLOUT };

	(void)what;
	if (output->failed || poll(&state, 1, 0) < 0 || (state.revents & (POLLERR | POLLHUP)) == 0)
		return;
	errno = EPIPE;
	fail(output);
}

static bool is_transient(int errnum)
{
	return errnum == EAGAIN || errnum == EINTR;
}

static void on_writable(evutil_socket_t fd, short what, void *ctx)
{
	struct output *output = ctx;

	(void)fd;
	(void)what;
	if (output->failed)
		return;
	/* output_write() may have emptied the queue; writing nothing counts as failing. */
	if (evbuffer_get_length(output->queue) != 0 &&
	    evbuffer_write(output->queue, output->fd) < 0 && !is_transient(errno)) {
		fail(output);
		return;
	}
	if (evbuffer_get_length(output->queue) != 0) {
		/* A file that took a part: no event will tell when it takes more. */
		if (!event_pending(output->event, EV_WRITE, NULL))
			event_active(output->event, EV_WRITE, 0);
		return;
	}
	(void)event_del(output->event);
	output->events->drained(output->ctx);
}

int output_new(struct loop *loop, int fd, size_t max, const struct output_events *events, void *ctx,
               struct output **ret, struct error *err)
{
	int flags = fcntl(fd, F_GETFL);
	struct output *output;

	if (flags < 0)
		return error_sys(err, "use descriptor %d for output", fd);
	if (fd_set_nonblocking(fd, err) < 0)
		return -1;
	output = mem_new(sizeof *output);
	output->loop = loop;
	output->fd = fd;
	output->was_blocking = (flags & O_NONBLOCK) == 0;
	output->max = max;
	output->events = events;
	output->ctx = ctx;
	output->queue = loop_must(evbuffer_new());
	output->event = loop_must(
	        event_new(loop_base(loop), fd, EV_WRITE | EV_PERSIST, on_writable, output));
	output->departure = loop_must(
	        event_new(loop_base(loop), fd, EV_READ, on_departure, output));
	(void)event_add(output->departure, NULL); /* fails for files, which nobody leaves */
	*ret = output;
	return 0;
}

/* Straight to the descriptor while nothing is queued: the usual message costs one
 * system call and no trip through the loop. */
static size_t write_now(struct output *output, struct view bytes)
{
	size_t done = 0;

	while (done < bytes.len) {
		ssize_t n = write(output->fd, bytes.ptr + done, bytes.len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static int refuse(const struct output *output, struct error *err)
{
	return error_set(err, ERR_LIMIT,
	                 "the reader is too slow: more than %zu bytes wait for it (max_queue)",
	                 output->max);
}

int output_write(struct output *output, struct view bytes, struct error *err)
{
	size_t done = 0, pending;

	if (output->failed)
		return 0;
	/* The reader may have caught up since the loop last looked. */
	if (evbuffer_get_length(output->queue) != 0)
		(void)evbuffer_write(output->queue, output->fd);
	pending = evbuffer_get_length(output->queue);
	if (pending != 0 && (bytes.len > output->max || pending > output->max - bytes.len))
		return refuse(output, err);
	if (pending == 0)
		done = write_now(output, bytes);
	if (done == bytes.len)
		return 0;
	/* A broken descriptor is found again by on_writable(), outside the caller's stack. */
	if (evbuffer_add(output->queue, bytes.ptr + done, bytes.len - done) < 0)
		abort();
	if (event_add(output->event, NULL) < 0)
		event_active(output->event, EV_WRITE, 0);
	return 0;
}

size_t output_pending(const struct output *output)
{
	return evbuffer_get_length(output->queue);
}

/* Others have the same open file. Another output of ours may be one of them, and found it set by
 * us: only who set it takes it back, in whatever order they go. */
static void set_blocking(const struct output *output)
{
	int flags = fcntl(output->fd, F_GETFL);

	if (output->was_blocking && flags >= 0)
		(void)fcntl(output->fd, F_SETFL, flags & ~O_NONBLOCK);
}

struct output *output_free(struct output *output)
{
	if (output == NULL)
		return NULL;
	output->failed = true;
	event_free(output->event);
	event_free(output->departure);
	output->event = output->departure = NULL;
	evbuffer_free(output->queue);
	output->queue = NULL;
	set_blocking(output);
	loop_defer(output->loop, free, output);
	return NULL;
}
