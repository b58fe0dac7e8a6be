/* internal.h - access to libevent for the files of src/loop. */
#pragma once
#include "base/attr.h"

struct event_base;
struct loop;

struct event_base *loop_base(struct loop *loop);

/* The buffer that all sockets of the loop read into (LOOP_SOCKET_CHUNK bytes): its contents are
 * used before the callback of the event returns. */
char *loop_chunk(struct loop *loop) RETURNS_NONNULL;

/* Aborts on NULL. libevent's constructors fail only when memory runs out. */
void *loop_must_have(void *handle) RETURNS_NONNULL;
