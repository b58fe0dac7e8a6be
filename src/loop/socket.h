/* socket.h - a connected stream socket: bytes in, bytes out, and the end of the connection.
 *
 * For servers with thousands of connections: a socket has no buffer of its own. All sockets of a
 * loop share one for reading, and the caller keeps what a write does not take. Each event reads at
 * most 64 KiB, so a fast peer cannot starve other descriptors.
 *
 * A peer that shuts down its writing side (half-close) still reads: end() is called, and writes go
 * on. failed() is called when the connection is reset or closed in both directions, also while the
 * socket is paused or after end(). Only a unix socket shows by itself that the peer has closed it;
 * a TCP peer that closed answers the next write with a reset.
 *
 *   loop_socket_new() -> bytes() ... end() or failed() -> loop_socket_free() */
#pragma once
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/attr.h"
#include "base/view.h"

struct error;
struct loop;
struct loop_socket;

enum { LOOP_SOCKET_CHUNK = 64 * 1024 }; /* most bytes of one callback */

/* The callbacks may free the socket. */
struct loop_socket_events {
	void (*bytes)(void *ctx, struct view bytes); /* valid until the callback returns */
	void (*end)(void *ctx);                      /* the peer writes no more */
	void (*writable)(void *ctx); /* once, after loop_socket_write() took a part only */
	void (*failed)(void *ctx, const struct error *why); /* the last callback */
	/* The peer has shut down its writing side, or closed the socket, during a pause: there may
	 * be unread bytes before the end. Called once; end() comes when they have been read. */
	void (*ending)(void *ctx);
};

/* fd is non-blocking; loop_socket_free() closes it. */
struct loop_socket *loop_socket_new(struct loop *loop, int fd,
                                    const struct loop_socket_events *events,
                                    void *ctx) RETURNS_NONNULL;
/* Writes without blocking and returns the number of bytes that the kernel took. If that is not
 * everything, writable() is called later. */
MUST_CHECK ssize_t loop_socket_write(struct loop_socket *socket, const struct iovec *parts,
                                     size_t count, struct error *err);
void loop_socket_pause(struct loop_socket *socket); /* bytes stay in the kernel */
void loop_socket_resume(struct loop_socket *socket);
/* Ends the writing side. The peer reads everything that was written, then the end. */
void loop_socket_shutdown(struct loop_socket *socket);
struct loop_socket *loop_socket_free(struct loop_socket *socket);
