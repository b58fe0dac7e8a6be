/* caps.h - capabilities: the agent may have some to act for two users, nobody below it has any. */
#pragma once
#include "base/attr.h"

struct error;

/* At the start: what would be handed down by an exec is given up. The agent keeps its own. */
MUST_CHECK int caps_keep_to_myself(struct error *err);

/* All of them, verified. Changing from one user to another takes none away, unless it is from
 * root. */
MUST_CHECK int caps_drop(struct error *err);
