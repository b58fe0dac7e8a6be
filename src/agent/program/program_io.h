/* program_io.h - the descriptors between the agent and a program: pipes or a terminal, the control
 * socket, and the keeper's socket.
 *
 * The agent's ends are non-blocking, the program's ends block. -1: the descriptor does not
 * exist. */
#pragma once
#include "agent/program/launch.h"

struct error;

struct program_io {
	int in, out, err, control, keeper; /* the agent's ends */
	struct launch *launch;             /* has the program's ends */
};

/* Makes the pipes or the terminal and the sockets that launch->exec asks for, and sets every
 * descriptor of *io and *launch. A program without stdin reads from `null`. After a failure the
 * caller calls program_io_close(), which closes the descriptors that were opened. */
MUST_CHECK int program_io_open(struct program_io *io, struct launch *launch, int null,
                               struct error *err);
/* Closes the program's ends, and the agent's too if `all`. */
void program_io_close(const struct program_io *io, bool all);
