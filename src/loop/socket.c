#include "loop/socket.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "loop/internal.h"

struct loop_socket {
	struct loop *loop;
	struct event readable, writable;
	const struct loop_socket_events *events;
	void *ctx;
	int fd;
	bool paused, ended, is_edge_triggered, wants_write, has_told_ending;
};

static void on_readable(evutil_socket_t fd, short what, void *ctx);
static void on_writable(evutil_socket_t fd, short what, void *ctx);

/* Edge-triggered while nothing is read: bytes or an end of input that stay unread would make a
 * level-triggered event fire without end, and without any event a reset would go unnoticed.
 * libevent refuses to mix both kinds on one descriptor, so the two events change together. */
static void watch_socket(struct loop_socket *socket)
{
	bool is_edge = socket->paused || socket->ended;
	short flags = EV_PERSIST | (is_edge ? EV_ET : 0);
	struct event_base *base = loop_base(socket->loop);

	if (is_edge == socket->is_edge_triggered)
		return;
	(void)event_del(&socket->readable);
	if (socket->wants_write)
		(void)event_del(&socket->writable);
	socket->is_edge_triggered = is_edge;
	(void)event_assign(&socket->readable, base, socket->fd, (short)(EV_READ | flags),
	                   on_readable, socket);
	(void)event_assign(&socket->writable, base, socket->fd, (short)(EV_WRITE | flags),
	                   on_writable, socket);
	(void)event_add(&socket->readable, NULL);
	if (socket->wants_write)
		(void)event_add(&socket->writable, NULL);
}

static void fail_socket(struct loop_socket *socket, int errnum)
{
	struct error err;

	(void)event_del(&socket->readable);
	(void)event_del(&socket->writable);
	errno = errnum;
	(void)error_sys(&err, "connection");
	socket->events->failed(socket->ctx, &err);
}

/* The socket is paused or has ended: the event tells that its state has changed. */
static void check_hang_up(struct loop_socket *socket)
{
	struct pollfd state = { .fd = socket->fd, .events = POLLRDHUP };

	if (poll(&state, 1, 0) <= 0)
		return;
	if ((state.revents & (POLLHUP | POLLERR)) != 0) {
		fail_socket(socket, ECONNRESET);
	} else if (socket->paused && !socket->ended && !socket->has_told_ending) {
		socket->has_told_ending = true;
		socket->events->ending(socket->ctx);
	}
}

/* The callbacks may free the socket, so nothing uses it after them. */
static void on_readable(evutil_socket_t fd, short what, void *ctx)
{
	struct loop_socket *socket = ctx;
	char *chunk = loop_chunk(socket->loop);
	ssize_t n;

	(void)fd;
	(void)what;
	if (socket->is_edge_triggered) {
		check_hang_up(socket);
		return;
	}
	n = recv(socket->fd, chunk, LOOP_SOCKET_CHUNK, 0);
	if (n > 0) {
		socket->events->bytes(socket->ctx, (struct view){ chunk, (size_t)n });
		return;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		fail_socket(socket, errno);
		return;
	}
	socket->ended = true;
	watch_socket(socket);
	socket->events->end(socket->ctx);
}

static void on_writable(evutil_socket_t fd, short what, void *ctx)
{
	struct loop_socket *socket = ctx;

	(void)fd;
	(void)what;
	socket->wants_write = false;
	(void)event_del(&socket->writable);
	socket->events->writable(socket->ctx);
}

struct loop_socket *loop_socket_new(struct loop *loop, int fd,
                                    const struct loop_socket_events *events, void *ctx)
{
	struct loop_socket *socket = mem_new(sizeof *socket);

	socket->loop = loop;
	socket->fd = fd;
	socket->events = events;
	socket->ctx = ctx;
	(void)event_assign(&socket->readable, loop_base(loop), fd, EV_READ | EV_PERSIST,
	                   on_readable, socket);
	(void)event_assign(&socket->writable, loop_base(loop), fd, EV_WRITE | EV_PERSIST,
	                   on_writable, socket);
	(void)event_add(&socket->readable, NULL);
	return socket;
}

ssize_t loop_socket_write(struct loop_socket *socket, const struct iovec *parts, size_t count,
                          struct error *err)
{
	/* sendmsg() does not change the parts; its struct has no const. */
	struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)parts,
		                  .msg_iovlen = count };
	size_t total = 0;
	ssize_t n;

	for (size_t i = 0; i < count; i++)
		total += parts[i].iov_len;
	do
		n = sendmsg(socket->fd, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN)
		return error_sys(err, "connection");
	n = n < 0 ? 0 : n;
	if ((size_t)n < total && !socket->wants_write) {
		socket->wants_write = true;
		(void)event_add(&socket->writable, NULL);
	}
	return n;
}

void loop_socket_pause(struct loop_socket *socket)
{
	socket->paused = true;
	watch_socket(socket);
}

void loop_socket_resume(struct loop_socket *socket)
{
	socket->paused = false;
	watch_socket(socket);
}

void loop_socket_shutdown(struct loop_socket *socket)
{
	(void)shutdown(socket->fd, SHUT_WR);
}

struct loop_socket *loop_socket_free(struct loop_socket *socket)
{
	if (socket == NULL)
		return NULL;
	(void)event_del(&socket->readable);
	(void)event_del(&socket->writable);
	(void)close(socket->fd);
	free(socket);
	return NULL;
}
