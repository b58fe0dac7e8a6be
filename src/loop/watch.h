/* watch.h - calls a function while a descriptor is readable or writable.
 *
 * For sockets with packets, which the caller reads and writes itself. Byte streams use input.h and
 * output.h. The caller owns the descriptor, which must outlive the watch. */
#pragma once
#include <stdbool.h>

#include "base/cleanup.h"
#include "loop/loop.h"

struct loop_watch;

/* Calls fn in every iteration of the loop in which fd is readable. */
struct loop_watch *loop_watch_new(struct loop *loop, int fd, loop_fn *fn,
                                  void *ctx) RETURNS_NONNULL;
/* Stops or starts again calling fn while fd is readable. */
void loop_watch_read(struct loop_watch *watch, bool wanted);
/* Starts (`wanted`) or stops calling fn while fd is writable. */
void loop_watch_write(struct loop_watch *watch, bool wanted);
struct loop_watch *loop_watch_free(struct loop_watch *watch);
DEFINE_CLEANUP(loop_watch)
