/* joints.h - what joins a program to the agent: pipes or a terminal, and its keeper's socket.
 *
 * The agent's ends do not block, the program's do. -1 stands for an end that is not there. */
#pragma once
#include "agent/program/keeper.h"

struct joints {
	int ours_in, ours_out, ours_err, ours_control, ours_keeper;
	struct program program; /* with the other ends */
};

/* As program.exec asks; a program without stdin reads from `null`. Sets all descriptors. After
 * a failure joints_close() closes what there is. */
MUST_CHECK int joints_make(struct joints *j, int null, struct error *err);
void joints_close(const struct joints *j, bool ours); /* the program's ends, perhaps ours too */
