/* program.h - a stream that carries one program (EXEC): its keeper, its input, its output.
 *
 * program_open() makes the pipes and forks the keeper (keeper.h). Then the stream sends STARTED,
 * output as DATA, EXITED when the program and all its descendants have exited, and DONE when the
 * output that was in the pipes at that moment is sent. Output is sent in the order of the writes
 * (write_order.h). CLOSE kills the program and its descendants. struct program is embedded in
 * struct stream and ends with it. */
#pragma once
#include <stdbool.h>

#include "agent/feed.h"
#include "agent/program/pump.h"
#include "agent/program/write_order.h"
#include "wire/message.h"

struct stream;

enum { PROGRAM_PUMPS = 3 };

struct program {
	struct source keeper;
	struct feed in, control_in;
	struct pump pumps[PROGRAM_PUMPS]; /* stdout, stderr, control */
	struct write_order order;
	int terminal;  /* -1: none */
	bool exited;   /* EXITED was reported by the keeper */
	bool closing;  /* CLOSE was received */
	bool mid_line; /* the last byte of terminal input did not end a line */
};

void program_open(struct stream *stream, const struct wire_message *message);
