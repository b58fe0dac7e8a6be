/* run.h - one program in a sandbox, from its start to what can be said of its end.
 *
 * The agent tells how the program ended; which of the sandbox's limits it met on the way is
 * told by the kernel's own counts, taken before and after. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct error;
struct run;
struct sandbox;

struct run_options {
	const char *const *argv; /* NULL ends it */
	const char *const *env;  /* NAME=value, over what every program gets; NULL: none */
	const char *cwd;         /* NULL: the workspace */
	uint32_t deadline_ms;    /* 0: none */
	bool with_stdin;
	bool with_control; /* its descriptor 3 is a socket to us */
	bool terminal;     /* of its own, with so many rows and columns */
	uint16_t rows, columns;
};

struct run_end {
	int code;   /* if signal is 0 */
	int signal; /* that ended it */
	bool timed_out;
	bool out_of_memory; /* processes were killed for want of memory */
	bool out_of_pids;   /* processes were refused because there were enough */
	bool out_of_disk;   /* there is no room left for files */
	uint64_t wall_us, user_us, system_us, max_rss_kib;
	char note[240]; /* the limits that were met, as one line; or "" */
};

struct run_events {
	/* Give it back with run_consumed(): no more than 64 KiB are under way without. */
	void (*output)(void *ctx, bool is_stderr, struct view bytes);
	/* After a run_write() or run_write_control() that did not take all; may be NULL. */
	void (*writable)(void *ctx);
	/* From its descriptor 3: dealt with when this returns. NULL without with_control. */
	void (*control)(void *ctx, struct view bytes);
	void (*ended)(void *ctx, const struct run_end *end); /* last call */
	void (*failed)(void *ctx, const struct error *why); /* last call: there is no end to tell */
};

/* The sandbox is ready. The wish is copied. */
MUST_CHECK int run_start(struct sandbox *sandbox, const struct run_options *wish,
                         const struct run_events *events, void *ctx, struct run **ret,
                         struct error *err);
void run_consumed(struct run *run, bool is_stderr, size_t bytes);
size_t run_write(struct run *run, struct view bytes); /* how much it took */
void run_end_input(struct run *run);
size_t run_write_control(struct run *run, struct view bytes); /* how much it took */
void run_signal(struct run *run, int number);                 /* to all of it */
void run_set_deadline(struct run *run, uint32_t ms); /* from now, instead of the one there was; 0 */
/* The limits it is said to have met are those it meets from now on. */
void run_count_from_now(struct run *run);
void run_resize(struct run *run, uint16_t rows, uint16_t columns);
/* Ends the program and all it started; nothing more is told. */
void run_cancel(struct run *run);
