/* pending.h - requests to the spawner that are about files or other servers, until their reply.
 *
 * Exactly one of the three callbacks is set. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "engine/native/native.h"

struct error;
struct spawner_reply;

struct pending {
	struct list node; /* first: the list is freed without knowing its entries */
	uint64_t number;
	void *ctx;
	void (*erased)(void *ctx, const struct error *why);
	void (*each)(void *ctx, const char *id);
	native_connected_fn *connected;
};

/* The caller sets the callback. */
struct pending *pending_add(struct list *all, uint64_t number, void *ctx);
/* Calls the callback of the request that the reply is for. A descriptor that is taken over becomes
 * -1 in fds. */
void pending_receive(struct list *all, const struct spawner_reply *reply, int *fds, size_t count);
/* Fails all requests, except lists, whose last call does not come. */
void pending_fail(struct list *all, const struct error *why);
