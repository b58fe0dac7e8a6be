/* run_judge.h - which of the sandbox's limits something met that ran in it: by the kernel's own
 * counts before and after, and by a look at the disk if it failed.
 *
 *   run_judge_begin -> run_judge_end -> fn, or run_judge_drop    (the struct is the caller's) */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "engine/engine.h"

struct channel_stream;
struct run_end;
struct sandbox;

struct run_judge {
	struct sandbox *sandbox;
	struct engine_counts before;
	bool is_counted;
	struct channel_stream *stats; /* what is asked when it has ended */
	struct run_end *end;
	void (*fn)(void *ctx);
	void *ctx;
};

void run_judge_begin(struct run_judge *judge, struct sandbox *sandbox);
/* Completes *end, which stays where it is; fn when it is complete, perhaps from within. */
void run_judge_end(struct run_judge *judge, struct run_end *end, void (*fn)(void *ctx), void *ctx);
void run_judge_drop(struct run_judge *judge); /* fn is not called any more */

/* Appends to end->note. */
void run_note(struct run_end *end, const char *fmt, ...) PRINTF_LIKE(2, 3);
