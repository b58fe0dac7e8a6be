/* perform.h - the life of a worker: from the fork to its last word. */
#pragma once
#include "base/attr.h"

struct agent;
struct wire_message;

/* In a new child of the agent; never returns. */
NORETURN void perform(const struct agent *agent, const struct wire_message *request, int socket);
