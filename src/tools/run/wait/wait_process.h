/* wait_process.h - waits for a process within a call, and meanwhile sends progress once a second,
 * with the lines that were printed since the last time, or else with the last line.
 *
 *   wait_process_start -> fn, or wait_process_stop at any time before
 *
 * The wait ends when the process is over or was freed, when is_enough() says so, or when the time
 * is up. The struct belongs to the call; zeroed, it is inactive. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "sandbox/process/process.h"

struct loop_timer;
struct mcp_call;

struct wait_options {
	struct mcp_call *call;
	/* Times of clock_now_ms(): progress messages count seconds from began_ms; at until_ms the
	 * wait ends. */
	uint64_t began_ms, until_ms;
	/* Whether the call can answer before the process is over; NULL: it cannot. */
	bool (*is_enough)(void *ctx, struct process *process);
	/* Called once, as soon as process_has_exited(), before fn. NULL: not wanted. The callback
	 * must not free the process. */
	void (*exited)(void *ctx);
	/* Called once, from the loop, when the wait is over. The callback may free the process. */
	void (*fn)(void *ctx);
	void *ctx;
};

struct wait_process {
	struct wait_options options;
	struct process_watch watch;
	struct loop_timer *timer; /* NULL: inactive */
	struct list node;         /* in the list of all active waits */
	bool has_exited;          /* exited() was called */
	bool is_checking;         /* the timer is due soon because the process has changed */
	uint64_t progress_ms;     /* when progress was sent last */
	uint64_t reported[2];     /* bytes of stdout and stderr that progress has covered */
};

void wait_process_start(struct wait_process *wait, struct process *process,
                        const struct wait_options *options);
/* From now on only the end of the process ends the wait. */
void wait_process_set_endless(struct wait_process *wait);
void wait_process_wake(struct wait_process *wait); /* is_enough() is asked again */
void wait_process_stop(struct wait_process *wait);

/* The time of all waits is up: their calls answer with the output so far and the process's id. For
 * a server that is about to end. */
void wait_process_end_all(void);
bool wait_process_has_ended_all(void);
