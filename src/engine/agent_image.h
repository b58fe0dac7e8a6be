/* agent.h - the agent's program, which this one carries as bytes.
 *
 * It is started from a copy in memory that nobody can write to any more (a sealed memfd):
 * no path is looked up, and nothing running inside can reach a file of the host through it.
 * Where the kernel forbids executing from memory, from an unlinked file. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "base/view.h"

struct error;

struct view agent_image(void);

/* A descriptor to execute, close-on-exec. `sealed` (may be NULL) tells whether it is a memfd. */
MUST_CHECK int agent_image_open(bool *sealed, struct error *err);

/* In the child, after fork: becomes the agent. The channel gets descriptor 3; 0 and 1 are
 * /dev/null, 2 stays, everything else is closed; the environment is empty. `user`: whose programs
 * it will probably start, so that it can prepare for it; 0: not known. Returns only if that
 * failed. */
int agent_image_exec(int image, int channel, unsigned user, struct error *err);
