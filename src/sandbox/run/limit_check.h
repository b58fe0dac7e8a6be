/* limit_check.h - which of the sandbox's limits something met that ran in it: by the kernel's own
 * counts before and after, and by a look at the disk if it failed.
 *
 *   limit_check_start -> limit_check_finish -> fn, or limit_check_cancel    (the struct is the caller's) */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "engine/engine.h"

struct channel_stream;
struct run_end;
struct sandbox;

struct limit_check {
	struct sandbox *sandbox;
	struct engine_counters before;
	bool is_counted;
	struct channel_stream *stats; /* what is asked when it has ended */
	struct run_end *end;
	void (*fn)(void *ctx);
	void *ctx;
};

void limit_check_start(struct limit_check *judge, struct sandbox *sandbox);
/* Completes *end, which stays where it is; fn when it is complete, perhaps from within. */
void limit_check_finish(struct limit_check *judge, struct run_end *end, void (*fn)(void *ctx),
                        void *ctx);
void limit_check_cancel(struct limit_check *judge); /* fn is not called any more */

/* Appends to end->note. */
void run_note(struct run_end *end, const char *fmt, ...) PRINTF_LIKE(2, 3);
