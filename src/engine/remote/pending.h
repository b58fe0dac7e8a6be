/* pending.h - requests about files, images or other servers that have no reply yet.
 *
 * An entry lives from pending_add() until its reply, or until pending_fail(). Exactly one of its
 * four callbacks is set. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "engine/remote/remote.h"

struct error;
struct engine_reply;

struct pending {
	struct list node;
	uint64_t number;
	void *ctx;
	void (*erased)(void *ctx, const struct error *why);
	void (*each)(void *ctx, const char *id);
	remote_connected_fn *connected;
	engine_image_fn *made;
};

/* Adds an entry with the callback and the context of `what` to the list. */
void pending_add(struct list *all, uint64_t number, const struct pending *what);
/* Calls the callback of the request that the reply is for. A descriptor that is taken over becomes
 * -1 in fds. */
void pending_receive(struct list *all, const struct engine_reply *reply, int *fds, size_t count);
/* Fails and removes all requests. A list is removed without a further call, because its callback
 * has no error. */
void pending_fail(struct list *all, const struct error *why);
/* Removes all requests without a call. */
void pending_done(struct list *all);
