/* session.h - the agent's end of the conversation: what the server says, to whom it goes. */
#pragma once
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct agent;
struct error;
struct wire_welcome;

void session_hello(struct agent *agent); /* the first word */

/* Takes the whole frames at the front of *bytes: 0, all of them; 1, as long as there was room to
 * answer; -1, the server broke the protocol, and the agent ends. */
MUST_CHECK int session_take(struct agent *agent, struct view *bytes, struct error *err);

/* Calls the streams whose time has come, as long as there is room to speak. */
void session_due(struct agent *agent, uint64_t now);
