/* limit_check.h - finds out which limits of the sandbox a run met.
 *
 * The kernel's counters (processes killed for memory, forks refused) are read before and after the
 * run. The agent is asked about disk space only if the run failed, because that costs a round
 * trip. Connections that the gate refused meanwhile are reported too. This is the only place that
 * judges limits.
 *
 *   limit_check_start -> limit_check_finish -> fn, or limit_check_cancel
 *
 * The struct belongs to the caller; zeroed, it is inactive. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "base/view.h"
#include "engine/engine.h"

struct channel_stream;
struct run_end;
struct sandbox;

struct limit_check {
	struct sandbox *sandbox;
	struct engine_counters before;
	bool has_counters;            /* false: this machine has no cgroups to count with */
	uint64_t refusals;            /* of connections, before the run */
	bool met_file_max, met_full;  /* a program has reported it */
	struct channel_stream *stats; /* the request for disk usage, while it is pending */
	struct run_end *end;
	void (*fn)(void *ctx);
	void *ctx;
};

/* Reads the counters before the run. */
void limit_check_start(struct limit_check *check, struct sandbox *sandbox);
/* A write that RLIMIT_FSIZE or a full disk refuses is counted nowhere: the message about it is
 * looked for in what the run prints to stderr. */
void limit_check_output(struct limit_check *check, bool is_stderr, struct view bytes);
/* Adds the limits that were met to *end, which must stay valid until fn is called. fn may be called
 * from within. */
void limit_check_finish(struct limit_check *check, struct run_end *end, void (*fn)(void *ctx),
                        void *ctx);
void limit_check_cancel(struct limit_check *check); /* fn is not called any more */

/* Adds that processes were killed which the program had left running. `commands` is text of the
 * sandbox, and may be empty. */
void run_end_add_left(struct run_end *end, const struct sandbox *sandbox, struct view commands);
/* Appends to end->note, separated by "; ". */
void run_end_add_note(struct run_end *end, const char *fmt, ...) PRINTF_LIKE(2, 3);
