/* native.h - the built-in engine, as the server sees it: the other end of the spawner's socket.
 *
 *   spawner_start (before the loop exists) -> native_new -> engine->ops ... -> engine->ops->free
 *
 * The engine owns the socket. Requests are queued and sent by the loop; nothing here blocks. */
#pragma once
#include <sys/types.h>

#include "engine/engine.h"

struct error;
struct loop;
struct spawner_report;

/* Called once, before any other event: the spawner is set up (`why` is NULL), or could not be. */
typedef void native_ready_fn(void *ctx, const struct spawner_report *report,
                             const struct error *why);

/* Takes over the socket. Sandboxes may be started before `ready` is called. */
struct engine *native_new(struct loop *loop, int socket, native_ready_fn *ready, void *ctx);

/* Sets the callback for the loss of the spawner. From then on every operation fails. */
void native_on_lost(struct engine *engine, void (*fn)(void *ctx, const struct error *why),
                    void *ctx);

/* Connects to the socket of the server `instance`, which shares the state directory. `done` gets
 * the descriptor, which it then owns, or -1 and the reason. Like every request, it is not answered
 * if the engine is freed before. */
typedef void native_connected_fn(void *ctx, int fd, const struct error *why);
MUST_CHECK int native_connect(struct engine *engine, const char *instance,
                              native_connected_fn *done, void *ctx, struct error *err);
