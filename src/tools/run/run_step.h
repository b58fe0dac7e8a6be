/* run_step.h - a process as one step of a call's work: started and waited for, with progress
 * meanwhile.
 *
 *   run_step_start -> fn (the process is over) -> [run_step_start ...] -> run_step_done
 *
 * The struct belongs to the work; zeroed, it is inactive. Its process can be read until the next
 * start or run_step_done(), which kills a process that still runs. */
#pragma once
#include "base/attr.h"
#include "sandbox/process/process.h"
#include "tools/run/wait/wait_process.h"

struct error;
struct work;

struct run_step {
	struct process *process; /* NULL: none was started */
	struct wait_process wait;
};

/* fn is called from the loop, and not after run_step_done(). */
MUST_CHECK int run_step_start(struct run_step *step, const struct work *work,
                              const struct process_options *options, void (*fn)(void *ctx),
                              void *ctx, struct error *err);
void run_step_done(struct run_step *step);
