/* run.h - one program: its keeper, its output, its input, what is kept of it.
 *
 * EXEC makes the pipes and the keeper (keeper.h). STARTED, then output as DATA or into rings,
 * EXITED when the program and all it started have ended. Then DONE: by itself when the
 * output has been delivered, or, for a run whose output is kept, when the opener closes it. */
#pragma once
#include <stdbool.h>

#include "agent/program/feed.h"
#include "agent/program/pump.h"
#include "agent/program/ring.h"
#include "wire/message.h"

struct stream;

enum { RUN_OUTPUTS = 2 };

struct run_output {
	struct pump pump;
	struct ring ring;
	bool asked; /* a TAIL waits for something to tell */
	struct wire_tail tail;
};

struct run {
	struct source keeper;
	struct feed in, control_in;
	struct run_output outputs[RUN_OUTPUTS]; /* channels 1 and 2 */
	struct pump control_out;
	int terminal;      /* -1: none */
	const char *limit; /* it is being ended because of this; NULL: because it was closed */
	bool kept, exited, closing;
	bool mid_line; /* what was typed last was no end of a line */
};

void run_open(struct stream *stream, const struct wire_message *message);

/* What is kept (run_tail.c): a question for it, and something new in it or its end. */
void run_tail(struct stream *stream, const struct wire_tail *tail);
void run_tail_due(struct stream *stream, uint8_t channel);
