#include "loop/input.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "loop/internal.h"
#include "loop/loop.h"

struct input {
	struct loop *loop;
	struct event *event;
	struct event *hang_up; /* active while paused; NULL until the first pause */
	const struct input_events *events;
	void *ctx;
	int fd;
	bool always_ready; /* a regular file, which epoll does not support */
	bool paused, ended;
	char chunk[INPUT_CHUNK];
};

static void on_readable(evutil_socket_t fd, short what, void *ctx);

/* epoll_ctl() fails for regular files, which are always readable; a timer that is due at once
 * replaces the event. event_active() would run the callback again in the same iteration of the
 * loop, and a long file would starve other descriptors. */
static void start_watching(struct input *input)
{
	static const struct timeval at_once;

	if (!input->always_ready && event_add(input->event, NULL) < 0) {
		input->always_ready = true;
		(void)event_assign(input->event, loop_base(input->loop), -1, 0, on_readable, input);
	}
	if (input->always_ready)
		(void)event_add(input->event, &at_once);
}

static void end_input(struct input *input, const struct error *why)
{
	input->ended = true;
	(void)event_del(input->event);
	input->events->end(input->ctx, why);
}

/* The callbacks may free the input, so nothing uses it after them. */
static void on_readable(evutil_socket_t fd, short what, void *ctx)
{
	struct input *input = ctx;
	struct error err;
	ssize_t n;

	(void)fd;
	(void)what;
	if (input->paused || input->ended)
		return;
	n = read(input->fd, input->chunk, INPUT_CHUNK);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return start_watching(input);
	if (n < 0) {
		(void)error_sys(&err, "read from descriptor %d", input->fd);
		return end_input(input, &err);
	}
	if (n == 0)
		return end_input(input, NULL);
	if (input->always_ready)
		start_watching(input);
	input->events->bytes(input->ctx, (struct view){ input->chunk, (size_t)n });
}

struct input *input_new(struct loop *loop, int fd, const struct input_events *events, void *ctx)
{
	struct input *input = mem_new(sizeof *input);

	input->loop = loop;
	input->fd = fd;
	input->events = events;
	input->ctx = ctx;
	input->event = loop_must_have(
	        event_new(loop_base(loop), fd, EV_READ | EV_PERSIST, on_readable, input));
	start_watching(input);
	return input;
}

/* Bytes that arrive during a pause make the event fire too, so poll(2) tells whether the writer has
 * closed its end. */
static void on_hang_up(evutil_socket_t fd, short what, void *ctx)
{
	struct pollfd state = { .fd = fd, .events = POLLRDHUP };
	struct input *input = ctx;

	(void)what;
	if (poll(&state, 1, 0) <= 0 || (state.revents & (POLLHUP | POLLRDHUP | POLLERR)) == 0)
		return;
	(void)event_del(input->hang_up);
	input->events->hung_up(input->ctx);
}

/* epoll always reports EPOLLHUP, so a level-triggered event would fire without end during the
 * pause. An edge-triggered one fires once for each change. */
static void watch_hang_up(struct input *input)
{
	if (input->events->hung_up == NULL || input->always_ready)
		return;
	if (input->hang_up == NULL)
		input->hang_up = loop_must_have(event_new(loop_base(input->loop), input->fd,
		                                          EV_READ | EV_ET | EV_PERSIST, on_hang_up,
		                                          input));
	(void)event_add(input->hang_up, NULL);
}

void input_pause(struct input *input)
{
	if (input->paused)
		return;
	input->paused = true;
	if (input->ended)
		return;
	(void)event_del(input->event);
	watch_hang_up(input);
}

void input_resume(struct input *input)
{
	if (!input->paused)
		return;
	input->paused = false;
	if (input->hang_up != NULL)
		(void)event_del(input->hang_up);
	if (!input->ended)
		start_watching(input);
}

struct input *input_free(struct input *input)
{
	if (input == NULL)
		return NULL;
	input->ended = true;
	event_free(input->event);
	input->event = NULL;
	if (input->hang_up != NULL)
		event_free(input->hang_up);
	input->hang_up = NULL;
	loop_defer(input->loop, free, input);
	return NULL;
}
