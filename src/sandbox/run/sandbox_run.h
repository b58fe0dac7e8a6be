/* sandbox_run.h - a run: one execution in a sandbox, from its start to its exit status.
 *
 * struct run is an interface. Three kinds implement it, each with a struct of its own that embeds a
 * struct run:
 *
 *   run_start()      a program                                        (sandbox_run.c)
 *   saved_code_new() code saved to a file, compiled and then executed (process/saved_code.c)
 *   code_run_new()   code executed by a waiting interpreter           (interpreter/code_run.c)
 *
 * Life cycle: the owner of a run gets events until exactly one of `ended` and `failed`, or until it
 * calls run_cancel(). The run frees itself before that last event and in run_cancel(), so the
 * owner's pointer is dead from then on.
 *
 * Flow control: at most 64 KiB of each stream are delivered that the owner has not returned with
 * run_consumed(). A program whose owner returns nothing blocks in write(2). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct error;
struct kernel_message;
struct run;
struct sandbox;

/* How a run ended. */
struct run_end {
	int code;            /* exit status, if signal is 0 */
	int signal;          /* that killed the program; 0: none */
	bool timed_out;      /* the deadline passed */
	bool compile_failed; /* the compiler ended like this; the program was never started */
	bool out_of_memory;  /* the kernel killed processes at the memory limit */
	char note[560];      /* limits that were met, processes that were killed; or "" */
};

/* Callbacks, all from the loop. Members other than `output`, `ended` and `failed` may be NULL. */
struct run_events {
	void (*compiling)(void *ctx); /* the compiler has been started */
	void (*started)(void *ctx);   /* the code runs now; not sent by run_start() */
	void (*output)(void *ctx, bool is_stderr, struct view bytes);
	/* There is room again after a run_write() or run_write_control() that took less than
	 * all. */
	void (*writable)(void *ctx);
	/* Bytes from the program's descriptor 3, which need no run_consumed(); see `control`. */
	void (*control)(void *ctx, struct view bytes);
	/* The interpreter displayed a value or reported an exception. Views end with the call. */
	void (*display)(void *ctx, const struct kernel_message *message);
	/* The program and all its descendants have exited, or the code in an interpreter has ended;
	 * the rest of the output and `ended` follow. Not every run sends this. */
	void (*exited)(void *ctx);
	void (*ended)(void *ctx, const struct run_end *end); /* last event */
	void (*failed)(void *ctx,
	               const struct error *why); /* last event: no exit status is known */
};

/* write and end_input are NULL in a run whose stdin is complete at the start. `free` frees what the
 * run owns, and the run. */
struct run_ops {
	size_t (*write)(struct run *run, struct view bytes);
	void (*end_input)(struct run *run);
	void (*consumed)(struct run *run, bool is_stderr, size_t bytes);
	void (*signal)(struct run *run, int number);
	void (*stop)(struct run *run);
	void (*cancel)(struct run *run);
	void (*free)(struct run *run);
};

struct run {
	const struct run_ops *ops;
	const struct run_events *events;
	void *ctx; /* of the events */
};

/* Sends bytes to stdin. Returns how many were accepted; `writable` announces room for the rest. */
static inline size_t run_write(struct run *run, struct view bytes)
{
	return run->ops->write != NULL ? run->ops->write(run, bytes) : bytes.len;
}

static inline void run_end_input(struct run *run)
{
	if (run->ops->end_input != NULL)
		run->ops->end_input(run);
}

/* Returns `bytes` of flow-control credit to the program. */
static inline void run_consumed(struct run *run, bool is_stderr, size_t bytes)
{
	run->ops->consumed(run, is_stderr, bytes);
}

/* Sends a signal to the program and all its descendants. */
static inline void run_signal(struct run *run, int number)
{
	run->ops->signal(run, number);
}

/* Asks the run to end, with SIGTERM or, for a cell of a session, with SIGINT, and kills it if it
 * has not ended RUN_GRACE_MS later. The end is reported as usual. */
static inline void run_stop(struct run *run)
{
	run->ops->stop(run);
}

/* Kills the run at once and frees it, without any further event. */
static inline void run_cancel(struct run *run)
{
	run->ops->cancel(run);
}

enum {
	RUN_GRACE_MS = 2000, /* between the request to end and SIGKILL */
	/* The agent enforces deadlines. A run whose agent does not report the end of the program
	 * ends without that report, this long after the deadline or SIGKILL. */
	RUN_OVERDUE_MS = 30000,
};

/* For implementations: the last event. The run is freed first. */
void run_report_end(struct run *run, const struct run_end *end);
void run_report_failure(struct run *run, const struct error *why);
static inline void run_report_writable(struct run *run)
{
	if (run->events->writable != NULL)
		run->events->writable(run->ctx);
}

/* --- programs --- */

struct run_options {
	const char *const *argv; /* ends with NULL */
	const char *const *env;  /* NAME=value, overrides the default environment; NULL: none */
	const char *cwd;         /* NULL: the workspace */
	uint32_t deadline_ms;    /* 0: none */
	bool with_stdin;         /* false: stdin is empty */
	bool with_control;       /* descriptor 3 of the program is a socket to the server */
	bool limits_data;        /* allocations that the sandbox has no memory for fail */
	bool terminal;           /* stdin, stdout and stderr are a terminal of rows x columns */
	uint16_t rows, columns;
};

/* Starts a program in a sandbox that is awake. The options are copied; the events are not. No
 * event comes before this returns. */
MUST_CHECK int run_start(struct sandbox *sandbox, const struct run_options *options,
                         const struct run_events *events, void *ctx, struct run **ret,
                         struct error *err);

/* The limit of options.limits_data in bytes. */
uint64_t run_data_limit(const struct sandbox *sandbox);

/* The remaining functions are for runs of run_start() only. */

/* Sends bytes to descriptor 3. Returns how many were accepted. */
size_t run_write_control(struct run *run, struct view bytes);
/* Replaces the deadline by one `ms` from now; 0: none. */
void run_set_deadline(struct run *run, uint32_t ms);
/* Limits that were met before this call are not reported at the end: an interpreter that has
 * waited for hours starts to execute a user's code now. */
void run_restart_limit_check(struct run *run);
/* Sets the size of the program's terminal, if it has one. */
void run_resize(struct run *run, uint16_t rows, uint16_t columns);
