#include "loop/output.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "loop/internal.h"
#include "loop/loop.h"

struct output {
	struct loop *loop;
	struct event *event;
	struct event *hang_up; /* the reader has closed its end while nothing is written */
	struct evbuffer *queue;
	const struct output_events *events;
	void *ctx;
	size_t max;
	int fd;
	bool was_blocking; /* O_NONBLOCK was clear before output_new() */
	bool failed;
};

static void report_failure(struct output *output)
{
	struct error err;

	(void)error_sys(&err, "write to descriptor %d", output->fd);
	output->failed = true;
	(void)event_del(output->event);
	(void)event_del(output->hang_up);
	(void)evbuffer_drain(output->queue, evbuffer_get_length(output->queue));
	output->events->failed(output->ctx, &err);
}

/* epoll reports a closed reader as readable. On a socket or a terminal there may also be bytes to
 * read, which belong to another reader of the same file: poll() tells the two apart. Bytes to
 * read end the watch, which would fire again and again. */
static void on_hang_up(evutil_socket_t fd, short what, void *ctx)
{
	struct output *output = ctx;
	struct pollfd state = { .fd = fd, .events = POLLOUT };

	(void)what;
	if (output->failed || poll(&state, 1, 0) < 0 || (state.revents & (POLLERR | POLLHUP)) == 0)
		return;
	errno = EPIPE;
	report_failure(output);
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
	/* output_write() may have emptied the queue, and evbuffer_write() fails on an empty
	 * queue. */
	if (evbuffer_get_length(output->queue) != 0 &&
	    evbuffer_write(output->queue, output->fd) < 0 && !is_transient(errno)) {
		report_failure(output);
		return;
	}
	if (evbuffer_get_length(output->queue) != 0) {
		/* epoll does not support regular files: no event fires after a partial write. */
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
	output->queue = loop_must_have(evbuffer_new());
	output->event = loop_must_have(
	        event_new(loop_base(loop), fd, EV_WRITE | EV_PERSIST, on_writable, output));
	output->hang_up = loop_must_have(
	        event_new(loop_base(loop), fd, EV_READ, on_hang_up, output));
	(void)event_add(output->hang_up, NULL); /* fails for regular files, which have no reader */
	*ret = output;
	return 0;
}

/* Writes to the descriptor directly while the queue is empty: most messages cost one system call
 * and no iteration of the loop. */
static size_t write_now(struct output *output, struct view head, struct view bytes)
{
	size_t done = 0, len = head.len + bytes.len;

	while (done < len) {
		size_t of_head = done < head.len ? done : head.len, of_bytes = done - of_head;
		/* writev() does not change the parts; struct iovec has no const. */
		const struct iovec parts[] = {
			{ (void *)(uintptr_t)(head.ptr + of_head), head.len - of_head },
			{ (void *)(uintptr_t)(bytes.ptr + of_bytes), bytes.len - of_bytes },
		};
		ssize_t n = writev(output->fd, parts, 2);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static int set_queue_error(const struct output *output, struct error *err)
{
	return error_set(err, ERR_LIMIT,
	                 "the reader is too slow: more than %zu bytes wait for it (max_queue)",
	                 output->max);
}

static void queue_bytes(struct output *output, struct view bytes, size_t done)
{
	if (done < bytes.len && evbuffer_add(output->queue, bytes.ptr + done, bytes.len - done) < 0)
		abort();
}

int output_write(struct output *output, struct view bytes, struct error *err)
{
	return output_write_pair(output, (struct view){ "", 0 }, bytes, err);
}

int output_write_pair(struct output *output, struct view head, struct view bytes, struct error *err)
{
	size_t done = 0, len = head.len + bytes.len, pending;

	if (output->failed)
		return 0;
	/* The descriptor may have become writable since the last iteration of the loop. */
	if (evbuffer_get_length(output->queue) != 0)
		(void)evbuffer_write(output->queue, output->fd);
	pending = evbuffer_get_length(output->queue);
	if (pending != 0 && (len > output->max || pending > output->max - len))
		return set_queue_error(output, err);
	if (pending == 0)
		done = write_now(output, head, bytes);
	if (done == len)
		return 0;
	/* If write() failed, it fails again in on_writable(), which calls failed() from the loop:
	 * the caller of output_write() is not prepared for callbacks. */
	queue_bytes(output, head, done);
	queue_bytes(output, bytes, done > head.len ? done - head.len : 0);
	if (event_add(output->event, NULL) < 0)
		event_active(output->event, EV_WRITE, 0);
	return 0;
}

size_t output_pending(const struct output *output)
{
	return evbuffer_get_length(output->queue);
}

/* O_NONBLOCK belongs to the open file description, which other processes share (a terminal, for
 * example). Two outputs may share it as well: only the one that found the flag clear clears it. */
static void restore_blocking(const struct output *output)
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
	event_free(output->hang_up);
	output->event = output->hang_up = NULL;
	evbuffer_free(output->queue);
	output->queue = NULL;
	restore_blocking(output);
	loop_defer(output->loop, free, output);
	return NULL;
}
