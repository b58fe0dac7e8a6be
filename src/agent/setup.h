/* setup.h - what the agent prepares before it serves: once when the process starts, once when
 * WELCOME says what the sandbox is. A failure of either ends the agent. */
#pragma once
#include "base/attr.h"

struct agent;
struct error;
struct wire_welcome;

/* At the start: makes the process itself safe from its future children (ptrace, capabilities,
 * signals, limits), and opens /proc and /dev/null. */
MUST_CHECK int setup_process(struct agent *agent, struct error *err);

/* On WELCOME: opens the root, takes over the user and the filters, and verifies that the user's
 * processes can be killed. */
MUST_CHECK int setup_sandbox(struct agent *agent, const struct wire_welcome *welcome,
                             struct error *err);
