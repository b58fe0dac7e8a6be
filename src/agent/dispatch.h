/* dispatch.h - the agent's side of the protocol: the greeting, and which handler gets which frame.
 *
 * main.c reads bytes and calls dispatch_frames(); a frame goes to the handler of its stream
 * (stream.h), opens a stream, or is answered here. Decoded messages point into the caller's
 * bytes. */
#pragma once
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct agent;
struct error;

void dispatch_hello(struct agent *agent); /* sends HELLO, the first message of the channel */

/* Handles the whole frames at the front of *bytes and cuts them off. Returns 0 if only a part of a
 * frame is left, 1 if frames are left because the outgoing buffer has no room for replies, -1 if
 * the server broke the protocol: the agent must exit then. */
MUST_CHECK int dispatch_frames(struct agent *agent, struct view *bytes, struct error *err);

/* Calls the due handlers of streams whose time has come, as long as there is room for replies. */
void dispatch_due(struct agent *agent, uint64_t now);
