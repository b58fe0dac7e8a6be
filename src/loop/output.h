/* output.h - bytes to a descriptor, without ever waiting for it.
 *
 * What the peer does not take at once is queued, up to a maximum; past it the write is
 * refused whole. `drained` tells a producer that held back that it may go on. The
 * descriptor is borrowed; O_NONBLOCK is set on it and put back by output_free(). */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "base/view.h"

struct error;
struct loop;
struct output;

struct output_events {
	void (*drained)(void *ctx);                         /* the queue is empty again */
	void (*failed)(void *ctx, const struct error *why); /* last call; EPIPE: the peer left */
};

MUST_CHECK int output_new(struct loop *loop, int fd, size_t max, const struct output_events *events,
                          void *ctx, struct output **ret, struct error *err);
/* Takes all of it or none. ERR_LIMIT: the queue is not empty and would grow past its
 * maximum; one message of any length may always wait. After `failed` bytes are dropped. */
MUST_CHECK int output_write(struct output *output, struct view bytes, struct error *err);
size_t output_pending(const struct output *output);
struct output *output_free(struct output *output); /* also from within its own callback */
