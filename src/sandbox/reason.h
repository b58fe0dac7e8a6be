/* reason.h - why a sandbox ended, as one line for people: which limit it was, and what it is. */
#pragma once
#include <stddef.h>

#include "engine/engine.h"

/* `known`: what the channel said, which may know more than that the agent died. Fills out, which
 * may be the same; "" if it was told to end. */
void reason_tell(enum engine_end end, const struct spec_limits *limits, const char *known,
                 const char *why, char *out, size_t size);
