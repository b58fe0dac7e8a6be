/* waiters.h - callbacks that wait for an event.
 *
 * Each waiter is called exactly once, from the loop (loop_defer), never from within the call that
 * caused the event: the caller may be in the middle of changing the object. waiters_done() frees
 * those that are left without calling them. */
#pragma once
#include <stdbool.h>

#include "base/list.h"

struct error;
struct loop;

typedef void waiter_fn(void *ctx, const struct error *why); /* why NULL: the event happened */

struct waiters {
	struct loop *loop;
	struct list all;
};

void waiters_init(struct waiters *waiters, struct loop *loop);
void waiters_done(struct waiters *waiters);

bool waiters_is_empty(const struct waiters *waiters);
/* `event` is a number the caller chooses. A NULL fn adds nothing. */
void waiters_add(struct waiters *waiters, int event, waiter_fn *fn, void *ctx);
/* Calls and removes all waiters for this event. */
void waiters_notify(struct waiters *waiters, int event, const struct error *why);
/* Calls and removes all waiters, for whatever event. */
void waiters_notify_all(struct waiters *waiters, const struct error *why);
/* Removes a waiter without calling it; one that was notified is called nevertheless. */
void waiters_remove(struct waiters *waiters, int event, waiter_fn *fn, void *ctx);
/* Makes those that wait for event `from` wait for `to`. Returns whether there were any. */
bool waiters_move(struct waiters *waiters, int from, int to);
/* Calls fn from the loop, like a waiter whose event has already happened. NULL is accepted. */
void waiters_notify_one(struct loop *loop, waiter_fn *fn, void *ctx, const struct error *why);
