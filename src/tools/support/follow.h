/* follow.h - waiting for a process within a call: until it ends, or until the call has to answer
 * whatever still runs. Meanwhile the client hears once a second how far it is.
 *
 *   follow_begin -> (once) fn -> nothing more, or follow_end at any time before */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct loop_timer;
struct mcp_call;
struct process;

/* From the loop, when nothing of the process is on the stack: it may be freed. */
typedef void follow_fn(void *ctx, bool is_over);

/* Zeroed: nothing is followed. */
struct follow {
	struct mcp_call *call;
	struct process *process;
	struct loop_timer *timer; /* NULL: nothing is followed */
	uint64_t began_ms, until_ms;
	follow_fn *fn;
	void *ctx;
};

/* Until `until_ms` of clock_now_ms(); the time told to the client counts from began_ms. */
MUST_CHECK int follow_begin(struct follow *follow, struct mcp_call *call, struct process *process,
                            uint64_t began_ms, uint64_t until_ms, follow_fn *fn, void *ctx,
                            struct error *err);
/* From now on only its end counts. */
void follow_to_the_end(struct follow *follow);
void follow_end(struct follow *follow);
