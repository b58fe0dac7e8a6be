/* remote.h - an engine as the server sees it: the other end of the socket of the process that
 * creates its sandboxes. That process is the spawner of the native engine, or the broker of the
 * Docker engine; both speak messages.h, and the server does not know which one it is.
 *
 *   the process is forked (before the loop exists) -> remote_new -> engine->ops ...
 *   -> engine->ops->free
 *
 * The engine owns the socket. Requests are queued and sent by the loop; nothing here blocks. */
#pragma once
#include <sys/types.h>

#include "engine/engine.h"

struct engine_report;
struct error;
struct loop;

/* Called once, before any other event: the process is set up (`why` is NULL), or could not be. The
 * report lives as long as the engine. */
typedef void remote_ready_fn(void *ctx, const struct engine_report *report,
                             const struct error *why);

/* Texts about the engine for messages to users, as in struct engine_ops. They are not copied. */
struct remote_words {
	const char *name, *programs_place;
};
/* Takes over the socket. Sandboxes may be started before `ready` is called. */
struct engine *remote_new(struct loop *loop, int socket, const struct remote_words *words,
                          remote_ready_fn *ready, void *ctx);

/* Sets the callback for the exit of the process. From then on every operation fails. */
void remote_on_lost(struct engine *engine, void (*fn)(void *ctx, const struct error *why),
                    void *ctx);

/* Connects to the socket of the server `instance`, which shares the state directory. `done` gets
 * the descriptor, which it then owns, or -1 and the reason. `done` is not called if the engine is
 * freed before. */
typedef void remote_connected_fn(void *ctx, int fd, const struct error *why);
MUST_CHECK int remote_connect(struct engine *engine, const char *instance,
                              remote_connected_fn *done, void *ctx, struct error *err);
