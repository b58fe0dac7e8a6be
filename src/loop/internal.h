/* internal.h - what the files of this folder share: libevent's handles. */
#pragma once
#include "base/attr.h"

struct event_base;
struct loop;

struct event_base *loop_base(struct loop *loop);

/* libevent reports failed allocations as NULL and nothing else it could fail with here. */
void *loop_must(void *handle) RETURNS_NONNULL;
