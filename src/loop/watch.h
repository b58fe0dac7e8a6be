/* watch.h - tells when a descriptor can be read or written. For packets and the like; streams of
 * bytes have input.h and output.h. */
#pragma once
#include <stdbool.h>

#include "base/cleanup.h"
#include "loop/loop.h"

struct loop_watch;

/* Calls fn as long as fd can be read. The descriptor stays the caller's. */
struct loop_watch *loop_watch_new(struct loop *loop, int fd, loop_fn *fn,
                                  void *ctx) RETURNS_NONNULL;
/* And while it can be written, too. */
void loop_watch_write(struct loop_watch *watch, bool wanted);
struct loop_watch *loop_watch_free(struct loop_watch *watch);
DEFINE_CLEANUP(loop_watch)
