/* waiters.h - those who want to hear when something has come true.
 *
 * A waiter is told once, from the loop, never from within the call that made it true. */
#pragma once
#include <stdbool.h>

#include "base/list.h"

struct error;
struct loop;

typedef void waiter_fn(void *ctx, const struct error *why); /* why NULL: it is so */

struct waiters {
	struct loop *loop;
	struct list all;
};

void waiters_init(struct waiters *waiters, struct loop *loop);
void waiters_done(struct waiters *waiters); /* nobody is told */

bool waiters_is_empty(const struct waiters *waiters);
/* `until` is a number of the caller's. A NULL fn is nobody. */
void waiters_add(struct waiters *waiters, int until, waiter_fn *fn, void *ctx);
/* All that wait for `until` hear it. */
void waiters_notify(struct waiters *waiters, int until, const struct error *why);
void waiters_notify_all(struct waiters *waiters,
                        const struct error *why); /* whatever they wait for */
/* Those who wait for one thing wait for another now. False: there are none. */
bool waiters_move(struct waiters *waiters, int from, int to);
/* One who need not wait. */
void waiters_notify_one(struct loop *loop, waiter_fn *fn, void *ctx, const struct error *why);
