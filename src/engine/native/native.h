/* native.h - the engine that is built in, as the server sees it: the other end of the spawner.
 *
 *   spawner_start (early) -> native_new -> engine calls -> engine->ops->free */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"
#include "engine/engine.h"
#include "engine/native/spawner/request.h"

struct error;
struct loop;

/* What came of the spawner's start: once, first. `why` NULL: it is ready. */
typedef void native_ready_fn(void *ctx, const struct native_report *report,
                             const struct error *why);

/* Takes over the socket. Sandboxes can be asked for at once. */
struct engine *native_new(struct loop *loop, int socket, native_ready_fn *ready, void *ctx);

/* fn when the spawner is gone after it was ready: the engine can do nothing any more. */
void native_when_lost(struct engine *engine, void (*fn)(void *ctx, const struct error *why),
                      void *ctx);

/* The host's number of a sandbox's first process, for tests and for people; 0: none yet. */
pid_t native_pid(const struct engine_box *box);
