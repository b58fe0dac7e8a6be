/* setup.h - what the agent does before it serves: once at its start, once when it is welcomed. */
#pragma once
#include "base/attr.h"

struct agent;
struct error;
struct wire_welcome;

/* The process: what it must not pass on, what it must not be asked. */
MUST_CHECK int setup_process(struct agent *agent, struct error *err);

/* What the server wants the sandbox to be. */
MUST_CHECK int setup(struct agent *agent, const struct wire_welcome *welcome, struct error *err);
