/* foreground.h - one program in a sandbox, connected to this process's standard streams and
 * signals.
 *
 *   foreground_open -> foreground_start, `ended` called ... -> foreground_close
 *
 * One program runs at a time. `ended` is called after all its output has been written; a time-out,
 * a limit or a failure has been reported on standard error by then. When a standard stream cannot
 * be written any more (EPIPE), the attachment stops. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/text/ansi_filter.h"
#include "base/text/ansi_strip.h"
#include "base/view.h"
#include "loop/input.h"
#include "sandbox/run/sandbox_run.h"

struct error;
struct attachment;

struct foreground_options {
	struct run_options run;
	uint64_t timeout_s; /* the time-out the deadline comes from, for messages */
	const char *what;   /* the description for the history; NULL: the arguments */
	bool all_to_error;  /* standard output goes to standard error too: for a compiler */
	bool on_screen;     /* the program may draw on the terminal with escape sequences */
	void (*ended)(void *ctx, int status);
	void *ctx;
};

struct foreground {
	struct attachment *attachment;
	struct foreground_options options;
	struct run *run; /* NULL: no program is running */
	int64_t started_s;
	uint64_t started_ms;
	char what[201];
	struct input *input;
	struct output *output[2]; /* stdout and stderr */
	bool is_terminal[2];      /* the same two */
	struct ansi_strip plain[2];
	struct ansi_filter screen;
	size_t unwritten[2]; /* bytes of each that are queued in `output` */
	struct view typed;   /* input that the program has not accepted yet */
	char typed_bytes[INPUT_CHUNK];
	bool input_ended;
	bool is_over; /* `ended` was called, or must not be called */
	int status;
};

MUST_CHECK int foreground_open(struct foreground *fg, struct attachment *attachment,
                               struct error *err);
MUST_CHECK int foreground_start(struct foreground *fg, const struct foreground_options *options,
                                struct error *err);
/* False: no program is running. */
bool foreground_signal(struct foreground *fg, int number);
void foreground_resize(struct foreground *fg, uint16_t rows, uint16_t columns);
/* Kills the program if it still runs. Does nothing for a struct that was never opened. */
void foreground_close(struct foreground *fg);
