/* output.h - writes to a descriptor without blocking; a queue holds what the reader does not take
 * yet.
 *
 * The queue has a maximum. A write that would exceed it is rejected as a whole. The drained
 * callback lets a producer that paused continue. The caller owns the descriptor, which must
 * outlive the output. output_new() sets O_NONBLOCK on it and output_free() restores it. */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "base/view.h"

struct error;
struct loop;
struct output;

struct output_events {
	void (*drained)(void *ctx);                         /* the queue has become empty */
	void (*failed)(void *ctx, const struct error *why); /* last callback; EPIPE: closed */
};

MUST_CHECK int output_new(struct loop *loop, int fd, size_t max, const struct output_events *events,
                          void *ctx, struct output **ret, struct error *err);
/* Writes or queues all bytes, or none. ERR_LIMIT: the queue is not empty and would grow past its
 * maximum; an empty queue takes one message of any length. After failed() bytes are discarded. */
MUST_CHECK int output_write(struct output *output, struct view bytes, struct error *err);
/* Like output_write(), for bytes in two places, `head` before `bytes`, which are not copied if the
 * reader takes them at once. */
MUST_CHECK int output_write_pair(struct output *output, struct view head, struct view bytes,
                                 struct error *err);
size_t output_pending(const struct output *output); /* bytes in the queue */
struct output *output_free(struct output *output);  /* may be called from its own callbacks */
