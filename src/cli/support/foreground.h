/* foreground.h - one program in a sandbox that has our standard streams, and hears of our signals.
 *
 *   foreground_open -> foreground_start, ended ... -> foreground_close
 *
 * One program at a time. `ended` comes when all it printed has been written; why it ended
 * otherwise than by itself has been said on standard error by then. When nobody reads what it
 * prints any more, the session ends. */
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
struct session;

struct foreground_wish {
	struct run_options run;
	uint64_t timeout_s; /* what its deadline was made of */
	const char *what;   /* as the history is to call it; NULL: as it was started */
	bool all_to_error; /* what it prints is about the program that was asked for, not its own */
	bool on_screen;    /* it may draw on our terminal, not just write */
	void (*ended)(void *ctx, int status);
	void *ctx;
};

struct foreground {
	struct session *session;
	struct foreground_wish wish;
	struct run *run; /* NULL: none is running */
	int64_t started_s;
	uint64_t started_ms;
	char what[201];
	struct input *input;
	struct output *output[2]; /* stdout and stderr */
	bool is_terminal[2];      /* that is */
	struct ansi_strip plain[2];
	struct ansi_filter screen;
	size_t unread[2];  /* bytes of each on their way out */
	struct view typed; /* what the program has not taken yet */
	char typed_bytes[INPUT_CHUNK];
	bool input_ended;
	bool is_over; /* `ended` was called, or never will be */
	int status;
};

MUST_CHECK int foreground_open(struct foreground *fg, struct session *session, struct error *err);
MUST_CHECK int foreground_start(struct foreground *fg, const struct foreground_wish *wish,
                                struct error *err);
/* False: no program is running. */
bool foreground_signal(struct foreground *fg, int number);
void foreground_resize(struct foreground *fg, uint16_t rows, uint16_t columns);
/* Ends the program if it still runs. Also for one that was never opened. */
void foreground_close(struct foreground *fg);
